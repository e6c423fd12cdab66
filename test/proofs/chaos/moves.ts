import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Send } from './replicas.js';
import { makeCreate, toState } from './requests.js';
import type { Workload } from './load.js';

/** The accounts are the plants from the first to the last of these ids, the receipts come after. */
const FIRST_ACCOUNT = 1_000_000_000;
const ACCOUNTS = 6;
const FIRST_RECEIPT = 1_000_001_000;
const LAST_RECEIPT = 1_999_999_999;
const AT_FIRST = 1_000;

const MOVERS = 4;
const MOST_MOVED = 5;
/** The pause of a client after an answer. */
const LONGEST_PAUSE_MS = 50;

type Outcome = 'pending' | 'done' | 'undone';

/**
 * Transactions of a module, which move quantities between accounts and leave a receipt. Some are
 * rolled back by the module.
 */
export class Moves implements Workload {
  readonly faults: string[] = [];
  private readonly outcomes = new Map<string, Outcome>();
  private lastReceipt = FIRST_RECEIPT;

  /** @param longestMs the longest pause within a transaction, in milliseconds */
  constructor(
    private readonly random: SeededRandom,
    private readonly send: Send,
    private readonly longestMs: number,
  ) {}

  async run(goesOn: () => boolean): Promise<void> {
    for (let account = 0; account < ACCOUNTS; account++) {
      const request = makeCreate(
        BigInt(FIRST_ACCOUNT + account),
        toState({ name: String(AT_FIRST) }),
      );
      while (![200, 409].includes((await this.send(request))?.status ?? 0));
    }
    const repeat = async (step: () => Promise<void>): Promise<void> => {
      while (goesOn()) {
        await step();
        await sleep(this.random.below(LONGEST_PAUSE_MS));
      }
    };
    const movers = Array.from({ length: MOVERS }, () => repeat(() => this.move()));
    await Promise.all([...movers, repeat(() => this.look())]);
    await this.look();
  }

  summary(): string {
    const outcomes = [...this.outcomes.values()];
    const count = (one: Outcome): number => outcomes.filter((outcome) => outcome === one).length;
    return `${count('done')} moves done, ${count('undone')} undone, ${count('pending')} unknown`;
  }

  /** Counts how often the moves with these receipts have changed each account. */
  static countChanges(rows: ReadonlyMap<string, string>): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [id, state] of rows) {
      if (!isReceipt(id)) continue;
      const { name } = JSON.parse(state) as { name: string };
      for (const account of name.split(' ').slice(0, 2)) {
        counts.set(account, (counts.get(account) ?? 0) + 1);
      }
    }
    return counts;
  }

  private async move(): Promise<void> {
    const { random } = this;
    const from = random.below(ACCOUNTS);
    const to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    const receipt = String(++this.lastReceipt);
    const isUndone = random.below(4) === 0;
    const query = new URLSearchParams({
      receipt,
      from: String(FIRST_ACCOUNT + from),
      to: String(FIRST_ACCOUNT + to),
      quantity: String(1 + random.below(MOST_MOVED)),
      pauseMs: String(random.below(this.longestMs)),
      undo: String(isUndone),
    });
    this.outcomes.set(receipt, isUndone ? 'undone' : 'pending');
    const answer = await this.send({ method: 'POST', path: `/moves?${String(query)}` });
    const { status = 503 } = answer ?? {};
    if (status === 201 && !isUndone) this.outcomes.set(receipt, 'done');
    else if (status !== 503 && !(status === 409 && isUndone)) {
      this.faults.push(`a wrong answer: a move -> ${status} ${answer?.body ?? ''}`);
    }
  }

  /** Checks what one statement reads: no move may be lost, or half done. */
  private async look(): Promise<void> {
    const before = new Map(this.outcomes);
    const path = `/moves?first=${FIRST_ACCOUNT}&last=${LAST_RECEIPT}`;
    let answer = await this.send({ method: 'GET', path });
    while (answer === undefined || answer.status === 503) {
      answer = await this.send({ method: 'GET', path });
    }
    const rows = JSON.parse(answer.body) as { id: string; name: string }[];
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    for (const [receipt, outcome] of before) {
      if (outcome === 'done' && !names.has(receipt)) {
        this.faults.push(`an acknowledged transaction is lost: that of ${receipt}`);
      }
      if (outcome === 'undone' && names.has(receipt)) {
        this.faults.push(`a transaction that was rolled back is stored: that of ${receipt}`);
      }
    }
    this.faults.push(...findHalves(names));
  }
}

/** Compares the accounts with the receipts, both by their ids. */
function findHalves(names: ReadonlyMap<string, string>): string[] {
  const wanted = new Map<string, number>();
  for (let account = FIRST_ACCOUNT; account < FIRST_ACCOUNT + ACCOUNTS; account++) {
    wanted.set(String(account), AT_FIRST);
  }
  for (const [id, name] of names) {
    if (!isReceipt(id)) continue;
    const [from = '', to = '', quantity] = name.split(' ');
    wanted.set(from, (wanted.get(from) ?? 0) - Number(quantity));
    wanted.set(to, (wanted.get(to) ?? 0) + Number(quantity));
  }
  return [...wanted]
    .filter(([account, quantity]) => names.get(account) !== String(quantity))
    .map(
      ([account, quantity]) =>
        `half a transaction: the account ${account} holds ${String(names.get(account))}, its receipts say ${quantity}`,
    );
}

function isReceipt(id: string): boolean {
  const number = Number(id);
  return number > FIRST_RECEIPT && number <= LAST_RECEIPT;
}
