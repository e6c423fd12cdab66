import { describe, expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.js';
import { FairShare, type Holding } from './fair-share.js';

describe('a share of 10', () => {
  function hold(share: FairShare, dropped: string[], client: string): Holding {
    return share.hold(client, () => dropped.push(client));
  }

  it('is taken from the client that holds most, not from the last one', () => {
    const share = new FairShare(10);
    const dropped: string[] = [];
    for (let index = 0; index < 3; index++) hold(share, dropped, 'greedy').update(3);
    hold(share, dropped, 'modest').update(2);
    expect(dropped).toEqual(['greedy']);
  });

  it('loses what has waited longest for its next byte, of one client', () => {
    const share = new FairShare(10);
    const dropped: number[] = [];
    const [first, second] = [1, 2].map((index) => share.hold('one', () => dropped.push(index)));
    first?.update(4);
    second?.update(4);
    first?.update(5);
    first?.update(7);
    expect(dropped).toEqual([2]);
  });

  it('counts nothing that has ended', () => {
    const share = new FairShare(10);
    const dropped: string[] = [];
    for (let index = 0; index < 5; index++) {
      const holding = hold(share, dropped, 'one');
      holding.update(9);
      holding.end();
      holding.end();
    }
    expect(dropped).toEqual([]);
  });
});

describe('a fair queue', () => {
  it('serves clients in turn', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
    for (const item of ['b1', 'b2']) queue.push('b', item);
    queue.delete('a', 'a2');
    const served = [];
    while (!queue.isEmpty) served.push(queue.shift());
    expect(served).toEqual(['a1', 'b1', 'a3', 'b2', 'a4']);
    expect(queue.shift()).toBeUndefined();
  });
});
