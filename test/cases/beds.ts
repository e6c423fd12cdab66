import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { int64, text } from 'durable-rest';

@Entity('beds')
export class Bed {
  @PrimaryColumn(int64()) id!: string;
  @Column(text()) name!: string;
}

/** Its reference is checked at the commit. */
@Entity('rows')
export class Row {
  @PrimaryColumn(int64()) id!: string;

  @ForeignKey(() => Bed, { deferrable: 'INITIALLY DEFERRED' })
  @Column(int64())
  bedId!: string;
}
