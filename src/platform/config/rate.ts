/** A number of requests in a window of time. */
export interface Rate {
  readonly limit: number;
  /** Its length in milliseconds. */
  readonly window: number;
}

export const RATE_RULE =
  'must be off, or a number of requests, a slash and a number of seconds, like 600/60';

const RATE = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/;

/** `off`, or up to 999999999 requests in up to 99999 seconds; undefined when it is neither. */
export function parseRate(value: string): Rate | 'off' | undefined {
  if (value === 'off') return value;
  const [, limit, seconds] = RATE.exec(value) ?? [];
  if (limit === undefined || seconds === undefined) return undefined;
  return { limit: Number(limit), window: Number(seconds) * 1_000 };
}
