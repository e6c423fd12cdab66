import { parseArgs } from 'node:util';
import { OPERATION_NAMES, type OperationName } from './operations.js';

export const HELP = `Usage: npm run bench -- [operations] [options]

Measures how many requests per second Plant Store and its peers answer, side by side, and how much
processor time each request costs them.

Operations: ${OPERATION_NAMES.join(' ')} (create)

  --engine NAME        sqlite or postgres (sqlite)
  --against FOLDER     compares with another build of the program, FOLDER/dist, instead of the peers
  --rows N             plants in the table at the start (1000000; 0 for creates and imports alone)
  --connections N      connections to make requests on (64)
  --rounds N           rounds (5; with --against 12)
  --seconds N          seconds of a measured run (5; with --against 1.5)
  --warm-up N          seconds under load before the first round of each operation (3)
  --dir FOLDER         where databases go; its disk is what is measured (bench/data)
  --help               prints this`;

/** The message is one line for the reader. */
export class OptionError extends Error {}

export interface Options {
  readonly operations: readonly OperationName[];
  readonly engine: 'sqlite' | 'postgres';
  readonly against: string | undefined;
  readonly rows: number;
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly folder: string | undefined;
  readonly help: boolean;
}

/** @throws OptionError */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const { engine, against, dir, help = false } = values;
  if (engine !== 'sqlite' && engine !== 'postgres') {
    throw new OptionError('--engine must be sqlite or postgres');
  }
  const unknown = positionals.find((name) => !OPERATION_NAMES.some((known) => known === name));
  if (unknown !== undefined) throw new OptionError(`there is no operation ${unknown}: see --help`);
  const asked = positionals.length === 0 ? ['create'] : positionals;
  const operations = OPERATION_NAMES.filter((name) => asked.includes(name));
  const needsRows = operations.some((name) => name !== 'create' && name !== 'import');
  const isAgainst = against !== undefined;
  return {
    operations,
    engine,
    against,
    rows: readNumber('rows', values.rows, needsRows ? 1_000_000 : 0),
    connections: readNumber('connections', values.connections, 64),
    rounds: readNumber('rounds', values.rounds, isAgainst ? 12 : 5),
    seconds: readNumber('seconds', values.seconds, isAgainst ? 1.5 : 5),
    warmUp: readNumber('warm-up', values['warm-up'], 3),
    folder: dir,
    help,
  };
}

function parse(args: readonly string[]) {
  const string = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        engine: { ...string, default: 'sqlite' },
        against: string,
        rows: string,
        connections: string,
        rounds: string,
        seconds: string,
        'warm-up': string,
        dir: string,
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    const [message = ''] = (error as Error).message.split(/[\n.]/);
    throw new OptionError(`${message}: see --help`, { cause: error });
  }
}

function readNumber(name: string, text: string | undefined, usual: number): number {
  const number = Number(text ?? usual);
  if (number >= 0 && number < Infinity) return number;
  throw new OptionError(`--${name} must be a number`);
}
