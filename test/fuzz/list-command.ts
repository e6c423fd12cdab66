import fc from 'fast-check';
import type { Field } from '../support/http/request.js';
import { AUTHORIZATION } from '../support/plant-requests.js';
import { type Api, Fault } from './api.js';
import { command, type CommandMaker, expectPlants, ids, readPlant, texts } from './command.js';
import type { ListQuery, Model, StoredPlant } from './model.js';
import { type Draft, type Variation, writeRequest } from './variations.js';

// Commands that read many plants.

const limit = fc.constantFrom(1, 2, 3, 1_000);
const shortTexts = texts.filter((text) => text.length <= 100);
const prefixes = texts.filter((text) => text !== '' && Array.from(text).length <= 64);
const queries: fc.Arbitrary<ListQuery> = fc.oneof(
  fc.record(
    { sort: fc.constantFrom('id', '-id'), tag: shortTexts, after: ids, limit },
    { requiredKeys: [], noNullPrototype: true },
  ),
  fc.record(
    { sort: fc.constantFrom('name', '-name'), name: prefixes, limit },
    { requiredKeys: ['sort'], noNullPrototype: true },
  ),
  fc.record({ name: prefixes, limit }, { requiredKeys: ['name'], noNullPrototype: true }),
);

export const makeList: CommandMaker = (anyVariations) =>
  fc
    .tuple(fc.constantFrom('pages', 'pages', 'lines', 'head'), queries, anyVariations)
    .map(([form, query, variations]) =>
      command(undefined, ['list', form, query, variations], async (model, api) => {
        const parameters = Object.entries(query).map(([name, value]) => [name, String(value)]);
        const target = `/plants?${new URLSearchParams(parameters).toString()}`;
        const wanted = model.list(query);
        if (form === 'lines') await expectLines(target, wanted.slice(0, query.limit), api);
        else if (form === 'pages') await expectPages(target, wanted, query.limit, variations, api);
        else await api.expect(writeRequest(draftList(target, 'HEAD'), variations), 200);
      }),
    );

export function draftList(target: string, method = 'GET'): Draft {
  return { method, target, headers: [AUTHORIZATION] };
}

async function expectPages(
  target: string,
  wanted: readonly StoredPlant[],
  limit = 100,
  variations: readonly Variation[],
  api: Api,
): Promise<void> {
  let count = 0;
  for (let next: string | undefined = target; next !== undefined;) {
    const request = writeRequest(draftList(next), variations);
    const answer = await api.expect(request, 200);
    const { link = '', vary = '' } = answer.headers;
    if (!/\bAccept\b/.test(vary)) throw new Fault('Vary does not name Accept', request, answer);
    next = /^<([^<>]+)>; rel="next"$/.exec(link)?.[1];
    const page = readPlant(answer.body) as unknown[];
    // It may end before 1 MiB, which these plants do not have.
    if (page.length > limit || (next !== undefined && page.length < limit)) {
      throw new Fault('the page is too long, or short and not the last one', request, answer);
    }
    const end = next === undefined ? undefined : count + page.length;
    expectPlants(page, wanted.slice(count, end), request, answer);
    count += page.length;
  }
}

async function expectLines(
  target: string,
  wanted: readonly StoredPlant[],
  api: Api,
): Promise<void> {
  const accept: Field = ['Accept', 'application/x-ndjson'];
  const request = writeRequest({ method: 'GET', target, headers: [AUTHORIZATION, accept] });
  const answer = await api.expect(request, 200);
  const lines = answer.body.split('\n');
  if (lines.pop() !== '') throw new Fault('the last line has no end', request, answer);
  expectPlants(lines.map(readPlant), wanted, request, answer);
}

/** Checks that exactly the plants of the model are stored. */
export async function audit(model: Model, api: Api): Promise<void> {
  await expectLines('/plants', model.list({}), api);
}
