import fc from 'fast-check';
import { type Call, isLinearizable } from './checker.js';
import {
  ABSENT,
  type Condition,
  type Operation,
  type Result,
  type State,
  toOkResult,
} from './plant-register.js';
import { type Answer, makeCreate, type Request, type Send } from './requests.js';

const pick = fc.constantFrom;

/** The states of a plant: few enough that clients often meet, and closed under the patches. */
const plants = pick<State[]>(
  '{"name":"a"}',
  '{"name":"a","tag":""}',
  '{"name":"a","tag":"t"}',
  '{"name":"b"}',
  '{"name":"b","tag":""}',
  '{"name":"b","tag":"t"}',
);
const patches = pick(
  '{"name":"a"}',
  '{"name":"b"}',
  '{"tag":"t"}',
  '{"tag":""}',
  '{"tag":null}',
  '{}',
);
const headers = pick<Condition['header'][]>('If-Match', 'If-Match', 'If-None-Match');
const condition = fc.option(fc.record({ header: headers, state: plants }), {
  freq: 2,
  nil: undefined,
});
const operations = fc.oneof(
  fc.record({ kind: pick('create'), body: plants }),
  fc.record({ kind: pick('replace'), body: plants, condition }),
  fc.record({ kind: pick('patch'), body: patches, condition }),
  fc.record({ kind: pick('remove', 'read', 'read'), condition }),
  fc.record({ kind: pick('list'), tag: pick(undefined, '', 't') }),
);

const MAX_CLIENTS = 4;
const histories = fc.array(fc.array(operations, { minLength: 1, maxLength: 4, size: 'max' }), {
  minLength: 2,
  maxLength: MAX_CLIENTS,
  size: 'max',
});

const METHODS = { read: 'GET', replace: 'PUT', patch: 'PATCH', remove: 'DELETE' };
const UNAVAILABLE = '50300';

/** Draws the operations of each client of a history. */
export function drawOperations(seed: number): Operation[][] {
  return fc.sample(histories, { seed, numRuns: 1 })[0] ?? [];
}

/** Executes operations on one id over HTTP, and records when each began and ended. */
export class History {
  readonly calls: Call[] = [];
  private moment = 0;
  private lastAudit: Call | undefined;

  /** @param etags the ETags that were seen, by the names and tags of their plants */
  constructor(
    readonly id: bigint,
    private readonly etags: Map<State, string>,
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

  /**
   * Adds a read of an export, which began after all calls.
   *
   * @param row of this id in the export
   */
  isLinearizableWith(row: State): boolean {
    const audit: Call = {
      client: MAX_CLIENTS + 1,
      operation: { kind: 'list' },
      calledAt: this.moment++,
      answer: { at: this.moment++, result: toOkResult(row) },
    };
    // The last two suffice to find a state that comes back, and keep the search short.
    const audits = this.lastAudit === undefined ? [audit] : [this.lastAudit, audit];
    this.lastAudit = audit;
    return isLinearizable([...this.calls, ...audits]);
  }

  private async call(client: number, drawn: Operation, send: Send): Promise<void> {
    // A condition needs an ETag that was seen.
    const isPossible =
      !('condition' in drawn && drawn.condition) || this.etags.has(drawn.condition.state);
    const operation = isPossible ? drawn : { ...drawn, condition: undefined };
    const request = this.makeRequest(operation);
    const calledAt = this.moment++;
    const answer = await send(request);
    const result = answer === undefined ? UNAVAILABLE : this.readResult(operation, answer);
    const isKnown = result !== UNAVAILABLE;
    this.calls.push({
      client,
      operation,
      calledAt,
      answer: isKnown ? { at: this.moment++, result } : undefined,
    });
  }

  private makeRequest(operation: Operation): Request {
    if (operation.kind === 'create') return makeCreate(this.id, operation.body);
    if (operation.kind === 'list') {
      const tag = operation.tag === undefined ? '' : `&tag=${operation.tag}`;
      return { method: 'GET', path: `/plants?after=${this.id - 1n}&limit=1${tag}` };
    }
    const { condition } = operation;
    const path = `/plants/${this.id}`;
    const headers = condition && { [condition.header]: this.etags.get(condition.state) ?? '' };
    const request = { method: METHODS[operation.kind], path, headers };
    return 'body' in operation ? { ...request, body: operation.body } : request;
  }

  private readResult({ kind }: Operation, { status, headers, body: text }: Answer): Result {
    if (status >= 400) return String((JSON.parse(text) as { error: number }).error);
    if (status !== 200) return String(status);
    if (kind === 'list') return toOkResult(this.listed(text));
    if (kind !== 'read') return toOkResult(text);
    const plant = this.withoutId(text);
    const { etag = '' } = headers;
    const isNew = !this.etags.has(plant) && ![...this.etags.values()].includes(etag);
    if (isNew) this.etags.set(plant, etag);
    return this.etags.get(plant) === etag ? toOkResult(plant) : `200 with a wrong ETag ${plant}`;
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
