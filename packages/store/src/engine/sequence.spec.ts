import { expect, it } from '@jest/globals';
import { Sequence } from './sequence.js';

it('the end of a sequence waits also for work that is given in the meantime', async () => {
  const sequence = new Sequence();
  const done: string[] = [];
  const add = (name: string): Promise<void> =>
    sequence.execute(async () => {
      await Promise.resolve();
      done.push(name);
      if (name.length < 5) void add(`${name}+`);
    });
  void add('a');
  await sequence.end();
  expect(done).toEqual(['a', 'a+', 'a++', 'a+++', 'a++++']);
});
