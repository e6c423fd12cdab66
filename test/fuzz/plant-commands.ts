import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import type { HttpAnswer } from '../support/http/answer.js';
import type { Field, HttpRequest } from '../support/http/request.js';
import { AUTHORIZATION, CONTENT_TYPE } from '../support/plant-requests.js';
import { type Api, Fault, parseJson } from './api.js';
import {
  command,
  type CommandMaker,
  contents,
  expectPlants,
  ids,
  readPlant,
  texts,
} from './command.js';
import { type Condition, toFields } from './conditions.js';
import { applyPatch, type Content, type Model, type Patch } from './model.js';
import { type Draft, toMembers, writeRequest } from './variations.js';

// Commands about one plant.

const PATCH_TYPE: Field = ['Content-Type', 'application/merge-patch+json'];

export function draftCreate(id: bigint, content: Content): Draft {
  const headers = [AUTHORIZATION, CONTENT_TYPE];
  const members = toMembers({ id, ...content });
  return { method: 'POST', target: '/plants', headers, members };
}

export function draftItem(method: string, id: bigint, headers: readonly Field[] = []): Draft {
  return { method, target: `/plants/${id}`, headers: [AUTHORIZATION, ...headers] };
}

export const makeCreate: CommandMaker = (anyVariations) =>
  fc.tuple(ids, contents, anyVariations).map(([id, content, variations]) =>
    command(id, ['create', id, content, variations], async (model, api) => {
      const request = writeRequest(draftCreate(id, content), variations);
      const answer = await api.expect(request, model.create(id, content));
      if (answer.status === 200) expectPlant(answer, request, content);
    }),
  );

/** Stores a plant with this id, unless there is one. */
export async function ensureStored(id: bigint, model: Model, api: Api): Promise<void> {
  if (model.has(id)) return;
  const content = { name: 'a' };
  await api.expect(writeRequest(draftCreate(id, content)), model.create(id, content));
}

/** The outcome of a change of a plant. */
function changeOutcome(
  content: Content | undefined,
  conditions: readonly Condition[],
  done: number,
): number {
  if (content === undefined) return 40401;
  return conditions.every(({ allowsChange }) => allowsChange) ? done : 41200;
}

/** The headers of conditions, with the ETag that the plant has. */
async function conditionFields(
  id: bigint,
  conditions: readonly Condition[],
  model: Model,
  api: Api,
): Promise<Field[]> {
  const content = model.get(id);
  if (conditions.length === 0 || content === undefined) return toFields(conditions, '"none"');
  const known = model.findEtag(content);
  if (known !== undefined) return toFields(conditions, known);
  const { headers } = await api.expect(writeRequest(draftItem('GET', id)), 200);
  return toFields(conditions, headers.etag ?? '');
}

/** Makes commands that write a plant which is there. */
function makeChange(
  method: 'PUT' | 'PATCH',
  type: Field,
  changes: fc.Arbitrary<Patch>,
  apply: (before: Content, change: Patch) => Content,
): CommandMaker {
  return (anyVariations, anyConditions) =>
    fc
      .tuple(ids, changes, anyConditions, anyVariations)
      .map(([id, change, conditions, variations]) =>
        command(id, [method, id, change, conditions, variations], async (model, api) => {
          const headers = [type, ...(await conditionFields(id, conditions, model, api))];
          const members = toMembers(change);
          const draft = { ...draftItem(method, id, headers), members };
          const request = writeRequest(draft, variations);
          const before = model.get(id);
          const wanted = changeOutcome(before, conditions, 200);
          const answer = await api.expect(request, wanted);
          if (wanted !== 200 || before === undefined) return;
          const content = apply(before, change);
          model.set(id, content);
          expectPlant(answer, request, content);
        }),
      );
}

const patches = fc.record(
  { name: texts, tag: fc.option(texts) },
  { requiredKeys: [], noNullPrototype: true },
);

export const makePut = makeChange('PUT', CONTENT_TYPE, contents, (_, plant) => plant as Content);
export const makePatch = makeChange('PATCH', PATCH_TYPE, patches, applyPatch);

/** The answer to a change has the plant without its id, and no ETag. */
function expectPlant(answer: HttpAnswer, request: HttpRequest, content: Content): void {
  if (!isDeepStrictEqual(parseJson(answer.body), content)) {
    throw new Fault(`the body is not ${JSON.stringify(content)}`, request, answer);
  }
  if (answer.headers.etag !== undefined) throw new Fault('there is an ETag', request, answer);
}

export const makeRemove: CommandMaker = (anyVariations, anyConditions) =>
  fc.tuple(ids, anyConditions, anyVariations).map(([id, conditions, variations]) =>
    command(id, ['remove', id, conditions, variations], async (model, api) => {
      const headers = await conditionFields(id, conditions, model, api);
      const wanted = changeOutcome(model.get(id), conditions, 204);
      await api.expect(writeRequest(draftItem('DELETE', id, headers), variations), wanted);
      if (wanted === 204) model.delete(id);
    }),
  );

export const makeRead: CommandMaker = (anyVariations, anyConditions) =>
  fc
    .tuple(fc.constantFrom('GET', 'GET', 'HEAD'), ids, anyConditions, anyVariations)
    .map(([method, id, conditions, variations]) =>
      command(id, [method, id, conditions, variations], async (model, api) => {
        const headers = await conditionFields(id, conditions, model, api);
        const request = writeRequest(draftItem(method, id, headers), variations);
        const content = model.get(id);
        const answer = await api.expect(request, readOutcome(content, conditions));
        if (content === undefined || answer.status >= 400) return;
        if (!model.acceptsEtag(content, answer.headers.etag)) {
          throw new Fault('the ETag is not that of this plant', request, answer);
        }
        if (method === 'HEAD' || answer.status === 304) return;
        expectPlants([readPlant(answer.body)], [{ id: String(id), ...content }], request, answer);
      }),
    );

function readOutcome(content: Content | undefined, conditions: readonly Condition[]): number {
  if (content === undefined) return 40401;
  if (conditions.some(({ read }) => read === 'refused')) return 41200;
  return conditions.some(({ read }) => read === 'not modified') ? 304 : 200;
}
