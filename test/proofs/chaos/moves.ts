import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../support/seeded-random.js';
import { makeCreate, toState } from './requests.js';
import type { AuditExport, Circumstances, Workload } from './load.js';

/** The accounts are the plants from the first to the last of these ids, the receipts come after. */
const FIRST_ACCOUNT = 1_000_000_000;
const ACCOUNTS = 6;
const ACCOUNT_IDS = Array.from({ length: ACCOUNTS }, (_, index) => String(FIRST_ACCOUNT + index));
const FIRST_RECEIPT = 1_000_001_000;
const LAST_RECEIPT = 1_999_999_999;
const AT_FIRST = 1_000;

const MOST_MOVED = 5;
/** The pause of a client after an answer. */
const LONGEST_PAUSE_MS = 50;

type Outcome = 'pending' | 'done' | 'undone';

/**
 * Transactions of a module, which move quantities between accounts and leave a receipt. Some are
 * rolled back by the module.
 */
export class Moves implements Workload {
  readonly clients = 4;
  private readonly accounts: Promise<void>;
  private readonly outcomes = new Map<string, Outcome>();
  private lastReceipt = FIRST_RECEIPT;

  constructor(
    private readonly load: Circumstances,
    private readonly random: SeededRandom,
  ) {
    this.accounts = this.createAccounts();
  }

  async step(): Promise<void> {
    await this.accounts;
    await this.move();
    await this.look();
    await sleep(this.random.below(LONGEST_PAUSE_MS));
  }

  startAudit(): AuditExport {
    const before = new Map(this.outcomes);
    return (rows) => {
      for (const [receipt, outcome] of before) {
        if (outcome === 'done' && !rows.has(receipt)) {
          this.load.faults.push(`an acknowledged transaction is lost: that of ${receipt}`);
        }
        if (outcome === 'undone' && rows.has(receipt)) {
          this.load.faults.push(`a transaction that was rolled back is stored: that of ${receipt}`);
        }
      }
    };
  }

  /** Compares the accounts with the receipts. */
  finish(rows: ReadonlyMap<string, string>): void {
    const wanted = new Map(ACCOUNT_IDS.map((id) => [id, { quantity: AT_FIRST, changes: 0 }]));
    const change = (account: string, more: number): void => {
      const { quantity, changes } = wanted.get(account) ?? { quantity: NaN, changes: NaN };
      wanted.set(account, { quantity: quantity + more, changes: changes + 1 });
    };
    for (const [id, state] of rows) {
      if (Number(id) <= FIRST_RECEIPT || Number(id) > LAST_RECEIPT) continue;
      const { name } = JSON.parse(state) as { name: string };
      const [from = '', to = '', quantity] = name.split(' ');
      change(from, -Number(quantity));
      change(to, Number(quantity));
    }
    for (const [account, { quantity, changes }] of wanted) {
      const [row, state] = [rows.get(account), writeAccount(quantity, changes)];
      if (row === state) continue;
      this.load.faults.push(
        `half a transaction: ${account} is ${row}, and ${state} by its receipts`,
      );
    }
  }

  summary(): string {
    const outcomes = [...this.outcomes.values()];
    const count = (one: Outcome): number => outcomes.filter((outcome) => outcome === one).length;
    return `${count('done')} moves done, ${count('undone')} undone, ${count('pending')} unknown`;
  }

  private async createAccounts(): Promise<void> {
    for (const account of ACCOUNT_IDS) {
      const request = makeCreate(BigInt(account), writeAccount(AT_FIRST, 0));
      while (![200, 409].includes((await this.load.send(request))?.status ?? 0));
    }
  }

  private async move(): Promise<void> {
    const { random } = this;
    const from = random.below(ACCOUNTS);
    const to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    const receipt = String(++this.lastReceipt);
    const isUndone = random.below(4) === 0;
    const query = new URLSearchParams({
      receipt,
      from: ACCOUNT_IDS[from] ?? '',
      to: ACCOUNT_IDS[to] ?? '',
      quantity: String(1 + random.below(MOST_MOVED)),
      pauseMs: String(random.below(this.load.longestMs)),
      undo: String(isUndone),
    });
    this.outcomes.set(receipt, isUndone ? 'undone' : 'pending');
    const answer = await this.load.send({ method: 'POST', path: `/moves?${String(query)}` });
    const { status = 503 } = answer ?? {};
    if (status === 201 && !isUndone) this.outcomes.set(receipt, 'done');
    else if (status !== 503 && !(status === 409 && isUndone)) {
      this.load.faults.push(`a wrong answer: a move -> ${status} ${answer?.body ?? ''}`);
    }
  }

  /** Checks the accounts as one statement reads them: a move changes two or none. */
  private async look(): Promise<void> {
    const path = `/plants?after=${FIRST_ACCOUNT - 1}&limit=${ACCOUNTS}`;
    const answer = await this.load.send({ method: 'GET', path });
    if (answer?.status !== 200) return;
    const accounts = JSON.parse(answer.body) as { name: string }[];
    const sum = accounts.reduce((all, { name }) => all + Number(name), 0);
    if (sum === ACCOUNTS * AT_FIRST) return;
    this.load.faults.push(`half a transaction: the accounts hold ${sum}: ${answer.body}`);
  }
}

/** An account counts its changes in its tag, so that none of them can be missed. */
function writeAccount(quantity: number, changes: number): string {
  return toState({ name: String(quantity), tag: String(changes) });
}
