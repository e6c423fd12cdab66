import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPERATION_NAMES, type OperationName } from './operations.js';

/** A program that is measured. It runs in a folder of its own. */
export interface Contestant {
  readonly title: string;
  /** The arguments of Node. */
  readonly args: readonly string[];
  readonly operations: readonly OperationName[];
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** @param folder has the built program in dist */
export function program(title: string, folder = here('..')): Contestant {
  const args = [path.resolve(folder, 'dist/main.js')];
  return { title, args, operations: OPERATION_NAMES };
}

function peer(file: string, title: string, operations = OPERATION_NAMES): Contestant {
  const args = ['--import', import.meta.resolve('tsx'), here(`peers/${file}`)];
  return { title, args, operations };
}

const SHIPPED = program('Plant Store');

/** The program is the first: ratios are relative to it. */
export const CONTESTANTS: Readonly<Record<'sqlite' | 'postgres', readonly Contestant[]>> = {
  sqlite: [
    SHIPPED,
    peer('fastify.mjs', 'Fastify + better-sqlite3'),
    peer(
      'nest-typeorm.ts',
      'Nest + TypeORM save()',
      OPERATION_NAMES.filter((name) => name !== 'import'),
    ),
  ],
  postgres: [SHIPPED, peer('fastify.mjs', 'Fastify + pg')],
};
