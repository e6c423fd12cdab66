import { describeCalls, isLinearizable } from './checker.js';
import { drawOperations, History } from './history.js';
import { ABSENT, type State } from './plant-register.js';
import type { AuditExport, Circumstances, Workload } from './load.js';

/** Checks that short histories of concurrent requests, each on an id of its own, are linearizable. */
export class Registers implements Workload {
  readonly clients = 32;
  private started = 0;
  private readonly ended: History[] = [];
  private readonly etags = new Map<State, string>();

  constructor(private readonly load: Circumstances) {}

  async step(): Promise<void> {
    const number = ++this.started;
    const history = new History(BigInt(number), this.etags);
    await history.run(drawOperations(this.load.seed + number), this.load.send);
    if (isLinearizable(history.calls)) this.ended.push(history);
    else this.report(history);
  }

  startAudit(): AuditExport {
    const ended = [...this.ended];
    return (rows) => {
      for (const history of ended) {
        const row = rows.get(String(history.id)) ?? ABSENT;
        if (!history.isLinearizableWith(row)) this.report(history, `, then exported as ${row}`);
      }
    };
  }

  summary(): string {
    const calls = this.ended.flatMap((history) => history.calls);
    const unknown = calls.filter(({ answer }) => answer === undefined).length;
    return `${this.ended.length} histories, ${calls.length} calls, ${unknown} unknown`;
  }

  private report({ id, calls }: History, more = ''): void {
    this.load.faults.push(`not linearizable: the id ${id}${more}\n${describeCalls(calls)}`);
  }
}
