import { expect, it, jest } from '@jest/globals';
import { Controller, Get, Logger, Module } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { rename } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import { StoreUnavailableError } from 'durable-rest';
import { Plant } from '../fixtures/plant.entity.js';
import { ENGINE, expectError } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';

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

it('a module that catches nothing answers 50300 while the store fails', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error');
  const file = app.storeUrl.replace('sqlite:', '');
  const isFile = ENGINE === 'sqlite';
  if (isFile) await rename(file, `${file}.away`);
  const path = isFile ? '/neighbours/save' : '/neighbours/lose-connection';
  const answer = await app.get(path, { 'X-Request-Id': 'the-request' });
  if (isFile) await rename(`${file}.away`, file);
  expectError(answer, 'UNAVAILABLE');
  expect(answer.headers.get('retry-after')).toBe('1');
  const [[line]] = logged.mock.calls as unknown as [[{ requestId: string; err: unknown }]];
  expect(line).toMatchObject({
    requestId: 'the-request',
    err: isFile
      ? { message: expect.stringContaining('was removed, moved away or replaced') }
      : { driverError: { code: '57P01' } },
  });
  expect(line.err).toBeInstanceOf(StoreUnavailableError);
  expect(logged).toHaveBeenCalledTimes(1);
  logged.mockRestore();
  expect((await app.get('/neighbours/save')).status).toBe(200);
  expect(await app.rows()).toEqual([PLANT]);
});
