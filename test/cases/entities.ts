import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { int64, text } from 'durable-rest';

// The entities that several suites have.

/** A row to which others refer. */
@Entity('gardens')
export class Garden {
  @PrimaryColumn(int64())
  id!: string;
}

/** A row whose key the store counts up. */
@Entity('numbers')
export class Numbered {
  @PrimaryGeneratedColumn({ type: 'bigint' })
  id!: string;

  @Column(text())
  name!: string;
}
