import { parseArgs } from 'node:util';
import { type Contestant, CONTESTANTS, SPECIAL } from './contestants.js';
import { LOAD_NAMES, type LoadName } from './load.js';

const KNOWN = [...CONTESTANTS, ...SPECIAL];
const NAMES = KNOWN.map(({ name }) => name);

export const HELP = `Usage: npm run bench -- [options]

Without an option below: creates/s of Plant Store and of its peers, side by side, and
the chart bench/chart.svg if nothing else is asked for.

What to measure (several may be given):
  --fixed-rate N       latencies at N creates per second, whether the answers keep up or not
  --costs              what logging costs
  --nodes FILES        creates/s on other releases of Node, whose binaries these are, comma-separated
  --life               reads, pages, replaces and removes per second, of Plant Store and of its peers
  --postgres           creates/s on a PostgreSQL server: one replica, two, and a peer
  --neighbour          creates/s beside a module that saves 100 rows per second, which must
                       be 0.8 of those alone
  --changes            what the feed of changes costs, and how soon 1,000 listeners hear
  --postgres-life      as --life, on a PostgreSQL server
  --import             lines of an import per second, of Plant Store and of a peer, and what
                       an import leaves of single creates
  --overload           what happens at 0.5 to 10 times the load that a slow disk allows

How:
  --connections N      connections to make requests on (64)
  --rounds N           rounds (5)
  --seconds N          seconds of a measured run (5)
  --warm-up N          seconds before each measured run (3)
  --only NAMES         contestants, comma-separated, the one that ratios are of first:
                       ${NAMES.slice(0, 4).join(', ')},
                       ${NAMES.slice(4).join(', ')}
                       (all but the last; for --life those that have it all;
                       for --fixed-rate the first)
  --load TOOL          ${LOAD_NAMES.join(' or ')} (wrk where it is installed)
  --dir FOLDER         where databases go; its disk is what is measured (bench/data)
  --chart FILE         draw the comparison
  --json FILE          write every figure
  --record             add the tables and the machine to docs/measurements/<date>.md
  --help               print this`;

/** The message is one line for the reader. */
export class OptionError extends Error {}

export type Options = ReturnType<typeof readOptions>;
type Values = ReturnType<typeof parse>;

/** @throws OptionError */
export function readOptions(args: readonly string[]) {
  const values = parse(args);
  return {
    help: values.help === true,
    fixedRate: readNumber(values, 'fixed-rate'),
    costs: values.costs,
    nodes: values.nodes?.split(','),
    life: values.life,
    postgres: values.postgres,
    neighbour: values.neighbour,
    changes: values.changes,
    postgresLife: values['postgres-life'],
    overload: values.overload,
    import: values.import,
    connections: readWholeNumber(values, 'connections') ?? 64,
    rounds: readWholeNumber(values, 'rounds') ?? 5,
    seconds: readNumber(values, 'seconds') ?? 5,
    warmUp: readNumber(values, 'warm-up') ?? 3,
    contestants: values.only?.split(',').map(readContestant),
    load: readLoad(values.load),
    folder: values.dir,
    chart: values.chart,
    json: values.json,
    record: values.record,
  };
}

function parse(args: readonly string[]) {
  const string = { type: 'string' } as const;
  const boolean = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        'fixed-rate': string,
        costs: boolean,
        nodes: string,
        life: boolean,
        postgres: boolean,
        neighbour: boolean,
        changes: boolean,
        'postgres-life': boolean,
        overload: boolean,
        import: boolean,
        connections: string,
        rounds: string,
        seconds: string,
        'warm-up': string,
        only: string,
        load: string,
        dir: string,
        chart: string,
        json: string,
        record: boolean,
        help: boolean,
      },
    }).values;
  } catch (error) {
    const [message = ''] = (error as Error).message.split(/[\n.]/);
    throw new OptionError(`${message}: see --help`, { cause: error });
  }
}

type NumberName = 'fixed-rate' | 'connections' | 'rounds' | 'seconds' | 'warm-up';

function readNumber(values: Values, name: NumberName): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  throw new OptionError(`--${name} must be a number above 0`);
}

function readWholeNumber(values: Values, name: NumberName): number | undefined {
  const number = readNumber(values, name);
  if (number === undefined || Number.isInteger(number)) return number;
  throw new OptionError(`--${name} must be a whole number`);
}

function readContestant(name: string): Contestant {
  const contestant = KNOWN.find((known) => known.name === name);
  if (contestant) return contestant;
  throw new OptionError(`--only takes names of: ${NAMES.join(', ')}`);
}

function readLoad(name: string | undefined): LoadName | undefined {
  if (name === undefined) return undefined;
  const load = LOAD_NAMES.find((known) => known === name);
  if (load) return load;
  throw new OptionError(`--load must be ${LOAD_NAMES.join(' or ')}`);
}
