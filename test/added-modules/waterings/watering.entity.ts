import {
  boolean,
  bytes,
  date,
  type Decimal,
  decimal,
  instant,
  int32,
  int64,
  json,
  type JsonText,
  nullable,
  oneOf,
  RecordChanges,
  text,
  uuid,
} from 'durable-rest';
import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { Plant } from '../plants/plant.entity.js';

export const METHODS = ['can', 'drip', 'mist'] as const;

/** It has a column of every type. */
@Entity('waterings')
@RecordChanges('watering')
@Unique('waterings_plant_day', ['plantId', 'day'])
export class Watering {
  @PrimaryColumn(uuid())
  id!: string;

  @ForeignKey(() => Plant, { onDelete: 'CASCADE' })
  @Column(int64())
  plantId!: string;

  @Index('waterings_day', { synchronize: false })
  @Column(date())
  day!: string;

  @Column(decimal(8, 2))
  litres!: Decimal;

  @Column(oneOf())
  method!: (typeof METHODS)[number];

  @Column(int32())
  minutes!: number;

  @Column(boolean())
  isPlanned!: boolean;

  @Column({ ...instant(), update: false })
  createdAt!: string;

  @Column(nullable(text()))
  note!: string | null;

  @Column(nullable(json()))
  readings!: JsonText | null;

  @Column(nullable(bytes()))
  photo!: Buffer | null;
}
