import { Column, Entity, PrimaryColumn } from 'typeorm';
import { int64, nullable, text } from '../columns.js';

/** The state of a job that runs once among all programs. */
@Entity('job_runs')
export class JobRun {
  @PrimaryColumn(text())
  name!: string;

  /** The time for which the job was done last, in milliseconds since 1970. */
  @Column(nullable(int64()))
  doneFor!: string | null;

  /** The program that does the job now. */
  @Column(nullable(text()))
  holder!: string | null;

  /**
   * When the program loses the job unless it renews it, in milliseconds since 1970 by the clock of
   * the store.
   */
  @Column(nullable(int64()))
  heldUntil!: string | null;
}
