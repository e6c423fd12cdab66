import { describe, expect, it } from '@jest/globals';
import { WindowStore } from './rate-limits.js';

describe('the counts of a limit', () => {
  it('lose what was counted first rather than become more than 100000', () => {
    const store = new WindowStore(60_000);
    for (let index = 0; index < 100_000; index++) store.increment(String(index));
    expect(store.get('0')).toMatchObject({ totalHits: 1 });
    store.increment('one more');
    expect(store.get('0')).toBeUndefined();
    expect(store.get('1')).toMatchObject({ totalHits: 1 });
  });
});
