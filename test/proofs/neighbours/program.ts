import type { NestExpressApplication } from '@nestjs/platform-express';
import { writeSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { DataSource } from 'typeorm';
import { Neighbours } from './neighbour-load.js';

// The built program on PORT, with other writing modules if FIRST_ID is set. They print a line for
// the outcome of each transaction before they continue.

interface BuiltProgram {
  readonly createApp: () => Promise<NestExpressApplication>;
}

const DIST = new URL('../../../dist/app.js', import.meta.url).href;
const { createApp } = (await import(DIST)) as BuiltProgram;
const app = await createApp();
await app.listen(Number(process.env.PORT), '127.0.0.1');
const { port } = app.getHttpServer().address() as AddressInfo;
writeSync(1, `Listening on http://127.0.0.1:${port},\n`);

const { FIRST_ID } = process.env;
const neighbours =
  FIRST_ID === undefined
    ? undefined
    : new Neighbours(app.get(DataSource), Number(FIRST_ID), (entry) => {
        writeSync(1, `${JSON.stringify(entry)}\n`);
      });

process.once('SIGTERM', () => {
  void Promise.resolve(neighbours?.stop())
    .then(() => app.close())
    .then(() => process.exit());
});
