import { Column, Entity, PrimaryColumn } from 'typeorm';
import { int64, nullable, text } from './columns.js';

/** The state of a job that one of the programs on a store does. */
@Entity('job_runs')
export class JobRun {
  @PrimaryColumn(text())
  name!: string;

  /** The time for which the job was claimed last, in milliseconds since 1970. */
  @Column(nullable(int64()))
  doneFor!: string | null;
}
