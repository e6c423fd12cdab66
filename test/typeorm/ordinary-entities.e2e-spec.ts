import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  BeforeInsert,
  Column,
  type EntitySubscriberInterface,
  Entity,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { BatchedRepository, int64, text } from 'durable-rest';
import { useEntityStore } from '../support/store.js';

@Entity('owners')
class Owner {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @OneToMany(() => Item, (item) => item.owner)
  items!: Item[];
}

@Entity('items')
class Item {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @ManyToOne(() => Owner, (owner) => owner.items)
  owner!: Relation<Owner>;

  @ManyToMany(() => Owner)
  @JoinTable()
  fans!: Owner[];
}

@Entity('listening')
class Listening {
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  name!: string;

  @BeforeInsert()
  setName(): void {
    this.name = 'set';
  }
}

@Entity('watched')
class Watched {
  @PrimaryColumn(int64())
  id!: string;
}

class WatchedSubscriber implements EntitySubscriberInterface<Watched> {
  listenTo(): typeof Watched {
    return Watched;
  }

  beforeInsert(): void {
    // It has nothing to do.
  }
}

/** Listens to every entity. */
class EverySubscriber implements EntitySubscriberInterface {
  afterUpdate(): void {
    // It has nothing to do.
  }
}

class QuerySubscriber implements EntitySubscriberInterface {
  beforeQuery(): void {
    // It has nothing to do.
  }
}

const store = useEntityStore([Owner, Item, Listening, Watched]);

it.each(['join', 'query'] as const)('relations are loaded by the strategy %s', async (strategy) => {
  const ids = ['1', '9007199254740993', '9223372036854775807'];
  const owners = store.dataSource.getRepository(Owner);
  const items = store.dataSource.getRepository(Item);
  await owners.save(ids.map((id) => ({ id })));
  await items.save(ids.map((id) => ({ id, owner: { id }, fans: [{ id }] })));
  const options = { relationLoadStrategy: strategy, order: { id: 'ASC' } } as const;
  expect(await owners.find({ ...options, relations: { items: true } })).toEqual(
    ids.map((id) => ({ id, items: [{ id }] })),
  );
  expect(await items.find({ ...options, relations: { owner: true, fans: true } })).toEqual(
    ids.map((id) => ({ id, owner: { id }, fans: [{ id }] })),
  );
});

it('a batched repository refuses an entity whose listener it would not call', () => {
  const repository = store.dataSource.getRepository(Listening);
  expect(() => new BatchedRepository(repository)).toThrow(
    'BatchedRepository would not call @BeforeInsert of setName() for Listening',
  );
});

it.each([WatchedSubscriber, EverySubscriber])(
  'a batched repository refuses an entity whose subscriber it would not call: %p',
  (Subscriber) => {
    store.dataSource.subscribers.push(new Subscriber());
    const repository = store.dataSource.getRepository(Watched);
    expect(() => new BatchedRepository(repository)).toThrow(
      `BatchedRepository would not call ${Subscriber.name} for Watched`,
    );
  },
);

it('a batched repository lets subscribers to statements and other entities be', () => {
  const { subscribers } = store.dataSource;
  subscribers.push(new QuerySubscriber(), new WatchedSubscriber());
  expect(new BatchedRepository(store.dataSource.getRepository(Owner))).toBeDefined();
});

it('a start is refused if a subscriber is added after the batched repository', async () => {
  const { dataSource } = store;
  const repository = {
    provide: BatchedRepository,
    useFactory: () => new BatchedRepository(dataSource.getRepository(Watched)),
  };
  const subscriber = {
    provide: WatchedSubscriber,
    inject: [BatchedRepository],
    useFactory: () => dataSource.subscribers.push(new WatchedSubscriber()),
  };
  @Module({ providers: [repository, subscriber] })
  class LateModule {}
  const start = NestFactory.createApplicationContext(LateModule, {
    logger: false,
    abortOnError: false,
  });
  await expect(start).rejects.toThrow('would not call WatchedSubscriber for Watched');
});
