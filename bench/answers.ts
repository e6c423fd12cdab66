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
): Promise<Answer> {
  const answer = await fetch(new URL(path, origin), {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      connection: 'close',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, headers } = answer;
  const text = await answer.text();
  return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
}

/**
 * Creates, reads, lists, replaces and removes a few plants, with ids below those of every load. Only
 * contestants with the same answers can be compared.
 *
 * @throws Error with the first answer that differs
 */
export async function checkAnswers(origin: string, name: string): Promise<void> {
  const plants = [-3, -2, -1].map((id) => ({ id, name: 'Aloe', tag: 'checked' }));
  const replaced = { ...PLANT, tag: REPLACED_TAG };
  type Row = [Operation['method'], string, object | undefined, status: number, body?: unknown];
  const rows: Row[] = [
    ...plants.map((plant): Row => [
      'POST',
      '/plants',
      plant,
      200,
      { name: 'Aloe', tag: 'checked' },
    ]),
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
    const isSame = expected === undefined || isDeepStrictEqual(answer.body, expected);
    const isRead = path === '/plants/-3' && method === 'GET' && status === 200;
    const hasHeaders =
      answer.headers.has('etag') === isRead && answer.headers.has('link') === path.includes('?');
    if (answer.status === status && isSame && hasHeaders) continue;
    const { status: wrong, body } = answer;
    throw new Error(`${name} answers ${method} ${path} ${wrong} ${JSON.stringify(body)}`);
  }
}
