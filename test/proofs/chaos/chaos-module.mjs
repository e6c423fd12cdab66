import { Controller, HttpException, Inject, Module, Post, Req } from '@nestjs/common';
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { DataSource } from 'typeorm';
import { AppModule } from '../../../dist/app.module.js';

// Loaded into the program, it adds a module that uses transactions as TypeORM's documentation says,
// and one that reads files of the store, as it must not.

// A plant with a number as its name is an account, which counts its changes in its tag; a move from
// one to another leaves a plant as its receipt.
class Moves {
  constructor(dataSource) {
    this.dataSource = dataSource;
  }

  /** Moves between two accounts, or does so and rolls back. */
  async move(request) {
    const query = new URL(request.url, 'http://localhost').searchParams;
    const [receipt, from, to] = ['receipt', 'from', 'to'].map((name) => query.get(name));
    const quantity = Number(query.get('quantity'));
    const changes = [
      { id: from, more: -quantity },
      { id: to, more: quantity },
    ];
    // Always in the same order, so that opposite moves do not wait for each other.
    changes.sort((one, other) => Number(one.id) - Number(other.id));
    await this.dataSource.transaction(async (manager) => {
      await Promise.all([
        manager.transaction((nested) =>
          nested.insert('Plant', { id: receipt, name: `${from} ${to} ${quantity}` }),
        ),
        manager.transaction((nested) => emptyAndUndo(nested, changes[0].id)).catch(() => undefined),
      ]);
      for (const { id, more } of changes) {
        await manager
          .createQueryBuilder()
          .update('Plant')
          .set({
            name: () => 'CAST(CAST(name AS INTEGER) + :more AS TEXT)',
            tag: () => 'CAST(CAST(tag AS INTEGER) + 1 AS TEXT)',
          })
          .where('id = :id', { id, more })
          .execute();
        await sleep(Number(query.get('pauseMs')));
      }
      if (query.get('undo') === 'true') throw new HttpException('Undone', 409);
    });
  }
}

/** What it does must not be seen, and must not take the transactions beside it with it. */
async function emptyAndUndo(manager, id) {
  await manager.update('Plant', { id }, { name: '0' });
  throw new Error('Undone');
}

/** The ways in which a module may read a file. Each closes a descriptor of it. */
const WAYS = {
  copyFile: (file) => fs.promises.copyFile(file, 'copy'),
  cp: (file) => fs.promises.cp(file, 'copy'),
  createReadStream: (file) => once(fs.createReadStream(file).resume(), 'close'),
  open: (file) => fs.closeSync(fs.openSync(file)),
  readFile: (file) => fs.promises.readFile(file),
  Worker: (file) => {
    const code = "require('node:fs').readFileSync(require('node:worker_threads').workerData)";
    return once(new Worker(code, { eval: true, workerData: file }), 'exit');
  },
};

class Reads {
  async read(request) {
    const query = new URL(request.url, 'http://localhost').searchParams;
    await WAYS[query.get('way')](query.get('file'));
  }
}

/** Makes a class the controller of a path, with a method for POST. */
function makeController(type, path, method) {
  Controller(path)(type);
  Req()(type.prototype, method, 0);
  Post()(type.prototype, method, Object.getOwnPropertyDescriptor(type.prototype, method));
}

class ChaosModule {}

makeController(Moves, 'moves', 'move');
Inject(DataSource)(Moves, undefined, 0);
makeController(Reads, 'reads', 'read');
Module({ controllers: [Moves, Reads] })(ChaosModule);
const imports = Reflect.getMetadata('imports', AppModule);
Reflect.defineMetadata('imports', [...imports, ChaosModule], AppModule);
