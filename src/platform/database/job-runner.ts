import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { randomUUID } from 'node:crypto';
import { ApiError } from '../errors/api-error.js';
import { BatchedRepository } from './batched-repository.js';
import type { StoreDataSource } from './data-source/store-data-source.js';
import { JobRun } from './jobs/job-run.entity.js';
import { StoreUnavailableError } from './store-unavailable.error.js';

/** How long a program holds a job without renewing it, in milliseconds. */
const HOLD_MS = 30_000;
/** How often a program checks whether it still holds its job, in milliseconds. */
const CHECK_MS = 500;

/**
 * The work of a job for one due time. The signal aborts when the program stops or has lost the job.
 */
export type Work = (signal: AbortSignal) => Promise<void>;

/** Runs each job once for each due time, however many programs use the store. */
@Injectable()
export class JobRunner implements BeforeApplicationShutdown {
  /**
   * How often a program renews its job, and others check whether the job is free, in milliseconds.
   */
  protected readonly renewMs: number = 5_000;
  private readonly runs: BatchedRepository<JobRun>;
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<unknown>>();

  constructor(@InjectDataSource() private readonly store: StoreDataSource) {
    this.runs = new BatchedRepository(store.getRepository(JobRun));
  }

  /**
   * Runs a job that is due at a time, unless a program has run it for that time or a later one.
   * While another program runs it, this call waits, and takes over if that program fails. It also
   * waits while the store is unavailable. The clocks of the programs may differ: only that of the
   * store counts.
   *
   * @param name the name of the job in the store
   * @param dueAt the time when the job was due, such as the beginning of the day
   * @returns whether this call did the work
   * @throws the error of the work; another program then runs the job, or this one at the next call
   */
  async runOnce(name: string, dueAt: Date, work: Work): Promise<boolean> {
    const run = this.waitAndRun(name, BigInt(dueAt.getTime()), work);
    this.running.add(run);
    return await run.finally(() => this.running.delete(run));
  }

  /** Aborts running jobs and waits until they have ended, since the store closes next. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort(new Error('The program stops'));
    await Promise.allSettled(this.running);
  }

  private async waitAndRun(name: string, dueAt: bigint, work: Work): Promise<boolean> {
    const holder = randomUUID();
    while (!this.stopping.signal.aborted) {
      let began = 0;
      const state = await this.retry(() => {
        began = performance.now();
        return this.claim(name, dueAt, holder);
      }, this.stopping.signal);
      if (state === 'done') return false;
      if (state === 'claimed') return await this.run(name, dueAt, holder, began, work);
      await this.sleep();
    }
    return false;
  }

  /** Repeats an action while the store is unavailable, until a signal aborts. */
  private async retry<Result>(act: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    for (;;) {
      try {
        return await act();
      } catch (error) {
        if (signal.aborted || !isUnavailable(error)) throw error;
        await this.sleep();
      }
    }
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

  /** Takes the job if no program holds it. */
  private async claim(
    name: string,
    dueAt: bigint,
    holder: string,
  ): Promise<'claimed' | 'done' | 'held'> {
    const now = await this.store.readClock();
    let state: 'claimed' | 'done' | 'held' = 'held';
    await this.runs.change(name, (run) => {
      const isDone = BigInt(run?.doneFor ?? dueAt - 1n) >= dueAt;
      // A claim that seemed to fail may have been stored.
      const isHeld = run?.holder != null && run.holder !== holder && Number(run.heldUntil) > now;
      state = isDone ? 'done' : isHeld ? 'held' : 'claimed';
      if (state !== 'claimed') return undefined;
      return { name, doneFor: run?.doneFor ?? null, holder, heldUntil: String(now + HOLD_MS) };
    });
    return state;
  }

  /** @param heldSince before the hold began, by `performance.now()` */
  private async run(
    name: string,
    dueAt: bigint,
    holder: string,
    heldSince: number,
    work: Work,
  ): Promise<true> {
    const lost = new AbortController();
    const renewal = { at: heldSince };
    const renewing = setInterval(() => void this.renew(name, holder, lost, renewal), this.renewMs);
    const checking = setInterval(() => {
      // Another program may have the job when the next check would come.
      if (performance.now() - renewal.at < HOLD_MS - 2 * CHECK_MS) return;
      lost.abort(new Error(`The job ${name} could not be renewed in time`));
    }, CHECK_MS);
    try {
      const signal = AbortSignal.any([lost.signal, this.stopping.signal]);
      // Work that begins now would get no event of an abort that has happened already.
      signal.throwIfAborted();
      await work(signal);
      lost.signal.throwIfAborted();
      // Another program would repeat the work after a release that has failed.
      await this.retry(() => this.release(name, holder, String(dueAt)), signal);
      return true;
    } catch (error) {
      // Otherwise other programs would wait until the hold ends.
      await this.release(name, holder).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewing);
      clearInterval(checking);
    }
  }

  /** @param renewal the time of the last renewal, by `performance.now()` */
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
    } catch {
      // The next renewal may succeed in time.
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

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof StoreUnavailableError || (error instanceof ApiError && error.status === 503)
  );
}
