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
  private program: Program | undefined;
  private url = '';

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
    await this.start(STORE, tokens);
    await this.program?.printed(/"Migrating the schema from CreatePlants1763000000000 to /);
    await this.program?.printed(/"Migrated the schema in /);
    assert.equal(await this.send('GET', '/plants/9007199254740993', garden), 200);

    console.log('first alert: somebody guesses tokens');
    for (let guess = 0; guess < 3; guess++) {
      assert.equal(await this.send('GET', '/plants', { token: `guess-${guess}` }), 401);
    }
    assert.match(await this.scrape(garden), /^auth_failures_total\{reason="unknown"\} 3$/m);

    console.log('find who removed a plant');
    assert.equal(await this.send('DELETE', '/plants/1', shop), 204);
    const removal = /^\{.*"method":"DELETE","path":"\/plants\/1".*\}$/m;
    const [line = ''] = (await this.program?.printed(removal)) ?? [];
    assert.equal((JSON.parse(line) as { client?: string }).client, 'shop');

    console.log('restore after a lost disk');
    await this.command('db-backup', 'daily.db');
    await this.stop('SIGKILL');
    await rm(this.folder.file('data'), { recursive: true });
    await mkdir(this.folder.file('data'));
    await cp(this.folder.file('daily.db'), this.folder.file('data/plants.db'));
    await this.command('db-check');
    await this.start(STORE, tokens);
    assert.equal(await this.send('GET', '/plants/1', garden), 404);
    assert.equal(await this.send('GET', '/plants/9007199254740993', garden), 200);

    console.log('move to PostgreSQL');
    await this.stop('SIGTERM');
    await this.command('db-copy', STORE, this.postgresUrl);
    await this.start(this.postgresUrl, tokens);
    assert.equal(await this.send('GET', '/plants/-9223372036854775808', garden), 200);

    console.log('rotate a token');
    const next = await this.makeToken('garden-app');
    await this.restart(this.postgresUrl, [garden.entry, next.entry].join());
    for (const token of [garden, next]) assert.equal(await this.send('GET', '/plants', token), 200);
    await this.restart(this.postgresUrl, next.entry);
    assert.equal(await this.send('GET', '/plants', garden), 401);
    assert.equal(await this.send('GET', '/plants', next), 200);
    await this.stop('SIGTERM');
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

  private async start(DATABASE_URL: string, ACCESS_TOKENS: string): Promise<void> {
    this.program = this.folder.start({ NODE_ENV: 'production', DATABASE_URL, ACCESS_TOKENS });
    this.url = await this.program.listening();
  }

  private async stop(signal: NodeJS.Signals): Promise<void> {
    this.program?.kill(signal);
    await this.program?.exited();
  }

  private async restart(url: string, tokens: string): Promise<void> {
    await this.stop('SIGTERM');
    await this.start(url, tokens);
  }

  private async command(command: string, ...args: string[]): Promise<string> {
    const { exitCode, output, errors } = await this.folder.run(command, args, {
      DATABASE_URL: STORE,
    });
    assert.equal(exitCode, 0, errors);
    return output;
  }

  private async send(method: string, path: string, { token }: { token: string }): Promise<number> {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(this.url + path, { method, headers });
    await response.arrayBuffer();
    return response.status;
  }

  private async scrape({ token }: Token): Promise<string> {
    const headers = { Authorization: `Bearer ${token}` };
    return await (await fetch(`${this.url}/metrics`, { headers })).text();
  }
}
