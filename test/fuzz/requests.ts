import { bodyOf, type NewPlant, type Verdict } from './body.js';
import { type Facts, type Probe, probeOf } from './expected.js';
import { type Field, GOOD_TOKENS } from './headers.js';
import type { HttpRequest } from './http-request.js';
import * as values from './values.js';

const GOOD_FACTS = { path: 'plants', token: 'good', isJsonType: true, isIdentity: true } as const;

export const AUTHORIZATION: Field = ['Authorization', `Bearer ${GOOD_TOKENS[0]}`];
export const CONTENT_TYPE: Field = ['Content-Type', 'application/json'];

/** A request that is well made but for what is changed. */
export function requestOf(
  body: Uint8Array | string,
  changes: Partial<HttpRequest> = {},
): HttpRequest {
  return {
    method: 'POST',
    target: '/plants',
    headers: [AUTHORIZATION, CONTENT_TYPE],
    body: Buffer.from(body as string),
    framing: 'length',
    chunking: 0,
    pause: false,
    ...changes,
  };
}

/** A body in a request without a flaw. */
export function bodyProbe(
  body: Uint8Array | string,
  verdict: Verdict,
  changes: Partial<HttpRequest> = {},
  facts: Partial<Facts> = {},
): Probe {
  return probeOf(requestOf(body, changes), { ...GOOD_FACTS, verdict, ...facts });
}

/** A request without a flaw that creates a plant. */
export function createOf(plant: NewPlant, style = 0): Probe {
  const { bytes, verdict } = bodyOf({
    id: values.goodId(plant.id),
    name: values.goodText(plant.name),
    tag: plant.tag === undefined ? undefined : values.goodText(plant.tag),
    extras: [],
    again: undefined,
    style,
  });
  return bodyProbe(bytes, verdict);
}
