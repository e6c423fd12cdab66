import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { date, int32, int64, uuid } from '../../../src/platform/database/columns.js';
import { Plant } from '../../../src/modules/plants/plant.entity.js';

/** A planting in the store. */
@Entity('plantings')
export class Planting {
  @PrimaryColumn(uuid())
  gardenId!: string;

  // A migration creates the index, since indexes differ between engines.
  @Index('plantings_plantId', { synchronize: false })
  @ForeignKey(() => Plant, { onDelete: 'CASCADE' })
  @PrimaryColumn(int64())
  plantId!: string;

  @Index('plantings_plantedOn', { synchronize: false })
  @Column(date())
  plantedOn!: string;

  @Column(int32())
  quantity!: number;
}
