import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { PLANT } from './ids.mjs';
import { REPLACED_TAG } from './operations.mjs';

/** The ids of the checked plants, below those of every load. */
const IDS = [-3, -2, -1];
const TAG = 'checked';

/**
 * Makes one request to a server, on a connection of its own unless `agent` is given.
 *
 * @param {{ url: string, token: string, agent?: http.Agent }} server
 * @param {string} path
 * @returns {Promise<{ status: number, headers: http.IncomingHttpHeaders, body: any }>}
 */
export async function ask({ url, token, agent }, method, path, { headers, body } = {}) {
  const request = http.request(new URL(path, url), {
    method,
    agent: agent ?? false,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(request, 'response');
  const answer = await text(response);
  return {
    status: response.statusCode,
    headers: response.headers,
    body: answer === '' ? undefined : JSON.parse(answer),
  };
}

/** Reads the path of the next page from the Link header. */
export function readNextPath({ headers }) {
  return /^<([^>]*)>; rel="next"$/.exec(headers.link ?? '')?.[1];
}

/**
 * Creates, reads, lists, replaces and removes a few plants. Only contestants with the same answers
 * can be compared.
 *
 * @param {import('./server.mjs').Server} server
 * @throws Error with the first answer that differs
 */
export async function checkAnswers(server) {
  const expect = async (expected, ...request) => {
    const answer = await ask(server, ...request);
    const isSame = Object.keys(expected).every((key) =>
      isDeepStrictEqual(answer[key], expected[key]),
    );
    if (isSame) return answer;
    const { status, body } = answer;
    throw new Error(
      `it answers ${request.slice(0, 2).join(' ')} with ${status} ${body && JSON.stringify(body)}`,
    );
  };
  const plants = IDS.map((id) => ({ id, name: 'Aloe', tag: TAG }));
  const [{ id }] = plants;
  const path = `/plants/${id}`;

  for (const body of plants) {
    await expect({ status: 200, body: { name: body.name, tag: TAG } }, 'POST', '/plants', { body });
  }
  const read = await expect({ status: 200, body: plants[0] }, 'GET', path);
  const { etag } = read.headers;
  if (!/^"[^"]+"$/.test(etag)) throw new Error(`it has the ETag ${etag}`);
  await expect({ status: 304, body: undefined }, 'GET', path, {
    headers: { 'if-none-match': etag },
  });
  const page = `/plants?limit=2&after=${id - 1}&tag=${TAG}`;
  const first = await expect({ status: 200, body: plants.slice(0, 2) }, 'GET', page);
  const rest = { status: 200, body: plants.slice(2) };
  const last = await expect(rest, 'GET', readNextPath(first) ?? page);
  if (readNextPath(last) !== undefined)
    throw new Error(`its last page has the link ${readNextPath(last)}`);
  await expect({ status: 200, body: [] }, 'GET', `/plants?tag=no${TAG}`);
  await expect({ status: 400 }, 'GET', '/plants?limit=0');

  const body = { ...PLANT, tag: REPLACED_TAG };
  await expect({ status: 200, body }, 'PUT', path, { body });
  await expect({ status: 200, body: { id, ...body } }, 'GET', path, {
    headers: { 'if-none-match': etag },
  });
  for (const plant of plants) await expect({ status: 204 }, 'DELETE', `/plants/${plant.id}`);
  for (const [method, given] of [['GET'], ['PUT', { body }], ['DELETE']]) {
    await expect({ status: 404 }, method, path, given);
  }
}
