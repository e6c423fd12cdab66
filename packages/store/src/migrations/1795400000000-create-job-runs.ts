import { int64, nullable, text } from '../entities/columns.js';
import { CreateTable } from './create-table.js';

export class CreateJobRuns1795400000000 extends CreateTable({
  name: 'job_runs',
  columns: { name: text(), doneFor: nullable(int64()) },
  key: ['name'],
}) {}
