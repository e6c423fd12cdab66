import { parseArgs } from 'node:util';
import { CONTESTANTS, SPECIAL } from './contestants.mjs';
import { LOAD_NAMES } from './load.mjs';

const NAMES = [...CONTESTANTS, ...SPECIAL].map(({ name }) => name);

export const HELP = `Usage: npm run bench -- [options]

Without an option below: creates/s of Plant Store and of its peers, side by side, and
the chart bench/chart.svg if nothing else is asked for.

What to measure (several may be given):
  --fixed-rate N       latencies at N creates a second, whether the answers keep up or not
  --start              from the start to the first create
  --memory             resident memory after each million creates
  --rows               creates/s by rows in the table, for ascending and for random ids
  --costs              what logging costs
  --nodes FILES        creates/s on other releases of Node, whose binaries these are, comma-separated
  --tokens             what a JWT and a rate limit cost
  --life               reads, pages, replaces and removes a second, of Plant Store and of its peers
  --mixed              reads and creates a second, alone and together
  --big-table          pages at both ends of a big table, by tag, and as an export
  --tag-index          creates/s with and without the index on tags
  --postgres           creates/s on a PostgreSQL server: one replica, two, and a peer
  --neighbour          creates/s beside a module that saves 100 rows a second, which must
                       be 0.8 of those alone
  --postgres-life      as --life, on a PostgreSQL server
  --overload           what happens at 0.5 to 10 times the load that a slow disk allows

How:
  --connections N      connections to make requests on (64)
  --rounds N           rounds, or starts (5)
  --seconds N          seconds of a measured run (5)
  --warm-up N          seconds before each measured run (3)
  --only NAMES         contestants, comma-separated, the one that ratios are of first:
                       ${NAMES.slice(0, 4).join(', ')},
                       ${NAMES.slice(4).join(', ')}
                       (all but the last; for --life those that have it all;
                       for --fixed-rate, --start and --mixed the first)
  --millions LIST      with --memory the creates (2), with --rows the rows (0,1,10),
                       with --big-table the rows (1)
  --load TOOL          ${LOAD_NAMES.join(' or ')} (wrk where it is installed)
  --dir FOLDER         where databases go; its disk is what is measured (bench/data)
  --chart FILE         draw the comparison
  --json FILE          write every figure
  --help               print this`;

/** The message is one line for the reader. */
export class OptionError extends Error {}

/** @throws OptionError */
export function readOptions(args) {
  const { values } = parse(args);
  return {
    help: values.help === true,
    fixedRate: values['fixed-rate'] && numberOf(values, 'fixed-rate', 0),
    start: values.start,
    memory: values.memory,
    rows: values.rows,
    costs: values.costs,
    nodes: values.nodes?.split(','),
    tokens: values.tokens,
    life: values.life,
    mixed: values.mixed,
    bigTable: values['big-table'],
    tagIndex: values['tag-index'],
    postgres: values.postgres,
    neighbour: values.neighbour,
    postgresLife: values['postgres-life'],
    overload: values.overload,
    connections: wholeOf(values, 'connections', 64),
    rounds: wholeOf(values, 'rounds', 5),
    seconds: numberOf(values, 'seconds', 5),
    warmUp: numberOf(values, 'warm-up', 3),
    contestants: contestantsOf(values.only),
    millions: listOf(values.millions),
    load: loadOf(values.load),
    folder: values.dir,
    chart: values.chart,
    json: values.json,
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
        start: boolean,
        memory: boolean,
        rows: boolean,
        costs: boolean,
        nodes: string,
        tokens: boolean,
        life: boolean,
        mixed: boolean,
        'big-table': boolean,
        'tag-index': boolean,
        postgres: boolean,
        neighbour: boolean,
        'postgres-life': boolean,
        overload: boolean,
        connections: string,
        rounds: string,
        seconds: string,
        'warm-up': string,
        only: string,
        millions: string,
        load: string,
        dir: string,
        chart: string,
        json: string,
        help: boolean,
      },
    });
  } catch (error) {
    throw new OptionError(`${error.message.split(/[\n.]/)[0]}: see --help`, { cause: error });
  }
}

function numberOf(values, name, otherwise) {
  const number = Number(values[name] ?? otherwise);
  if (values[name] === undefined || (number > 0 && number < Infinity)) return number;
  throw new OptionError(`--${name} must be a number above 0`);
}

function wholeOf(values, name, otherwise) {
  const number = numberOf(values, name, otherwise);
  if (Number.isInteger(number)) return number;
  throw new OptionError(`--${name} must be a whole number`);
}

function contestantsOf(only) {
  return only?.split(',').map((name) => {
    const contestant = [...CONTESTANTS, ...SPECIAL].find((known) => known.name === name);
    if (contestant) return contestant;
    throw new OptionError(`--only takes names of: ${NAMES.join(', ')}`);
  });
}

function listOf(text) {
  const list = text?.split(',').map((item) => (item.trim() === '' ? NaN : Number(item)));
  if (list === undefined || list.every((number) => number >= 0 && number <= 1_000)) return list;
  throw new OptionError('--millions must be numbers from 0 to 1000, comma-separated');
}

function loadOf(name) {
  if (name === undefined || LOAD_NAMES.includes(name)) return name;
  throw new OptionError(`--load must be ${LOAD_NAMES.join(' or ')}`);
}
