import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { Env } from '../config/env.js';
import { Limits } from './limits.js';

const RESPONSE = { append: () => undefined, getHeader: () => '60', setHeader: () => undefined };

let limits: Limits;

afterEach(() => {
  limits.onModuleDestroy();
});

async function count(sender: string): Promise<void> {
  const exchange = { request: {} as Request, response: RESPONSE as unknown as Response };
  await limits.requests?.count(exchange, sender);
}

describe('a limit', () => {
  it('forgets who was counted first rather than count more than 100000 at a time', async () => {
    limits = new Limits(Object.assign(new Env(), { RATE_LIMIT: '1/60' }));
    await count('first');
    for (let index = 1; index < 100_000; index++) await count(String(index));
    await expect(count('first')).rejects.toMatchObject({ status: 429 });
    await count('one more');
    await count('first');
  });
});
