import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { HttpAnswer } from '../../support/http/answer.js';
import type { HttpRequest } from '../../support/http/request.js';
import { AUTHORIZATION, makeEmptyRequest, makeRequest } from '../../support/plant-requests.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { ChangeLedger, Row, Write } from './change-ledger.js';

const CLIENTS = 32;
/** So few that clients often change the same plant at once. */
const PLANTS = 300;
const LONG_TRANSACTIONS = 2;
/** The longest pause in a long transaction, in milliseconds. */
const LONGEST_PAUSE_MS = 2_000;
/** The first id of the rows of long transactions. */
const LONG_IDS = 500_000_000;

type Send = (request: HttpRequest) => Promise<HttpAnswer | undefined>;

/** Clients that create, replace, patch and remove plants, and transactions of another program beside them. */
export class ChangeLoad {
  private isOver = false;
  private lastName = 0;
  private readonly loops: Promise<void>[];

  /** @param serverUrl the server for long transactions */
  constructor(
    private readonly ledger: ChangeLedger,
    private readonly random: SeededRandom,
    private readonly send: Send,
    serverUrl: string | undefined,
  ) {
    const clients = Array.from({ length: CLIENTS }, () => this.repeat(() => this.change()));
    const others = Array.from({ length: serverUrl === undefined ? 0 : LONG_TRANSACTIONS }, () =>
      this.repeat(() => this.transact(serverUrl ?? '')),
    );
    this.loops = [...clients, ...others];
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.loops);
  }

  private async repeat(step: () => Promise<void>): Promise<void> {
    while (!this.isOver) await step();
  }

  private async change(): Promise<void> {
    const { random } = this;
    const id = String(random.below(PLANTS));
    const method = random.pick('POST', 'POST', 'PUT', 'PATCH', 'DELETE');
    if (method === 'DELETE') {
      await this.ask({ effect: 'removed', id }, makeEmptyRequest(method, `/plants/${id}`));
      return;
    }
    const name = `name ${++this.lastName}`;
    const members = JSON.stringify({ name, tag: random.pick(undefined, '', 'indoor') }).slice(1);
    if (method === 'POST') {
      await this.ask({ effect: 'created', id, name }, makeRequest(`{"id":${id},${members}`));
      return;
    }
    const type = method === 'PUT' ? 'application/json' : 'application/merge-patch+json';
    const headers = [AUTHORIZATION, ['Content-Type', type]] as const;
    const request = makeRequest(`{${members}`, { method, target: `/plants/${id}`, headers });
    await this.ask({ effect: 'replaced', id, name }, request);
  }

  private async ask(write: Omit<Write, 'outcome'>, request: HttpRequest): Promise<void> {
    const began = Date.now();
    const answer = await this.send(request);
    const times = { began, ended: Date.now() };
    const { status = 503, body = '' } = answer ?? {};
    if (status >= 500) this.ledger.note({ ...write, began, outcome: 'unknown' });
    else if (status >= 400) this.ledger.note({ ...write, ...times, outcome: 'refused' });
    else {
      const row = status === 200 ? (JSON.parse(body) as Row) : undefined;
      this.ledger.note({ ...write, ...times, outcome: 'done', row });
    }
  }

  /** Creates two plants with a pause between them, and commits or rolls back. */
  private async transact(serverUrl: string): Promise<void> {
    const number = ++this.lastName;
    const name = `long ${number}`;
    const ids = [LONG_IDS + 2 * number, LONG_IDS + 2 * number + 1].map(String);
    const end = this.random.pick('COMMIT', 'ROLLBACK');
    const pause = this.random.below(LONGEST_PAUSE_MS);
    const client = new pg.Client(serverUrl);
    client.on('error', () => undefined);
    let outcome: Write['outcome'] = end === 'COMMIT' ? 'done' : 'refused';
    try {
      await client.connect();
      await client.query('BEGIN');
      for (const id of ids) {
        await client.query('INSERT INTO plants (id, name) VALUES ($1, $2)', [id, name]);
        await sleep(pause);
      }
      await client.query(end);
    } catch {
      if (outcome === 'done') outcome = 'unknown';
    }
    for (const id of ids) this.ledger.note({ effect: 'created', id, name, outcome });
    await client.end().catch(() => undefined);
  }
}
