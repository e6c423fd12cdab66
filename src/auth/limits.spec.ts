import { describe, expect, it } from '@jest/globals';
import type { Options } from 'express-rate-limit';
import { BoundedStore } from './limits.js';

describe('the counts of a limit', () => {
  it('lose what was counted first rather than become more than 100000', async () => {
    const store = new BoundedStore();
    store.init({ windowMs: 60_000 } as Options);
    for (let index = 0; index < 100_000; index++) await store.increment(String(index));
    expect(await store.get('0')).toMatchObject({ totalHits: 1 });
    await store.increment('one more');
    expect(await store.get('0')).toBeUndefined();
    expect(await store.get('1')).toMatchObject({ totalHits: 1 });
    store.shutdown();
  });
});
