import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { date, int32, uuid } from 'durable-rest';
import { Variety } from '../varieties/variety.entity.js';

/** A planting in the store. */
@Entity('plantings')
export class Planting {
  @PrimaryColumn(uuid())
  gardenId!: string;

  // A migration creates the index, since indexes differ between engines.
  @Index('plantings_varietyId', { synchronize: false })
  @ForeignKey(() => Variety, { onDelete: 'CASCADE' })
  @PrimaryColumn(int32())
  varietyId!: number;

  @Index('plantings_plantedOn', { synchronize: false })
  @Column(date())
  plantedOn!: string;

  @Column(int32())
  quantity!: number;
}
