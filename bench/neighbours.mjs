import { createRequire } from 'node:module';
import process from 'node:process';

// Loaded before a built program, this adds a module that uses TypeORM as its documentation says:
// short transactions, and reads of some hundred milliseconds.

// The classes are those of the program, wherever it is.
const require = createRequire(process.argv[1]);
const { Controller, Get, Inject, Module, Post } = require('@nestjs/common');
const { DataSource } = require('typeorm');
const { AppModule } = require('./app.module.js');

const COUNTING = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
  SELECT count(*) FROM n`;

class Neighbours {
  constructor(dataSource) {
    this.dataSource = dataSource;
  }

  async change() {
    await this.dataSource.transaction(async (manager) => {
      const { name } = await manager.findOneByOrFail('Plant', { id: '1' });
      await manager.update('Plant', { id: '1' }, { name });
    });
  }

  async read() {
    return await this.dataSource.query(COUNTING);
  }
}

class NeighboursModule {}

const { change, read } = Object.getOwnPropertyDescriptors(Neighbours.prototype);
Controller('neighbours')(Neighbours);
Inject(DataSource)(Neighbours, undefined, 0);
Post()(Neighbours.prototype, 'change', change);
Get()(Neighbours.prototype, 'read', read);
Module({ controllers: [Neighbours] })(NeighboursModule);
const imports = Reflect.getMetadata('imports', AppModule);
Reflect.defineMetadata('imports', [...imports, NeighboursModule], AppModule);
