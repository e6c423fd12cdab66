import { Column, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';
import {
  decimal,
  instant,
  json,
  nullable,
  oneOf,
  text,
} from '../../../src/platform/database/columns.js';
import type { Decimal } from '../../../src/platform/json/decimal.js';
import type { JsonText } from '../../../src/platform/json/json-text.js';

/** The values of kind. */
export const GARDEN_KINDS = ['flower', 'herb'] as const;
export type GardenKind = (typeof GARDEN_KINDS)[number];

/** A garden in the store. */
@Entity('gardens')
@Unique('gardens_name_key', ['name'])
export class Garden {
  /** A UUID of version 7, which the program generates. */
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column(text())
  name!: string;

  @Column(oneOf())
  kind!: GardenKind;

  // A migration creates the index, since indexes differ between engines.
  @Index('gardens_area', { synchronize: false })
  @Column(decimal(12, 2))
  area!: Decimal;

  @Column(instant())
  openedAt!: string;

  @Column(nullable(text()))
  note!: string | null;

  @Column(nullable(json()))
  details!: JsonText | null;
}
