import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ProgramFolder } from '../../support/program.js';

/** The file of the store in its folder. */
const STORE = 'plants.db';
const COPY = 'neighbours-copy.db';
/** How long a visit holds a lock or a snapshot: twice as long as the program waits for a lock. */
const LONG_VISIT_SECONDS = 4;
/** How long a neighbour waits for a lock of the program, which has it nearly always on a slow disk. */
const PATIENCE_MS = 100_000;

/** Reads the same snapshot of the store twice, and lets others write in the meantime. */
const OPEN_READ = `
import sqlite3, sys, time
store = sqlite3.connect(sys.argv[1], timeout=${PATIENCE_MS / 1_000}, isolation_level=None)
store.execute('BEGIN')
count = 'SELECT count(*) FROM plants'
before = store.execute(count).fetchone()
time.sleep(${LONG_VISIT_SECONDS})
assert store.execute(count).fetchone() == before
`;

type Visit = () => Promise<unknown>;

/** Other processes that use the file of a SQLite store while the program does, as SQLite allows. */
export class Neighbours {
  private readonly visits: Readonly<Record<string, Visit>> = {
    select: () => this.shell(STORE, 'SELECT count(*) FROM plants'),
    insert: () => this.insert(),
    backup: () => this.copy(`.backup ${COPY}`),
    vacuum: () => this.copy(`VACUUM INTO '${COPY}'`),
    lock: () =>
      this.shell(STORE, 'BEGIN IMMEDIATE', `.shell sleep ${LONG_VISIT_SECONDS}`, 'COMMIT'),
    read: () => this.run('python3', '-c', OPEN_READ, STORE),
    'db:backup': () => this.copyWith(() => this.command('db-backup', COPY)),
    'db:check': () => this.command('db-check'),
  };
  private current = Promise.resolve();
  /** The plants that a neighbour has inserted. Their ids are negative, which those of no client are. */
  private inserted = 0;
  private count = 0;

  constructor(
    private readonly folder: ProgramFolder,
    private readonly faults: string[],
  ) {}

  /** Begins the next kind of visit when the one before has ended. It may last while the program is struck. */
  async visit(): Promise<void> {
    await this.current;
    const names = Object.keys(this.visits);
    const name = names[this.count % names.length] ?? '';
    this.current = this.make(name);
  }

  /** Ends the last visit, and checks that everything is stored that neighbours have inserted. */
  async leave(): Promise<void> {
    await this.current;
    const stored = await this.countInserted(STORE);
    if (stored !== this.inserted) {
      this.faults.push(`${stored} of ${this.inserted} plants of neighbours are stored`);
    }
  }

  summary(): string {
    return `${this.count} visits of neighbours, ${this.inserted} plants inserted`;
  }

  /** Makes a visit of one kind. */
  async make(name: string): Promise<void> {
    this.count++;
    try {
      await this.visits[name]?.();
    } catch (error) {
      this.faults.push(`a neighbour failed: ${name}: ${String(error)}`);
    }
  }

  private async insert(): Promise<void> {
    const id = -(this.inserted + 1);
    await this.shell(STORE, `INSERT INTO plants (id, name) VALUES (${id}, 'neighbour ${id}')`);
    this.inserted++;
  }

  private copy(statement: string): Promise<void> {
    return this.copyWith(() => this.shell(STORE, statement));
  }

  /** Makes a copy, which must be sound and have what was inserted before. */
  private async copyWith(make: Visit): Promise<void> {
    const inserted = this.inserted;
    await make();
    const integrity = await this.shell(COPY, 'PRAGMA integrity_check');
    if (integrity !== 'ok') throw new Error(`the copy is damaged: ${integrity}`);
    const copied = await this.countInserted(COPY);
    if (copied !== inserted) throw new Error(`the copy has ${copied} of ${inserted} plants`);
    await rm(this.folder.file(COPY));
  }

  private async countInserted(file: string): Promise<number> {
    return Number(await this.shell(file, 'SELECT count(*) FROM plants WHERE id < 0'));
  }

  /** Runs statements and commands in the shell of SQLite. */
  private shell(file: string, ...statements: string[]): Promise<string> {
    return this.run('sqlite3', '-bail', '-cmd', `.timeout ${PATIENCE_MS}`, file, ...statements);
  }

  private async command(name: string, ...args: string[]): Promise<void> {
    const { exitCode, errors } = await this.folder.run(name, args, {
      DATABASE_URL: `sqlite:${STORE}`,
    });
    if (exitCode !== 0) throw new Error(errors);
  }

  private async run(command: string, ...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(command, args, { cwd: this.folder.path });
    return stdout.trim();
  }
}
