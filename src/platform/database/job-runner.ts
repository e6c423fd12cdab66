import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { randomUUID } from 'node:crypto';
import { BatchedRepository } from './batched-repository.js';
import type { StoreDataSource } from './data-source/store-data-source.js';
import { JobRun } from './jobs/job-run.entity.js';

/** How long a program has a job without saying that it goes on, in milliseconds. */
const HOLD_MS = 30_000;

/** Work that is done for one time. The signal aborts when the program stops or has lost the job. */
export type Work = (signal: AbortSignal) => Promise<void>;

/** Runs jobs once, however many programs use the store. */
@Injectable()
export class JobRunner implements BeforeApplicationShutdown {
  /** How often a program says that it goes on, and others ask whether it has ended, in milliseconds. */
  protected readonly renewMs: number = 5_000;
  private readonly runs: BatchedRepository<JobRun>;
  private readonly stopping = new AbortController();
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(@InjectDataSource() private readonly store: StoreDataSource) {
    this.runs = new BatchedRepository(store.getRepository(JobRun));
  }

  /**
   * Does a job for a time, unless a program has done it for that time or a later one. While another
   * program does it, this waits, and takes over where that one ends without success. Programs whose
   * clocks differ still agree on the time.
   *
   * @param name what the job is called in the store
   * @param dueAt the time that the job is for, such as the beginning of the day
   * @returns whether the work was done here
   * @throws what the work throws; another program then does the job, or this one when it is asked again
   */
  async runOnce(name: string, dueAt: Date, work: Work): Promise<boolean> {
    const run = this.waitAndRun(name, BigInt(dueAt.getTime()), work);
    this.underWay.add(run);
    return await run.finally(() => this.underWay.delete(run));
  }

  /** Aborts what is under way, and waits until it has ended: the store closes after that. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort(new Error('The program stops'));
    await Promise.allSettled(this.underWay);
  }

  private async waitAndRun(name: string, dueAt: bigint, work: Work): Promise<boolean> {
    const holder = randomUUID();
    while (!this.stopping.signal.aborted) {
      const state = await this.claim(name, dueAt, holder);
      if (state === 'done') return false;
      if (state === 'claimed') return await this.run(name, dueAt, holder, work);
      await this.sleep();
    }
    return false;
  }

  /** Ends early when the program stops. */
  private async sleep(): Promise<void> {
    const { signal } = this.stopping;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, this.renewMs);
      signal.addEventListener('abort', end);
    });
  }

  /** Takes the job where nobody has it. */
  private async claim(
    name: string,
    dueAt: bigint,
    holder: string,
  ): Promise<'claimed' | 'done' | 'held'> {
    const now = await this.store.readClock();
    let state: 'claimed' | 'done' | 'held' = 'held';
    await this.runs.change(name, (run) => {
      const isDone = BigInt(run?.doneFor ?? dueAt - 1n) >= dueAt;
      const isHeld = run?.holder != null && Number(run.heldUntil) > now;
      state = isDone ? 'done' : isHeld ? 'held' : 'claimed';
      if (state !== 'claimed') return undefined;
      return { name, doneFor: run?.doneFor ?? null, holder, heldUntil: String(now + HOLD_MS) };
    });
    return state;
  }

  private async run(name: string, dueAt: bigint, holder: string, work: Work): Promise<true> {
    const lost = new AbortController();
    const renewal = { at: performance.now() };
    const renewing = setInterval(() => void this.renew(name, holder, lost, renewal), this.renewMs);
    try {
      const signal = AbortSignal.any([lost.signal, this.stopping.signal]);
      // No event tells work that begins now.
      signal.throwIfAborted();
      await work(signal);
      lost.signal.throwIfAborted();
      await this.release(name, holder, String(dueAt));
      return true;
    } catch (error) {
      // Another program need not wait until the job is lost.
      await this.release(name, holder).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewing);
    }
  }

  /** @param renewal when the store was last told that the job goes on, by `performance.now()` */
  private async renew(
    name: string,
    holder: string,
    lost: AbortController,
    renewal: { at: number },
  ): Promise<void> {
    const began = performance.now();
    try {
      const now = await this.store.readClock();
      const heldUntil = String(now + HOLD_MS);
      const run = await this.runs.change(name, (current) =>
        current?.holder === holder ? { ...current, heldUntil } : undefined,
      );
      if (run?.holder === holder) renewal.at = began;
      else lost.abort(new Error(`Another program has taken the job ${name}`));
    } catch (error) {
      if (performance.now() - renewal.at < HOLD_MS) return;
      lost.abort(new Error(`The job ${name} could not be renewed in time`, { cause: error }));
    }
  }

  private async release(name: string, holder: string, doneFor?: string): Promise<void> {
    await this.runs.change(name, (run) =>
      run?.holder === holder
        ? { name, doneFor: doneFor ?? run.doneFor, holder: null, heldUntil: null }
        : undefined,
    );
  }
}
