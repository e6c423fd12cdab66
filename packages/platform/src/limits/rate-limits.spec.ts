import { expect, it } from '@jest/globals';
import type { Response } from 'express';
import { RateLimit } from './rate-limits.js';

it('a rate limit begins a new window rather than count more than 100000 keys', () => {
  const limit = new RateLimit('requests', { limit: 1, windowMs: 60_000 });
  const response = { append: () => response } as unknown as Response;
  for (let index = 0; index < 100_000; index++) limit.count(response, String(index));
  expect(() => limit.check(response, '0')).toThrow('Too many requests');
  limit.count(response, 'one more');
  expect(() => limit.check(response, '0')).not.toThrow();
  expect(() => limit.check(response, 'one more')).toThrow('Too many requests');
});
