import fc from 'fast-check';
import { CONTENT_TYPE } from '../support/plant-requests.js';
import { command, type Command, type CommandMaker } from './command.js';
import { type Condition, CONDITIONS } from './conditions.js';
import { draftImport, makeImport } from './import-command.js';
import { draftList, makeList } from './list-command.js';
import type { Content } from './model.js';
import {
  draftCreate,
  draftItem,
  makeCreate,
  makePatch,
  makePut,
  makeRead,
  makeRemove,
} from './plant-commands.js';
import {
  type Draft,
  FLAWS,
  HARMLESS,
  type PlantOperation,
  toMembers,
  type Variation,
  writeRequest,
} from './variations.js';

const PLANT: Content = { name: 'a', tag: 'b' };
/** Commands of each operation, and a valid request, to which flaws are added. */
const OPERATIONS: Readonly<Record<PlantOperation, { make: CommandMaker; draft: Draft }>> = {
  create: { make: makeCreate, draft: draftCreate(1n, PLANT) },
  put: { make: makePut, draft: draftChange('PUT') },
  patch: { make: makePatch, draft: draftChange('PATCH') },
  remove: { make: makeRemove, draft: draftItem('DELETE', 1n) },
  read: { make: makeRead, draft: draftItem('GET', 1n) },
  list: { make: makeList, draft: draftList('/plants?limit=2') },
  import: { make: makeImport, draft: draftImport('{"id":1,"name":"a"}\n') },
};
const NAMES = Object.keys(OPERATIONS) as PlantOperation[];

function draftChange(method: string): Draft {
  return { ...draftItem(method, 1n, [CONTENT_TYPE]), members: toMembers(PLANT) };
}

const NO_VARIATION = fc.constant<readonly Variation[]>([]);
const NO_CONDITION = fc.constant<readonly Condition[]>([]);

/** Of several variations, at most one changes a certain part of a request. */
function drawVariations(
  operation: PlantOperation,
  from: readonly Variation[],
): fc.Arbitrary<Variation[]> {
  const all = from.filter(({ operations }) => operations.includes(operation));
  const selector = ({ stage }: Variation): number => stage;
  return fc.uniqueArray(fc.constantFrom(...all), { selector, minLength: 1, maxLength: 2 });
}

/** Makes valid commands of an operation, mostly without variations. */
function makeValid(operation: PlantOperation): fc.Arbitrary<Command> {
  const conditions = fc.uniqueArray(fc.constantFrom(...CONDITIONS), {
    selector: ({ header }) => header,
    minLength: 1,
  });
  return OPERATIONS[operation].make(
    fc.oneof({ weight: 2, arbitrary: NO_VARIATION }, drawVariations(operation, HARMLESS)),
    fc.oneof({ weight: 2, arbitrary: NO_CONDITION }, conditions),
  );
}

/** Sends a request with these flaws, the first of which is answered. */
function sendFlaws(operation: PlantOperation, flaws: readonly Variation[]): Command {
  const [first] = [...flaws].sort((a, b) => a.stage - b.stage);
  return command(undefined, ['flawed', operation, flaws], async (_, api) => {
    await api.expect(
      writeRequest(OPERATIONS[operation].draft, flaws),
      first?.error ?? 0,
      first?.fault,
    );
  });
}

const flawed = fc
  .constantFrom(...NAMES)
  .chain((operation) =>
    drawVariations(operation, FLAWS).map((flaws) => sendFlaws(operation, flaws)),
  );

const changes = fc.oneof(
  ...(['create', 'create', 'put', 'patch', 'remove'] as const).map(makeValid),
);

/** Changes of different plants at once, which are stored together. */
const together = fc
  .uniqueArray(changes, { selector: ({ id }) => id, minLength: 2, maxLength: 8 })
  .map((all): Command => ({
    id: undefined,
    check: () => true,
    toString: () => `together ${all.join(', ')}`,
    run: async (model, api) => {
      // All have ended before the next command begins, also when one of them fails.
      const ended = await Promise.allSettled(all.map((one) => one.run(model, api)));
      const failed = ended.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  }));

/** Commands of every kind. */
export const COMMANDS: readonly fc.Arbitrary<Command>[] = [
  changes,
  together,
  makeValid('read'),
  makeValid('list'),
  makeValid('import'),
  flawed,
];

/**
 * Makes a command for each variation, with one of its operations, for every two stages of flaws, and
 * for each condition.
 */
export function listRows(seed: number): Command[] {
  const flaws = FLAWS.map((flaw, index) => sendFlaws(pick(flaw.operations, index), [flaw]));
  const pairs = NAMES.flatMap((operation) => {
    const possible = FLAWS.filter(({ operations }) => operations.includes(operation));
    const ofStages = [...new Map(possible.map((flaw) => [flaw.stage, flaw])).values()];
    return ofStages.flatMap((one, index) =>
      ofStages.slice(index + 1).map((other) => sendFlaws(operation, [one, other])),
    );
  });
  const harmless = HARMLESS.map((one, index) =>
    OPERATIONS[pick(one.operations, index)].make(fc.constant([one]), NO_CONDITION),
  );
  const conditional = CONDITIONS.flatMap((one) =>
    [makePut, makeRead].map((make) => make(NO_VARIATION, fc.constant([one]))),
  );
  const valid = [...harmless, ...conditional].flatMap((one, index) =>
    fc.sample(one, { seed: seed + index, numRuns: 1 }),
  );
  return [...flaws, ...pairs, ...valid];
}

function pick<T>(all: readonly T[], index: number): T {
  return all[index % all.length] as T;
}
