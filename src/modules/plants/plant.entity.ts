import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { int64, nullable, RecordChanges, text } from 'durable-rest';

/** A plant in the store. */
@Entity('plants')
@RecordChanges('plant')
export class Plant {
  /** An int64 as a decimal string, since a JavaScript number cannot hold every one. */
  @PrimaryColumn(int64())
  id!: string;

  // Migrations create the indexes, since they differ between engines.
  @Index('plants_name', { synchronize: false })
  @Column(text())
  name!: string;

  @Index('plants_tag', { synchronize: false })
  @Column(nullable(text()))
  tag!: string | null;
}
