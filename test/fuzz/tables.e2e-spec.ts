import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDocument } from './api-document.js';
import { TestApp } from '../support/test-app.js';
import { ACCESS_TOKENS } from './headers.js';
import { bodyOf, type Parts, padTo, type Verdict, type Written } from './body.js';
import { type Facts, type Probe, probeOf } from './expected.js';
import { Fuzzer } from './fuzzer.js';
import * as headers from './headers.js';
import { CONDITIONS, fieldsOf } from './conditions.js';
import { HttpClient } from './http-client.js';
import type { HttpRequest } from './http-request.js';
import { AUTHORIZATION, bodyProbe, CONTENT_TYPE, createOf, requestOf } from './requests.js';
import { LIST_QUERIES, nearQueries, NOT_IDS } from './queries.js';
import { auditStore } from './store-audit.js';
import * as values from './values.js';

// The fuzzer meets the rows of its tables by chance; here each is met once, in a request that is
// otherwise without a flaw.

let app: TestApp;
let fuzzer: Fuzzer;
let lastId = 10n ** 12n;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
  fuzzer = new Fuzzer(await ApiDocument.load(app.url), 0, () => new HttpClient(app.url), 1);
});
afterAll(async () => {
  fuzzer.close();
  await app.close();
});

async function expectNoFault(probes: readonly Probe[]): Promise<void> {
  expect(probes.length).toBeGreaterThan(0);
  for (const probe of probes) {
    const fault = await fuzzer.check(probe);
    const { method, target, headers: fields, body } = probe.request;
    const shown = { method, target, fields, body: body.toString().slice(0, 200) };
    expect(fault && { ...shown, faults: fault.faults }).toBeUndefined();
  }
}

function withParts(changes: Partial<Parts>): Probe {
  const parts: Parts = {
    id: values.goodId(++lastId),
    name: values.goodText('a'),
    tag: values.goodText('b'),
    extras: [],
    again: undefined,
    style: 0,
    ...changes,
  };
  const { bytes, verdict } = bodyOf(parts);
  return bodyProbe(bytes, verdict);
}

/** A request with a body that is fine, and something else that may not be. */
function withFacts(changes: Partial<HttpRequest>, facts: Partial<Facts>): Probe {
  const plant = { id: ++lastId, name: 'a' };
  const good: Facts = {
    path: 'plants',
    token: 'good',
    isJsonType: true,
    isIdentity: true,
    verdict: { kind: 'plant', plant },
  };
  const request = requestOf(`{"id":${plant.id},"name":"a"}`, changes);
  return probeOf(request, { ...good, ...facts });
}

const UNREADABLE: Verdict = { kind: 'unreadable' };

