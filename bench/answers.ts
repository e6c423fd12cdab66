import { isDeepStrictEqual } from 'node:util';
import { TOKEN } from './operations.js';

/** Makes one request to a server, on a connection of its own. */
export async function ask(
  origin: string,
  method: string,
  path: string,
  sent?: object,
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    connection: 'close',
    ...(sent !== undefined && { 'content-type': 'application/json' }),
  };
  const body = sent === undefined ? null : JSON.stringify(sent);
  return await fetch(new URL(path, origin), { method, headers, body });
}

/** A request, and the status and the body of its answer. Without a body, any will do. */
type Row = readonly [method: string, path: string, sent: object | undefined, number, unknown?];

/**
 * Creates, reads, lists, replaces and removes a few plants, with ids below those of every load. Only
 * contestants with the same answers can be compared.
 *
 * @throws Error with the first answer that differs
 */
export async function checkAnswers(origin: string, name: string): Promise<void> {
  const content = { name: 'Aloe', tag: 'checked' };
  const plants = [-3, -2, -1].map((id) => ({ id, ...content }));
  const replaced = { name: 'Ficus', tag: 'replaced' };
  const rows: Row[] = [
    ...plants.map((plant): Row => ['POST', '/plants', plant, 200, content]),
    ['GET', '/plants/-3', undefined, 200, plants[0]],
    ['GET', '/plants?limit=2&after=-4', undefined, 200, plants.slice(0, 2)],
    ['PUT', '/plants/-3', replaced, 200, replaced],
    ['GET', '/plants/-3', undefined, 200, { id: -3, ...replaced }],
    ...plants.map(({ id }): Row => ['DELETE', `/plants/${id}`, undefined, 204]),
    ['GET', '/plants/-3', undefined, 404],
    ['PUT', '/plants/-3', replaced, 404],
    ['DELETE', '/plants/-3', undefined, 404],
  ];
  for (const [method, path, sent, status, expected] of rows) {
    const answer = await ask(origin, method, path, sent);
    const text = await answer.text();
    const isSame = expected === undefined || isDeepStrictEqual(JSON.parse(text), expected);
    const isRead = method === 'GET' && status === 200;
    const isPage = path.includes('?');
    const hasTag = answer.headers.has('etag') === (isRead && !isPage);
    const hasLink = answer.headers.has('link') === isPage;
    if (answer.status === status && isSame && hasTag && hasLink) continue;
    throw new Error(`${name} answers ${method} ${path} ${answer.status} ${text}`);
  }
}
