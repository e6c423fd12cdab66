import {
  Column,
  CreateDateColumn,
  Entity,
  OneToMany,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';
import { Pot } from './pot.entity.js';

/** An entity as TypeORM's documentation writes it. */
@Entity('shelves')
export class Shelf {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  name!: string;

  @CreateDateColumn()
  createdAt!: Date;

  @OneToMany(() => Pot, (pot) => pot.shelf)
  pots!: Relation<Pot[]>;
}
