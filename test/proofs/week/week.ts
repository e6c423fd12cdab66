import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import sqlite3 from 'sqlite3';
import { PostgresServer } from '../../support/postgres-server.js';
import type { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import type { Proof } from '../proof.js';

const ROOT = new URL('../../../', import.meta.url);
const STORE = 'sqlite:data/plants.db';

/** Runs an operator's week with the commands of the documents, from 1.0.0 to PostgreSQL. */
export default (async () => {
  const folder = await ProgramFolder.create();
  const server = await PostgresServer.start();
  try {
    await new Week(folder, server.url()).run();
    return [];
  } finally {
    await folder.remove();
    await server.remove();
  }
}) satisfies Proof;

/** A token, and its entry for ACCESS_TOKENS. */
interface Token {
  readonly token: string;
  readonly entry: string;
}

/** An operator, who knows only the documents. */
class Week {
  private program!: Program;

  constructor(
    private readonly folder: ProgramFolder,
    private readonly postgresUrl: string,
  ) {}

  async run(): Promise<void> {
    const garden = await this.makeToken('garden-app');
    const shop = await this.makeToken('shop');
    const tokens = [garden.entry, shop.entry].join();

    console.log('upgrade from 1.0.0');
    await this.makeStoreOf('1.0.0');
    await this.command('db-backup', 'before-upgrade.db');
    this.start(STORE, tokens);
    await this.program.printed(/"Migrating the schema from CreatePlants1763000000000 to /);
    await this.program.printed(/"Migrated the schema in /);
    await this.expect(200, 'GET', '/plants/9007199254740993', garden);

    console.log('first alert: somebody guesses tokens');
    for (const guess of ['1', '2', '3']) await this.expect(401, 'GET', '/plants', { token: guess });
    const metrics = await this.expect(200, 'GET', '/metrics', garden);
    assert.match(metrics, /^auth_failures_total\{reason="unknown"\} 3$/m);

    console.log('find who removed a plant');
    await this.expect(204, 'DELETE', '/plants/1', shop);
    const removal = /^\{.*"method":"DELETE","path":"\/plants\/1".*\}$/m;
    const [line] = await this.program.printed(removal);
    assert.equal((JSON.parse(line) as { client?: string }).client, 'shop');

    console.log('restore after a lost disk');
    await this.command('db-backup', 'daily.db');
    await this.program.end('SIGKILL');
    await rm(this.folder.file('data'), { recursive: true });
    await mkdir(this.folder.file('data'));
    await cp(this.folder.file('daily.db'), this.folder.file('data/plants.db'));
    await this.command('db-check');
    this.start(STORE, tokens);
    await this.expect(404, 'GET', '/plants/1', garden);
    await this.expect(200, 'GET', '/plants/9007199254740993', garden);

    console.log('move to PostgreSQL');
    await this.program.end();
    await this.command('db-copy', STORE, this.postgresUrl);
    this.start(this.postgresUrl, tokens);
    await this.expect(200, 'GET', '/plants/-9223372036854775808', garden);

    console.log('rotate a token');
    const next = await this.makeToken('garden-app');
    await this.program.end();
    this.start(this.postgresUrl, [garden.entry, next.entry].join());
    for (const token of [garden, next]) await this.expect(200, 'GET', '/plants', token);
    await this.program.end();
    this.start(this.postgresUrl, next.entry);
    await this.expect(401, 'GET', '/plants', garden);
    await this.expect(200, 'GET', '/plants', next);
    assert.equal(await this.program.end(), 0);
  }

  private async makeToken(name: string): Promise<Token> {
    const output = await this.command('new-token', name);
    const [, token = ''] = /^For the client: +(\S+)$/m.exec(output) ?? [];
    const [, entry = ''] = /^For ACCESS_TOKENS: (\S+)$/m.exec(output) ?? [];
    assert.match(entry, new RegExp(`^${name}:sha256:[0-9a-f]{64}$`));
    return { token, entry };
  }

  private async makeStoreOf(version: string): Promise<void> {
    const sql = await readFile(new URL(`test/upgrades/${version}.sqlite.sql`, ROOT), 'utf8');
    await mkdir(this.folder.file('data'));
    const database = new sqlite3.Database(this.folder.file('data/plants.db'));
    await new Promise<void>((resolve, reject) => {
      database.exec(sql, (error) => (error === null ? resolve() : reject(error)));
    });
    await new Promise((resolve) => database.close(resolve));
  }

  private start(DATABASE_URL: string, ACCESS_TOKENS: string): void {
    this.program = this.folder.start({ NODE_ENV: 'production', DATABASE_URL, ACCESS_TOKENS });
  }

  private async command(command: string, ...args: string[]): Promise<string> {
    const ended = await this.folder.run(command, args, { DATABASE_URL: STORE });
    assert.equal(ended.exitCode, 0, ended.errors);
    return ended.output;
  }

  /** Sends a request that must get this status, and resolves with the body of the answer. */
  private async expect(
    status: number,
    method: string,
    path: string,
    { token }: { token: string },
  ): Promise<string> {
    const answer = await this.program.send(method, path, undefined, token);
    assert.equal(answer.status, status);
    return answer.text;
  }
}
