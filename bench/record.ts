import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';
import type { LoadName } from './load.js';
import { flushCost } from './machine.js';
import { printedTables, type Table } from './table.js';

/**
 * Adds the printed tables to the measurements of this day, with the command and the machine.
 *
 * @param args of the command
 * @param folder where the databases were
 * @returns the path of the file
 */
export async function record(
  args: readonly string[],
  folder: string,
  loadName: LoadName,
): Promise<string> {
  const now = new Date().toISOString();
  const measurements = fileURLToPath(new URL('../docs/measurements/', import.meta.url));
  const day = now.slice(0, 10);
  const file = `${measurements}${day}.md`;
  const [processor] = os.cpus();
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const machine = [
    ['ended', now],
    ['processor', `${processor?.model.trim() ?? 'unknown'}, ${os.availableParallelism()} cores`],
    ['memory', `${Math.round(os.totalmem() / 2 ** 30)} GiB`],
    ['system', `${os.type()} ${os.release()}`],
    ['Node', process.version],
    ['versions', await describeVersions()],
    ['load', loadName],
    ['flush of 4 KiB', `${flushCost(folder).toFixed(2)} ms`],
  ];
  await mkdir(measurements, { recursive: true });
  const tables = [{ title: '', head: ['machine', ''], rows: machine }, ...printedTables];
  const before = existsSync(file) ? await readFile(file, 'utf8') : `# Measurements of ${day}`;
  const text = [before, `## \`${command}\``, ...tables.map(toMarkdown)].join('\n\n');
  const options = await prettier.resolveConfig(file);
  await writeFile(file, await prettier.format(text, { ...options, filepath: file }));
  return file;
}

/** Describes the versions of the program and of the peers. */
async function describeVersions(): Promise<string> {
  const read = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(new URL(file, import.meta.url), 'utf8'));
  const program = (await read('../package.json')) as { name: string; version: string };
  const bench = (await read('package.json')) as { dependencies: Record<string, string> };
  return Object.entries({ [program.name]: program.version, ...bench.dependencies })
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function toMarkdown({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const lines = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
  return title === '' ? lines : `${title}:\n\n${lines}`;
}
