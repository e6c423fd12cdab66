import { int32, text, uuid } from 'durable-store';
import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';

@Entity('beds')
@Unique('beds_name', ['name'])
export class Bed {
  @PrimaryColumn(uuid())
  id!: string;

  @Column(text())
  name!: string;

  /** How many more plants the bed has room for. */
  @Column(int32())
  room!: number;
}
