import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';
import { flushCost } from './flush-cost.mjs';
import { printedTables } from './table.mjs';

/**
 * Adds the printed tables to the measurements of this day, with the command and the machine.
 *
 * @param {string[]} args of the command
 * @param {string} folder where the databases were
 * @returns {Promise<string>} the path of the file
 */
export async function record(args, { folder, loadName }) {
  const now = new Date().toISOString();
  const measurements = fileURLToPath(new URL('../docs/measurements/', import.meta.url));
  const day = now.slice(0, 10);
  const file = `${measurements}${day}.md`;
  const [{ model }] = os.cpus();
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const machine = [
    ['ended', now],
    ['processor', `${model.trim()}, ${os.availableParallelism()} cores`],
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
async function describeVersions() {
  const [program, bench] = await Promise.all(
    ['../package.json', 'package.json'].map(async (path) =>
      JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8')),
    ),
  );
  const versions = { [program.name]: program.version, ...bench.dependencies };
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function toMarkdown({ title, head, rows }) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const lines = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
  return title === '' ? lines : `${title}:\n\n${lines}`;
}
