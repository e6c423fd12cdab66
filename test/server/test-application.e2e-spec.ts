import { expect, it } from '@jest/globals';
import { Module, type OnModuleInit } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { TestApp } from '../support/fixture-app.js';

@Module({})
class BrokenModule implements OnModuleInit {
  onModuleInit(): void {
    throw new Error('the cause');
  }
}

it('an application that does not start says why, and leaves no store', async () => {
  await expect(TestApp.start({}, BrokenModule)).rejects.toThrow('the cause');
  const file = process.env.DATABASE_URL?.replace('sqlite:', '') ?? '';
  expect(file).toMatch(/store\.db$/);
  expect(existsSync(file)).toBe(false);
});

it('an application that is started again keeps its environment', async () => {
  const app = await TestApp.start({ SWAGGER_UI: 'off' });
  await app.restart({ LOG_LEVEL: 'silent' });
  const { status } = await app.request('GET', '/docs');
  await app.close();
  expect(status).toBe(404);
});
