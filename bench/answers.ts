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
  url: string,
  method: Operation['method'],
  path: string,
  { headers, body }: Given = {},
): Promise<Answer> {
  const answer = await fetch(new URL(path, url), {
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
export async function checkAnswers(url: string): Promise<void> {
  const expect = async (
    expected: { status: number; body?: unknown },
    method: Operation['method'],
    path: string,
    given?: Given,
  ): Promise<Answer> => {
    const answer = await ask(url, method, path, given);
    const { status, body } = answer;
    const isSame =
      status === expected.status &&
      (!('body' in expected) || isDeepStrictEqual(body, expected.body));
    if (isSame) return answer;
    throw new Error(`it answers ${method} ${path} with ${status} ${JSON.stringify(body)}`);
  };
  const plants = IDS.map((id) => ({ id, name: 'Aloe', tag: TAG }));
  const [id = NaN] = IDS;
  const path = `/plants/${id}`;

  for (const plant of plants) {
    const { name, tag } = plant;
    const body = JSON.stringify(plant);
    await expect({ status: 200, body: { name, tag } }, 'POST', '/plants', { body });
  }
  const { headers } = await expect({ status: 200, body: plants[0] }, 'GET', path);
  const etag = headers.get('etag') ?? '';
  if (!/^"[^"]+"$/.test(etag)) throw new Error(`it has the ETag ${etag}`);
  const ifChanged = { headers: { 'if-none-match': etag } };
  await expect({ status: 304, body: undefined }, 'GET', path, ifChanged);
  const page = `/plants?limit=2&after=${id - 1}&tag=${TAG}`;
  const first = await expect({ status: 200, body: plants.slice(0, 2) }, 'GET', page);
  const rest = { status: 200, body: plants.slice(2) };
  const last = await expect(rest, 'GET', readNextPath(first) ?? page);
  const more = readNextPath(last);
  if (more !== undefined) throw new Error(`its last page has the link ${more}`);
  await expect({ status: 200, body: [] }, 'GET', `/plants?tag=no${TAG}`);
  await expect({ status: 400 }, 'GET', '/plants?limit=0');

  const replacement = { ...PLANT, tag: REPLACED_TAG };
  const body = JSON.stringify(replacement);
  await expect({ status: 200, body: replacement }, 'PUT', path, { body });
  await expect({ status: 200, body: { id, ...replacement } }, 'GET', path, ifChanged);
  for (const each of IDS) await expect({ status: 204 }, 'DELETE', `/plants/${each}`);
  await expect({ status: 404 }, 'GET', path);
  await expect({ status: 404 }, 'PUT', path, { body });
  await expect({ status: 404 }, 'DELETE', path);
}

/** Reads the path of the next page from the Link header. */
function readNextPath({ headers }: Answer): string | undefined {
  return /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
}
