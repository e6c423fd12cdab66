import { once } from 'node:events';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { plantBody, TOKEN } from './operations.js';

/** The ids of lines begin far beyond those of creates. */
const FIRST_ID = 1_000_000_000;

/** Writes the lines of an import, from a place on, as one text. */
export function writeLines(begin: number, count: number): string {
  const ids = Array.from({ length: count }, (_, index) => FIRST_ID + begin + index);
  return ids.map((id) => `${plantBody(String(id))}\n`).join('');
}

/** Begins an import. Lines are written to the request, and the result resolves with the answer. */
export function openImport(url: string): {
  request: http.ClientRequest;
  result: Promise<{ created: number }>;
} {
  const request = http.request(`${url}/import`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
  });
  const readResult = async (): Promise<{ created: number }> => {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    if (response.statusCode === 200) return (await json(response)) as { created: number };
    throw new Error(`an import is answered ${String(response.statusCode)}`);
  };
  return { request, result: readResult() };
}
