import { isDeepStrictEqual } from 'node:util';
import { type Operation, PLANT, REPLACED_TAG, TOKEN } from './operations.js';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The value of the JSON; undefined for an empty body. */
  readonly body: unknown;
}

/** Makes one request to a server, on a connection of its own. */
export async function ask(
  origin: string,
  method: Operation['method'],
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(new URL(path, origin), {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      connection: 'close',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/**
 * Creates, reads, lists, replaces and removes a few plants, with ids below those of every load. Only
 * contestants with the same answers can be compared.
 *
 * @throws Error with the first answer that differs
 */
export async function checkAnswers(origin: string, name: string): Promise<void> {
  const content = { name: 'Aloe', tag: 'checked' };
  const plants = [-3, -2, -1].map((id) => ({ id, ...content }));
  const replaced = { ...PLANT, tag: REPLACED_TAG };
  type Row = [Operation['method'], string, object | undefined, status: number, body?: unknown];
  const rows: Row[] = [
    ...plants.map((plant): Row => ['POST', '/plants', plant, 200, content]),
    ['GET', '/plants/-3', undefined, 200, plants[0]],
    ['GET', '/plants?limit=2&after=-4&tag=checked', undefined, 200, plants.slice(0, 2)],
    ['GET', '/plants?limit=2&after=-2&tag=checked', undefined, 200, plants.slice(2)],
    ['GET', '/plants?limit=0', undefined, 400],
    ['PUT', '/plants/-3', replaced, 200, replaced],
    ['GET', '/plants/-3', undefined, 200, { id: -3, ...replaced }],
    ...plants.map(({ id }): Row => ['DELETE', `/plants/${id}`, undefined, 204]),
    ['GET', '/plants/-3', undefined, 404],
    ['PUT', '/plants/-3', replaced, 404],
    ['DELETE', '/plants/-3', undefined, 404],
  ];
  for (const [method, path, sent, status, expected] of rows) {
    const { headers, ...answer } = await ask(origin, method, path, sent);
    const isSame = expected === undefined || isDeepStrictEqual(answer.body, expected);
    const isRead = method === 'GET' && path === '/plants/-3' && status === 200;
    const isLinked = path.includes('after=-4');
    const etag = headers.get('etag') ?? '';
    const again = isRead
      ? await ask(origin, method, path, undefined, { 'if-none-match': etag })
      : undefined;
    const hasHeaders = (!isRead || again?.status === 304) && headers.has('link') === isLinked;
    if (answer.status === status && isSame && hasHeaders) continue;
    throw new Error(`${name} answers ${method} ${path} ${answer.status} ${JSON.stringify(answer)}`);
  }
}
