import { HttpClient } from '../fuzz/http-client.js';
import { createOf } from '../fuzz/requests.js';
import type { CrashLedger } from './crash-ledger.js';

/** Connections that send creates one after another until the program is gone. */
export class CrashLoad {
  private answers = 0;
  private readonly faults: string[] = [];
  private readonly connections: Promise<void>[];

  constructor(
    private readonly url: URL,
    private readonly ledger: CrashLedger,
    connections: number,
  ) {
    this.connections = Array.from({ length: connections }, () => this.send());
  }

  /** Resolves once every connection has ended. */
  async stopped(): Promise<{ answers: number; faults: string[] }> {
    await Promise.all(this.connections);
    return { answers: this.answers, faults: this.faults };
  }

  private async send(): Promise<void> {
    const client = new HttpClient(this.url);
    for (;;) {
      const plant = this.ledger.next();
      const answer = await client.send(createOf(plant).request).catch(() => undefined);
      if (answer === undefined) {
        this.ledger.noAnswer(plant);
        break;
      }
      this.answers++;
      const { error = answer.status } = JSON.parse(answer.body.toString()) as { error?: number };
      const fault = this.ledger.answered(plant, error);
      if (fault !== undefined) this.faults.push(fault);
    }
    client.close();
  }
}
