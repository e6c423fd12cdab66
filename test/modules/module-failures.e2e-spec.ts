import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Logger, Module } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { rename } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import { StoreUnavailableError } from '../../src/platform/database/store-unavailable.error.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';
import { ENGINE } from '../support/test-store.js';

const PLANT: Plant = { id: '1', name: 'n', tag: null };

/** Uses TypeORM as modules do, without catching errors. */
@Controller('neighbours')
class NeighboursController {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  @Get('save')
  async save(): Promise<Plant> {
    return await this.dataSource.getRepository(Plant).save(PLANT);
  }

  @Get('lose-connection')
  async loseConnection(): Promise<void> {
    await this.dataSource.query('SELECT pg_terminate_backend(pg_backend_pid())');
  }
}

@Module({ controllers: [NeighboursController] })
class NeighboursModule {}

const app = TestApp.forEach({}, NeighboursModule);
let logged: jest.Spied<Logger['error']>;

beforeEach(() => {
  logged = jest.spyOn(Logger.prototype, 'error');
});

afterEach(() => logged.mockRestore());

/** Sends a request that fails because of the store, and expects a 503 and a line in the log. */
async function expectUnavailable(path: string, reason: unknown): Promise<void> {
  const answer = await app.get(path, { 'X-Request-Id': 'the-request' });
  expectError(answer, 'UNAVAILABLE');
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(logged.mock.calls).toEqual([[{ requestId: 'the-request', err: reason }]]);
  const [[{ err }]] = logged.mock.calls as unknown as [[{ err: unknown }]];
  expect(err).toBeInstanceOf(StoreUnavailableError);
}

describe("a module's request that catches nothing is answered", () => {
  it('50300 while the store fails', async () => {
    if (ENGINE === 'postgres') {
      const driverError = expect.objectContaining({ code: '57P01' });
      await expectUnavailable(
        '/neighbours/lose-connection',
        expect.objectContaining({ driverError }),
      );
    } else {
      const file = app.storeUrl.replace('sqlite:', '');
      await rename(file, `${file}.away`);
      const message = expect.stringContaining('was removed, moved away or replaced');
      await expectUnavailable('/neighbours/save', expect.objectContaining({ message }));
      await rename(`${file}.away`, file);
    }
    expect((await app.get('/neighbours/save')).status).toBe(200);
    expect(await app.rows()).toEqual([PLANT]);
  });

  it('40999 when other rows refer to the row that it removes', async () => {
    await app.create('{"id":1,"name":"n"}');
    await app.query('CREATE TABLE labels ("plantId" bigint REFERENCES plants (id))');
    await app.query('INSERT INTO labels VALUES (1)');
    const message = 'Another row refers to this one';
    expectError(await app.delete('/plants/1'), { error: 40999, message }, message);
    expect(await app.rows()).toEqual([PLANT]);
  });
});
