import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import {
  boolean,
  type Decimal,
  decimal,
  instant,
  int32,
  json,
  type JsonText,
  nullable,
  RecordChanges,
  text,
  uuid,
} from 'durable-rest';
import { Variety } from '../varieties/variety.entity.js';

/** A sale in the store. */
@Entity('sales')
@RecordChanges('sale')
export class Sale {
  @PrimaryColumn(uuid())
  id!: string;

  // A migration creates the indexes, since indexes differ between engines.
  @Index('sales_varietyId', { synchronize: false })
  @ForeignKey(() => Variety, { onDelete: 'RESTRICT' })
  @Column(int32())
  varietyId!: number;

  @Column(int32())
  quantity!: number;

  /** Of all of them together. */
  @Column(decimal(12, 2))
  price!: Decimal;

  @Column(boolean())
  isPaid!: boolean;

  @Index('sales_soldAt', { synchronize: false })
  @Column({ ...instant(), update: false })
  soldAt!: string;

  /** The client that has recorded the sale; null for a token without a name. */
  @Column(nullable(text()))
  soldBy!: string | null;

  /** Whatever the till has sent. */
  @Column(nullable(json()))
  details!: JsonText | null;
}
