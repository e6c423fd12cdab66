import type { Field, HttpRequest } from './http/request.js';
import { TOKEN } from './token.js';

export interface NewPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

export const AUTHORIZATION: Field = ['Authorization', `Bearer ${TOKEN}`];
export const CONTENT_TYPE: Field = ['Content-Type', 'application/json'];

let lastId = 0;

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
    ...changes,
  };
}

/** A request without a body. */
export function emptyRequest(method: string, target: string, ...fields: Field[]): HttpRequest {
  return requestOf('', { method, target, headers: [AUTHORIZATION, ...fields], framing: 'none' });
}

/** A request that creates a plant. */
export function createOf({ id, name, tag }: NewPlant): HttpRequest {
  const others = JSON.stringify({ name, tag }).slice(1);
  return requestOf(`{"id":${id},${others}`);
}

/** The bytes of a request that creates a plant, whose id no other one has. */
export function createRequest(token: string, name = 'Monstera'): string {
  const body = JSON.stringify({ id: ++lastId, name });
  return `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
