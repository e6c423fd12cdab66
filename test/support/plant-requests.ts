import type { Field, HttpRequest } from './http/request.js';
import { TOKEN } from '../../packages/platform/src/testing/token.js';

export interface NewPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

export const AUTHORIZATION: Field = ['Authorization', `Bearer ${TOKEN}`];
export const CONTENT_TYPE: Field = ['Content-Type', 'application/json'];

/** The bytes of a request with a short answer. */
export const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
/** The bytes of a request whose answer has 1.5 MiB: the system does not buffer several of them. */
export const LARGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n';

let lastId = 0;

/** Makes a valid request with these changes. */
export function makeRequest(
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

/** Makes a request without a body. */
export function makeEmptyRequest(method: string, target: string, ...fields: Field[]): HttpRequest {
  return makeRequest('', { method, target, headers: [AUTHORIZATION, ...fields], framing: 'none' });
}

/** Makes a request that creates a plant. */
export function makeCreateRequest({ id, name, tag }: NewPlant): HttpRequest {
  const others = JSON.stringify({ name, tag }).slice(1);
  return makeRequest(`{"id":${id},${others}`);
}

/** Writes the bytes of a request that creates a plant with an unused id. */
export function writeCreateRequest(token: string, name = 'Monstera'): string {
  const body = JSON.stringify({ id: ++lastId, name });
  return `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
