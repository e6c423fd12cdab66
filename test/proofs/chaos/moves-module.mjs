import { Controller, HttpException, Inject, Module, Post, Req } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { AppModule } from '../../../dist/app.module.js';

// Loaded into the program, it adds a module that uses transactions as TypeORM's documentation says.
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

class MovesModule {}

const move = Object.getOwnPropertyDescriptor(Moves.prototype, 'move');
Controller('moves')(Moves);
Inject(DataSource)(Moves, undefined, 0);
Req()(Moves.prototype, 'move', 0);
Post()(Moves.prototype, 'move', move);
Module({ controllers: [Moves] })(MovesModule);
const imports = Reflect.getMetadata('imports', AppModule);
Reflect.defineMetadata('imports', [...imports, MovesModule], AppModule);
