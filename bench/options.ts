import { parseArgs } from 'node:util';
import { OPERATION_NAMES, type OperationName } from './operations.js';

export const HELP = `Usage: npm run bench -- [operations] [options]

Measures how many requests per second Plant Store and its peers answer, side by side, and how much
processor time each request costs them. The load comes from wrk.

Operations: ${OPERATION_NAMES.join(' ')} (create)

  --engine NAME        sqlite or postgres (sqlite)
  --against FOLDER     compares with another build of the program, FOLDER/dist, instead of the peers
  --rows N             plants in the table at the start (200000)
  --connections N      connections to make requests on (64)
  --rounds N           rounds (6)
  --seconds N          seconds of a measured run (2)
  --help               prints this`;

export interface Options {
  readonly operations: readonly OperationName[];
  readonly engine: 'sqlite' | 'postgres';
  readonly against: string | undefined;
  readonly rows: number;
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly help: boolean;
}

/** @throws Error that names the wrong argument */
export function readOptions(args: string[]): Options {
  const string = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      engine: { ...string, default: 'sqlite' },
      against: string,
      rows: { ...string, default: '200000' },
      connections: { ...string, default: '64' },
      rounds: { ...string, default: '6' },
      seconds: { ...string, default: '2' },
      help: { type: 'boolean', default: false },
    },
  });
  const { engine, against, help } = values;
  if (engine !== 'sqlite' && engine !== 'postgres') {
    throw new Error('--engine must be sqlite or postgres');
  }
  const asked = positionals.length === 0 ? ['create'] : positionals;
  const operations = OPERATION_NAMES.filter((name) => asked.includes(name));
  if (operations.length < asked.length) throw new Error(`An operation is unknown:\n${HELP}`);
  const [rows = 0, connections = 0, rounds = 0, seconds = 0] = (
    ['rows', 'connections', 'rounds', 'seconds'] as const
  ).map((name) => {
    const number = Number(values[name]);
    if (number > 0 && number < Infinity) return number;
    throw new Error(`--${name} must be a positive number`);
  });
  return { operations, engine, against, rows, connections, rounds, seconds, help };
}
