import { once } from 'node:events';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { plantBody } from './ids.mjs';

/** The ids of lines begin far beyond those of creates. */
const FIRST_ID = 1_000_000_000;

/** Writes the lines of an import, from a place on, as one text. */
export function writeLines(begin, count) {
  const ids = Array.from({ length: count }, (_, index) => FIRST_ID + begin + index);
  return ids.map((id) => `${plantBody(id)}\n`).join('');
}

/** Begins an import. Lines are written to the request, and the result resolves with the answer. */
export function openImport({ url, token }) {
  const request = http.request(`${url}/import`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
  });
  const result = once(request, 'response').then(async ([response]) => {
    if (response.statusCode === 200) return await json(response);
    throw new Error(`an import is answered ${response.statusCode}`);
  });
  return { request, result };
}
