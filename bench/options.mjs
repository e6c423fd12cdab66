import { parseArgs } from 'node:util';
import { CONTESTANTS, SPECIAL } from './contestants.mjs';
import { LOAD_NAMES } from './load.mjs';

const NAMES = [...CONTESTANTS, ...SPECIAL].map(({ name }) => name);

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

/** @throws OptionError */
export function readOptions(args) {
  const { values } = parse(args);
  return {
    help: values.help === true,
    fixedRate: values['fixed-rate'] && readNumber(values, 'fixed-rate', 0),
    costs: values.costs,
    nodes: values.nodes?.split(','),
    life: values.life,
    postgres: values.postgres,
    neighbour: values.neighbour,
    changes: values.changes,
    postgresLife: values['postgres-life'],
    overload: values.overload,
    import: values.import,
    connections: readWholeNumber(values, 'connections', 64),
    rounds: readWholeNumber(values, 'rounds', 5),
    seconds: readNumber(values, 'seconds', 5),
    warmUp: readNumber(values, 'warm-up', 3),
    contestants: selectContestants(values.only),
    load: findLoad(values.load),
    folder: values.dir,
    chart: values.chart,
    json: values.json,
    record: values.record,
  };
}

function parse(args) {
  const string = { type: 'string' };
  const boolean = { type: 'boolean' };
  try {
    return parseArgs({
      args,
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
    });
  } catch (error) {
    throw new OptionError(`${error.message.split(/[\n.]/)[0]}: see --help`, { cause: error });
  }
}

function readNumber(values, name, otherwise) {
  const number = Number(values[name] ?? otherwise);
  if (values[name] === undefined || (number > 0 && number < Infinity)) return number;
  throw new OptionError(`--${name} must be a number above 0`);
}

function readWholeNumber(values, name, otherwise) {
  const number = readNumber(values, name, otherwise);
  if (Number.isInteger(number)) return number;
  throw new OptionError(`--${name} must be a whole number`);
}

function selectContestants(only) {
  return only?.split(',').map((name) => {
    const contestant = [...CONTESTANTS, ...SPECIAL].find((known) => known.name === name);
    if (contestant) return contestant;
    throw new OptionError(`--only takes names of: ${NAMES.join(', ')}`);
  });
}

function findLoad(name) {
  if (name === undefined || LOAD_NAMES.includes(name)) return name;
  throw new OptionError(`--load must be ${LOAD_NAMES.join(' or ')}`);
}
