import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient } from '../../support/http/client.js';
import { makeCreateRequest } from '../../support/plant-requests.js';
import type { CrashLedger } from './crash-ledger.js';

const UNAVAILABLE = 50_300;
/** The time in `Retry-After`, in milliseconds. */
const RETRY_AFTER_MS = 1_000;

/** How creates are sent. */
interface Manner {
  readonly connections: number;
  /** The pause of a connection between an answer and the next create, in milliseconds. */
  readonly pauseMs?: number;
  /** Called with each answer, if the store may be unavailable for a time. */
  readonly onOutageAnswer?: (code: number, ms: number) => void;
}

/**
 * Connections that send creates one after another until the program has ended, or they are stopped.
 */
export class CrashLoad {
  private answers = 0;
  private isOver = false;
  private readonly faults: string[] = [];
  private readonly connections: Promise<void>[];

  constructor(
    private readonly url: URL,
    private readonly ledger: CrashLedger,
    private readonly manner: Manner,
  ) {
    this.connections = Array.from({ length: manner.connections }, () => this.send());
  }

  stop(): void {
    this.isOver = true;
  }

  /** Resolves once every connection has ended. */
  async stopped(): Promise<{ answers: number; faults: string[] }> {
    await Promise.all(this.connections);
    return { answers: this.answers, faults: this.faults };
  }

  private async send(): Promise<void> {
    const { pauseMs = 0, onOutageAnswer } = this.manner;
    const client = new HttpClient(this.url);
    while (!this.isOver) {
      const plant = this.ledger.next();
      const began = performance.now();
      const answer = await client.send(makeCreateRequest(plant)).catch(() => undefined);
      if (answer === undefined) {
        this.ledger.noAnswer(plant);
        break;
      }
      this.answers++;
      const { error = answer.status } = JSON.parse(answer.body) as { error?: number };
      onOutageAnswer?.(error, performance.now() - began);
      if (error === UNAVAILABLE && onOutageAnswer !== undefined) {
        this.ledger.noAnswer(plant);
        await sleep(RETRY_AFTER_MS);
      } else {
        const fault = this.ledger.answered(plant, error);
        if (fault !== undefined) this.faults.push(fault);
      }
      if (pauseMs > 0) await sleep(pauseMs);
    }
    client.close();
  }
}
