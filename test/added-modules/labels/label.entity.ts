import { int64, text } from 'durable-rest';
import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Plant } from '../plants/plant.entity.js';

/** A plant with a label cannot be removed. */
@Entity('labels')
export class Label {
  @PrimaryColumn(text())
  code!: string;

  @ForeignKey(() => Plant, { onDelete: 'RESTRICT' })
  @Column(int64())
  plantId!: string;
}
