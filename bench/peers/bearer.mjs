import { Buffer } from 'node:buffer';
import { timingSafeEqual } from 'node:crypto';
import process from 'node:process';

const expected = Buffer.from(`Bearer ${process.env.TOKEN}`);

/** @param {string | undefined} authorization the request's header */
export function isAllowed(authorization = '') {
  const given = Buffer.from(authorization);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
