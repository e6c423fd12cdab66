import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { drawCharts, listShares, rangeOf, select } from './charts.js';
import {
  COMPARED,
  type Engine,
  LOADS,
  type Measurement,
  PROGRAM,
  type Range,
  readResults,
  type Results,
  type Round,
  toRange,
} from './results.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCS = `${ROOT}docs/`;
const MICROSECONDS = 1_000_000;

/** Draws the charts and writes the tables of the documents from bench/results.json. */
export function writeFigures(): void {
  const results = readResults();
  for (const [file, svg] of Object.entries(drawCharts(results))) {
    writeFileSync(`${DOCS}images/${file}`, svg);
  }
  const { date, machine, node, versions, rows, seconds, measurements } = results;
  const rounds = measurements[0]?.rounds.length;
  const performance = 'performance.md';
  writeTable(performance, [
    ['measured', ''],
    ['date', date.slice(0, 10)],
    ['machine, with the load generator', machine],
    ['versions', `Node ${node.slice(1)}, ${versions.sqlite}, ${versions.postgres}`],
    ['plants at the start', rows.toLocaleString('en')],
    ['command', `\`npm run bench -- --publish --rounds ${rounds} --seconds ${seconds}\``],
  ]);
  writeTable(performance, listRates(results));
  writeTable(performance, listRatios(results, 'sqlite', 'SQLite'));
  writeTable(performance, listRatios(results, 'postgres', 'PostgreSQL'));
  writeTable(performance, listLoads(results));
  writeTable(performance, listShareRows(results));
  writeTable('scale.md', listParts(results));
  writeTable('scale.md', listExample(results));
  execFileSync('npx', ['prettier', '--log-level', 'warn', '--write', 'docs'], {
    cwd: ROOT,
  });
}

/** Replaces the table of a document that begins with these cells. Prettier aligns it. */
function writeTable(document: string, [head = [], ...rows]: string[][]): void {
  const lines = [head, head.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  const table = new RegExp(`^\\| ${head[0]} +\\|.*\\n\\| -.*\\n(?:\\|.*\\n)*`, 'm');
  const text = readFileSync(DOCS + document, 'utf8');
  if (!table.test(text)) throw new Error(`${document} has no table of ${head[0]}`);
  writeFileSync(DOCS + document, text.replace(table, lines.join('')));
}

/** The measurement of the program beside its peers. */
function findOwn(results: Results, engine: Engine, operation: string): Measurement | undefined {
  return select(results, 'peers', engine).find(
    (one) => one.operation === operation && one.contestant === PROGRAM,
  );
}

function listRates(results: Results): string[][] {
  const write = (engine: Engine, operation: string, value: keyof Round): string =>
    writeCount(rangeOf(findOwn(results, engine, operation), value).median);
  return [
    [
      'requests',
      'SQLite per second',
      'program µs',
      'PostgreSQL per second',
      'program µs',
      'server µs',
    ],
    ...COMPARED.map((operation) => [
      `${operation}s`,
      write('sqlite', operation, 'rate'),
      write('sqlite', operation, 'processorUs'),
      write('postgres', operation, 'rate'),
      write('postgres', operation, 'processorUs'),
      write('postgres', operation, 'serverUs'),
    ]),
  ];
}

/** The rates of the program divided by those of its peers in the same round. */
function listRatios(results: Results, engine: Engine, title: string): string[][] {
  const measured = select(results, 'peers', engine);
  const peers = [...new Set(measured.map((one) => one.contestant))].slice(1);
  const rows = COMPARED.map((operation) => {
    const own = findOwn(results, engine, operation)?.rounds ?? [];
    const ratios = peers.map((peer) => {
      const other = measured.find((one) => one.operation === operation && one.contestant === peer);
      const rates = other?.rounds.map(({ rate }) => rate) ?? [];
      return writeRange(toRange(own.map(({ rate }, round) => rate / (rates[round] ?? NaN))));
    });
    return [`${operation}s`, ...ratios];
  });
  return [[title, ...peers], ...rows];
}

/** The rates and the times of creates on different numbers of connections. */
function listLoads(results: Results): string[][] {
  const rows = LOADS.map((connections) => {
    const cells = (['sqlite', 'postgres'] as const).flatMap((engine) => {
      const load = select(results, 'load', engine).find((one) => one.connections === connections);
      return (['rate', 'medianMs', 'p99Ms'] as const).map((value) =>
        writeCount(rangeOf(load, value).median),
      );
    });
    return [connections.toLocaleString('en'), ...cells];
  });
  return [
    [
      'connections',
      'SQLite per second',
      'median ms',
      'p99 ms',
      'PostgreSQL per second',
      'median ms',
      'p99 ms',
    ],
    ...rows,
  ];
}

function listShareRows(results: Results): string[][] {
  const [sqlite, postgres] = [listShares(results, 'sqlite'), listShares(results, 'postgres')];
  const rows = [...sqlite].map(([title, share]) => {
    const other = postgres.get(title);
    return [title, writeRange(share), other === undefined ? '' : writeRange(other)];
  });
  return [['disturbed creates', 'on SQLite', 'on PostgreSQL'], ...rows];
}

/** The processor time of a request, and how many requests it allows one core. */
function listParts(results: Results): string[][] {
  const rows = COMPARED.map((operation) => {
    const own = findOwn(results, 'postgres', operation);
    const parts = (['processorUs', 'serverUs'] as const).flatMap((part) => {
      const { median } = rangeOf(own, part);
      return [`${writeCount(median)} µs`, `${writeCount(MICROSECONDS / median)}/s`];
    });
    return [`${operation}s`, ...parts];
  });
  return [
    ['request', 'program', 'one core of programs', 'server', 'one core of PostgreSQL'],
    ...rows,
  ];
}

/** The load of the example, in requests per second. */
const EXAMPLE = { create: 20_000, read: 30_000, page: 2_000 };

/** How many cores the load of the example takes in the programs and in the server. */
function listExample(results: Results): string[][] {
  const rows = Object.entries(EXAMPLE).map(([operation, rate]) => {
    const own = findOwn(results, 'postgres', operation);
    const [program = NaN, server = NaN] = (['processorUs', 'serverUs'] as const).map(
      (part) => (rate * rangeOf(own, part).median) / MICROSECONDS,
    );
    return { operation, rate, program, server };
  });
  const [program, server] = [
    rows.reduce((sum, row) => sum + row.program, 0),
    rows.reduce((sum, row) => sum + row.server, 0),
  ];
  return [
    ['load', 'per second', 'cores of programs', 'cores of PostgreSQL'],
    ...rows.map((row) => [
      `${row.operation}s`,
      row.rate.toLocaleString('en'),
      row.program.toFixed(2),
      row.server.toFixed(2),
    ]),
    ['sum', '', program.toFixed(2), server.toFixed(2)],
  ];
}

/** Writes two digits, as many as the rounds agree on. */
function writeCount(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 2 });
}

function writeRange({ median, least, most }: Range): string {
  const [middle, low, high] = [median, least, most].map((value) =>
    value.toLocaleString('en', { minimumSignificantDigits: 2, maximumSignificantDigits: 2 }),
  );
  return `${middle} (${low} to ${high})`;
}

// npm run openapi runs this file, and npm run bench -- --publish imports it.
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFigures();
