import type { FastExpressAdapter } from '../../packages/platform/src/server/fast-express-adapter.js';
import type { RequestLimits } from '../../packages/platform/src/limits/request-limits.js';
import type { TestApplication } from 'durable-rest/testing';

export function getLimits({ nest }: TestApplication): RequestLimits {
  return (nest.getHttpAdapter() as unknown as FastExpressAdapter).limits;
}

/** How many bytes are held for all clients. */
export function countHeld(app: TestApplication): number {
  return (getLimits(app).memory as unknown as { amount: number }).amount;
}
