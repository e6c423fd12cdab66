import { isDeepStrictEqual } from 'node:util';
import { type Operation, PLANT, REPLACED_TAG, TOKEN } from './operations.js';

/** The ids of the checked plants, below those of every load. */
const IDS = [-3, -2, -1];
const TAG = 'checked';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The value of the JSON; undefined for an empty body. */
  readonly body: unknown;
}

interface Given {
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Makes one request to a server, on a connection of its own. */
export async function ask(
  origin: string,
  method: Operation['method'],
  path: string,
  { headers, body }: Given = {},
): Promise<Answer> {
  const answer = await fetch(new URL(path, origin), {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      connection: 'close',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/**
 * Creates, reads, lists, replaces and removes a few plants. Only contestants with the same answers
 * can be compared.
 *
 * @throws Error with the first answer that differs
 */
export async function checkAnswers(origin: string, name: string): Promise<void> {
  const expect = async (
    [status, expected]: readonly [status: number, body?: unknown],
    method: Operation['method'],
    path: string,
    given?: Given,
  ): Promise<Headers> => {
    const answer = await ask(origin, method, path, given);
    const isSame = expected === undefined || isDeepStrictEqual(answer.body, expected);
    if (answer.status === status && isSame) return answer.headers;
    const { body } = answer;
    throw new Error(`${name} answers ${method} ${path} ${answer.status} ${JSON.stringify(body)}`);
  };
  const plants = IDS.map((id) => ({ id, name: 'Aloe', tag: TAG }));
  const [id = NaN] = IDS;
  const path = `/plants/${id}`;

  for (const plant of plants) {
    const { name, tag } = plant;
    await expect([200, { name, tag }], 'POST', '/plants', { body: JSON.stringify(plant) });
  }
  const etag = (await expect([200, plants[0]], 'GET', path)).get('etag') ?? '';
  if (!/^"[^"]+"$/.test(etag)) throw new Error(`${name} has the ETag ${etag}`);
  const ifChanged = { headers: { 'if-none-match': etag } };
  await expect([304], 'GET', path, ifChanged);
  const page = `/plants?limit=2&after=${id - 1}&tag=${TAG}`;
  const first = await expect([200, plants.slice(0, 2)], 'GET', page);
  const next = /^<([^>]*)>; rel="next"$/.exec(first.get('link') ?? '')?.[1];
  const last = await expect([200, plants.slice(2)], 'GET', next ?? page);
  if (last.has('link')) throw new Error(`the last page of ${name} has a link`);
  await expect([400], 'GET', '/plants?limit=0');

  const replacement = { ...PLANT, tag: REPLACED_TAG };
  const body = JSON.stringify(replacement);
  await expect([200, replacement], 'PUT', path, { body });
  await expect([200, { id, ...replacement }], 'GET', path, ifChanged);
  for (const each of IDS) await expect([204], 'DELETE', `/plants/${each}`);
  await expect([404], 'GET', path);
  await expect([404], 'PUT', path, { body });
  await expect([404], 'DELETE', path);
}
