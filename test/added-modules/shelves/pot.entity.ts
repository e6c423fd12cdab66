import { Column, Entity, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm';
import { Plant } from '../plants/plant.entity.js';
import { Shelf } from './shelf.entity.js';

@Entity('pots')
export class Pot {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ default: 1 })
  size!: number;

  @ManyToOne(() => Shelf, (shelf) => shelf.pots)
  shelf!: Relation<Shelf>;

  @ManyToOne(() => Plant, { nullable: true, onDelete: 'SET NULL' })
  plant!: Relation<Plant> | null;
}
