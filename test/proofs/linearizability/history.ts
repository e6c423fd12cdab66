import type { HttpAnswer } from '../../support/http/answer.js';
import type { Field, HttpRequest } from '../../support/http/request.js';
import {
  AUTHORIZATION,
  CONTENT_TYPE,
  makeEmptyRequest,
  makeRequest,
} from '../../support/plant-requests.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Call } from './checker.js';
import {
  ABSENT,
  type Condition,
  toOkResult,
  type Operation,
  type Result,
  type State,
  getTag,
} from './plant-register.js';

/** Sends a request to one of the programs; undefined when there was no answer. */
export type Send = (request: HttpRequest) => Promise<HttpAnswer | undefined>;

/** The states of a plant: few enough that clients often meet, and closed under the patches. */
export const PLANTS: readonly [State, ...State[]] = [
  '{"name":"a"}',
  '{"name":"a","tag":""}',
  '{"name":"a","tag":"t"}',
  '{"name":"b"}',
  '{"name":"b","tag":""}',
  '{"name":"b","tag":"t"}',
];
const PATCHES: readonly [string, ...string[]] = [
  '{"name":"a"}',
  '{"name":"b"}',
  '{"tag":"t"}',
  '{"tag":""}',
  '{"tag":null}',
  '{}',
];

const MAX_CLIENTS = 4;
const MAX_OPERATIONS = 4;

const UNAVAILABLE = '50300';

/** Draws the operations of each client of a history. */
export function drawOperations(random: SeededRandom): Operation[][] {
  const clients = 2 + random.below(MAX_CLIENTS - 1);
  return Array.from({ length: clients }, () =>
    Array.from({ length: 1 + random.below(MAX_OPERATIONS) }, () => drawOperation(random)),
  );
}

function drawOperation(random: SeededRandom): Operation {
  const plant = random.pick(...PLANTS);
  const changes = ['create', 'create', 'replace', 'replace', 'patch', 'patch', 'remove'];
  switch (random.pick('list', 'read', 'read', ...changes)) {
    case 'create':
      return { kind: 'create', plant };
    case 'replace':
      return { kind: 'replace', plant, condition: drawCondition(random) };
    case 'patch':
      return { kind: 'patch', patch: random.pick(...PATCHES), condition: drawCondition(random) };
    case 'remove':
      return { kind: 'remove', condition: drawCondition(random) };
    case 'read':
      return { kind: 'read', condition: drawCondition(random) };
    default:
      return { kind: 'list', tag: random.pick(undefined, getTag(plant)) };
  }
}

function drawCondition(random: SeededRandom): Condition | undefined {
  const state = random.pick(...PLANTS);
  const header = random.pick('If-Match', 'If-Match', 'If-None-Match');
  return random.below(2) === 0 ? undefined : { header, state };
}

/** Executes operations on one id over HTTP, and records when each began and ended. */
export class History {
  readonly calls: Call[] = [];
  private moment = 0;

  /** @param etags the ETag of each of {@link PLANTS} */
  constructor(
    readonly id: bigint,
    private readonly etags: ReadonlyMap<State, string>,
  ) {}

  /** Runs all clients at once, and then one read by another client. */
  async run(clients: readonly (readonly Operation[])[], send: Send): Promise<void> {
    await Promise.all(
      clients.map(async (operations, client) => {
        for (const operation of operations) await this.call(client, operation, send);
      }),
    );
    await this.call(clients.length, { kind: 'read' }, send);
  }

  private async call(client: number, operation: Operation, send: Send): Promise<void> {
    const request = this.makeRequest(operation);
    const calledAt = this.moment++;
    const answer = await send(request);
    const result = answer === undefined ? UNAVAILABLE : this.importLines(operation, answer);
    const isKnown = result !== UNAVAILABLE;
    this.calls.push({
      client,
      operation,
      calledAt,
      answer: isKnown ? { at: this.moment++, result } : undefined,
    });
  }

  private makeRequest(operation: Operation): HttpRequest {
    const target = `/plants/${this.id}`;
    switch (operation.kind) {
      case 'create':
        return makeRequest(operation.plant.replace('{', `{"id":${this.id},`));
      case 'replace': {
        const headers = [AUTHORIZATION, CONTENT_TYPE, ...this.toFields(operation.condition)];
        return makeRequest(operation.plant, { method: 'PUT', target, headers });
      }
      case 'patch': {
        const headers = [AUTHORIZATION, CONTENT_TYPE, ...this.toFields(operation.condition)];
        return makeRequest(operation.patch, { method: 'PATCH', target, headers });
      }
      case 'list': {
        const tag = operation.tag === undefined ? '' : `&tag=${operation.tag}`;
        const page = `/plants?after=${this.id - 1n}&limit=1${tag}`;
        return makeEmptyRequest('GET', page);
      }
      default: {
        const method = operation.kind === 'remove' ? 'DELETE' : 'GET';
        return makeEmptyRequest(method, target, ...this.toFields(operation.condition));
      }
    }
  }

  private toFields(condition: Condition | undefined): Field[] {
    if (condition === undefined) return [];
    return [[condition.header, this.etags.get(condition.state) ?? '']];
  }

  private importLines({ kind }: Operation, { status, headers, body }: HttpAnswer): Result {
    const text = body;
    if (status >= 400) return String((JSON.parse(text) as { error: number }).error);
    if (status !== 200) return String(status);
    if (kind === 'list') return toOkResult(this.listed(text));
    if (kind !== 'read') return toOkResult(text);
    const plant = this.withoutId(text);
    const isRight = headers.etag === this.etags.get(plant);
    return isRight ? toOkResult(plant) : `200 with a wrong ETag ${plant}`;
  }

  /** Finds the plant with this id on a page, which may have others. */
  private listed(text: string): State {
    const plants = JSON.parse(text) as { id: number }[];
    const plant = plants.find(({ id }) => BigInt(id) === this.id);
    return plant === undefined ? ABSENT : this.withoutId(JSON.stringify(plant));
  }

  private withoutId(text: string): State {
    return text.replace(`"id":${this.id},`, '');
  }
}