describe('every row of the tables once', () => {
  it('ids', async () => {
    const wrong: Written<never>[] = [
      ...[...values.FAR_INTEGERS, ...values.FRACTIONS, values.MANY_DIGITS].map(values.badNumber),
      ...[...values.FAR_EXPONENTS, ...values.NOT_NUMBERS].map(values.wrong),
    ];
    await expectNoFault([
      ...values.EDGE_IDS.map((id) => withParts({ id: values.goodId(id) })),
      ...wrong.map((id) => withParts({ id })),
      withParts({ id: undefined }),
    ]);
  });

  it.each(['name', 'tag'])('%s', async (member) => {
    const poisons = ['\0', 'a\0', '\ud800', 'a\udfff', '\udc00\ud800', '\ud83c\ud83c\udf35'];
    await expectNoFault([
      ...values.ODD_TEXTS.map((text) => withParts({ [member]: values.goodText(text) })),
      ...poisons.map((text) => withParts({ [member]: values.badText(text) })),
      ...values.NOT_STRINGS.map((text) => withParts({ [member]: values.wrong(text) })),
      withParts({ [member]: undefined }),
    ]);
  });

  it('other members', async () => {
    const value = values.wrong('null');
    await expectNoFault([
      ...values.EXTRA_NAMES.map((name) => withParts({ extras: [{ name, value }] })),
      ...values.EXTRA_VALUES.map((text) =>
        withParts({ extras: [{ name: 'other', value: values.wrong(text) }] }),
      ),
    ]);
  });

  it('members given twice', async () => {
    const value = values.wrong('null');
    await expectNoFault([
      withParts({ again: { name: 'id', value: values.goodId(1n) } }),
      withParts({ again: { name: 'name', value: values.goodText('a') } }),
      withParts({ again: { name: 'tag', value: values.goodText('b') } }),
      withParts({ again: { name: 'tag', value } }),
    ]);
  });

  it('texts that are not JSON, in every place', async () => {
    await expectNoFault([
      ...values.NOT_JSON.map(values.broken).flatMap((value) => [
        withParts({ id: value }),
        withParts({ name: value }),
        withParts({ tag: value }),
        withParts({ extras: [{ name: 'other', value }] }),
      ]),
      ...values.NOT_JSON_BODIES.map((text) => bodyProbe(text, UNREADABLE)),
    ]);
  });

  it('every truncation, and bytes that are not UTF-8 at every place', async () => {
    const { body } = createOf({ id: 1n, name: 'é🌵', tag: '\n' }).request;
    const cuts = Array.from(body.keys(), (length) => body.subarray(0, length));
    const inserts = values.NOT_UTF8.map((bytes) => Buffer.from(bytes));
    const mixed = Array.from(body.keys(), (at, index) =>
      Buffer.concat([
        body.subarray(0, at),
        inserts[index % inserts.length] ?? Buffer.alloc(0),
        body.subarray(at),
      ]),
    );
    await expectNoFault(
      [...cuts, ...mixed, ...inserts].map((bytes) => bodyProbe(bytes, UNREADABLE)),
    );
  });

  it('values that are not objects', async () => {
    const verdict: Verdict = { kind: 'invalid', faults: [], repeated: false };
    await expectNoFault(values.NOT_OBJECTS.map((text) => bodyProbe(text, verdict)));
  });

  it('nesting of every depth around the limit', async () => {
    const depths = [1, 2, 32, 62, 63, 64, 65, 128, 5_000, 40_000];
    await expectNoFault(
      depths.flatMap((levels) => {
        const value = values.deep(levels, levels % 2 === 0 && levels < 10_000);
        return [
          withParts({ id: value }),
          withParts({ tag: value }),
          withParts({ extras: [{ name: 'a', value }] }),
        ];
      }),
    );
  });

  it('sizes around the limit, sent in both ways', async () => {
    const sizes = [102_399, 102_400, 102_401, 110_000, 300_000];
    await expectNoFault(
      sizes.flatMap((size) =>
        (['length', 'chunked'] as const).flatMap((framing) =>
          [false, true].map((pause) => {
            const { request, verdict = UNREADABLE } = createOf({
              id: ++lastId,
              name: 'é'.repeat(40_000),
            });
            const { bytes } = padTo(size, { bytes: request.body, verdict });
            return bodyProbe(bytes, verdict, { framing, pause });
          }),
        ),
      ),
    );
  });

  it('tokens', async () => {
    const withToken = (field: headers.Field | undefined, token: Facts['token']): Probe =>
      withFacts({ headers: field ? [CONTENT_TYPE, field] : [CONTENT_TYPE] }, { token });
    await expectNoFault([
      ...headers.ACCEPTED.map((field) => withToken(field, 'good')),
      ...headers.MISSING.map((field) => withToken(field, 'missing')),
      ...headers.REFUSED_TOKENS.map((text) =>
        withToken(['Authorization', `Bearer ${text}`], 'refused'),
      ),
    ]);
  });

  it('media types and content encodings', async () => {
    const withType = (type: string | undefined, isJsonType: boolean): Probe => {
      const field: headers.Field[] = type === undefined ? [] : [['Content-Type', type]];
      return withFacts({ headers: [AUTHORIZATION, ...field] }, { isJsonType });
    };
    const withEncoding = (name: string, isIdentity: boolean): Probe =>
      withFacts(
        { headers: [AUTHORIZATION, CONTENT_TYPE, ['Content-Encoding', name]] },
        { isIdentity },
      );
    await expectNoFault([
      ...headers.JSON_TYPES.map((type) => withType(type, true)),
      ...headers.OTHER_TYPES.map((type) => withType(type, false)),
      ...headers.CONTENT_ENCODINGS.map((name) => withEncoding(name, false)),
      withEncoding('identity', true),
    ]);
  });

  it('paths, queries and methods', async () => {
    const { NEAR_PATHS, UNKNOWN_PATHS, UNDECODABLE_PATHS, QUERIES, OTHER_METHODS } = headers;
    const pages = headers.KNOWN_PAGES.flatMap((path) =>
      ['POST', ...OTHER_METHODS].map((method) =>
        withFacts({ method, target: path.page }, { path }),
      ),
    );
    await expectNoFault([
      ...[...NEAR_PATHS, ...UNKNOWN_PATHS].map((target) =>
        withFacts({ target }, { path: 'unknown' }),
      ),
      ...UNDECODABLE_PATHS.map((target) => withFacts({ target }, { path: 'undecodable' })),
      ...QUERIES.map((query) => withFacts({ target: `/plants${query}` }, {})),
      ...OTHER_METHODS.map((method) => withFacts({ method }, {})),
      ...OTHER_METHODS.map((method) =>
        withFacts({ method, target: `/plants/${lastId}` }, { path: { id: lastId } }),
      ),
      ...pages,
    ]);
  });

  /** A request about the plant that was created last, without a flaw but for the facts. */
  function withPlant(
    method: string,
    changes: Partial<HttpRequest> = {},
    facts: Partial<Facts> = {},
  ): Probe {
    const target = `/plants/${lastId}`;
    return probeOf(requestOf('{"name":"b"}', { method, target, ...changes }), {
      path: { id: lastId },
      token: 'good',
      isJsonType: true,
      isIdentity: true,
      verdict: { kind: 'plant', plant: { id: lastId, name: 'b' } },
      ...facts,
    });
  }

  it.each(['GET', 'HEAD', 'PUT', 'DELETE'])('%s with every precondition', async (method) => {
    for (const condition of CONDITIONS) {
      const headers = [AUTHORIZATION, CONTENT_TYPE, ...fieldsOf([condition])];
      const changes = { headers };
      const facts = { conditions: [condition] };
      // On a plant that is not there, and on one that is.
      lastId++;
      await expectNoFault([withPlant(method, changes, facts), createOf({ id: lastId, name: 'a' })]);
      await expectNoFault([withPlant(method, changes, facts), withPlant('GET')]);
    }
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE'])('%s with ids that are none', async (method) => {
    await expectNoFault(
      NOT_IDS.map((id) =>
        withPlant(method, { target: `/plants/${id}` }, { path: { id: undefined } }),
      ),
    );
  });

  it('ids of a whole life', async () => {
    for (const id of values.EDGE_IDS) {
      lastId = id;
      const methods = ['GET', 'PUT', 'GET', 'DELETE', 'GET', 'DELETE', 'PUT'];
      await expectNoFault([
        createOf({ id: lastId, name: 'a', tag: '' }),
        ...methods.map((method) => withPlant(method)),
      ]);
    }
    lastId = 10n ** 13n;
  });

  it('bodies of a PUT', async () => {
    await expectNoFault([createOf({ id: ++lastId, name: 'a' })]);
    const bodies = [
      ...values.NOT_JSON_BODIES,
      ...values.NOT_OBJECTS,
      '{}',
      '{"name":1}',
      '{"tag":"a"}',
    ];
    const verdictOf = (text: string): Verdict =>
      values.NOT_JSON_BODIES.includes(text)
        ? UNREADABLE
        : { kind: 'invalid', faults: [], repeated: false };
    await expectNoFault([
      ...bodies.map((text) =>
        withPlant('PUT', { body: Buffer.from(text) }, { verdict: verdictOf(text) }),
      ),
      ...['"id":7', '"id":null', '"id":[1]', '"id":1e400', '"id":1,"id":2'].map((member) =>
        withPlant('PUT', { body: Buffer.from(`{"name":"b",${member}}`) }),
      ),
      ...headers.OTHER_TYPES.map((type) =>
        withPlant(
          'PUT',
          {
            headers: type === undefined ? [AUTHORIZATION] : [AUTHORIZATION, ['Content-Type', type]],
          },
          { isJsonType: false },
        ),
      ),
    ]);
  });

  it('queries of a page', async () => {
    const queries = [
      ...LIST_QUERIES,
      ...nearQueries(lastId, 'b'),
      ...nearQueries(lastId, undefined),
    ];
    await expectNoFault(
      ['GET', 'HEAD'].flatMap((method) =>
        queries.map(({ text, meaning }) =>
          withFacts({ method, target: `/plants${text}` }, { query: meaning }),
        ),
      ),
    );
  });

  it('headers that change nothing', async () => {
    await expectNoFault(
      headers.EXTRA_FIELDS.map((field) =>
        withFacts({ headers: [AUTHORIZATION, CONTENT_TYPE, field] }, {}),
      ),
    );
  });

  it('left nothing behind but what was created', async () => {
    expect(await auditStore(app.storeUrl, fuzzer.model)).toEqual([]);
  });
});
