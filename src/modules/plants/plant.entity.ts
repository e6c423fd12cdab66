import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A plant in the store. */
@Entity('plants')
export class Plant {
  /** An int64 as a decimal string, since a JavaScript number cannot hold every one. */
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'text' })
  name!: string;

  // Made by a migration, since it is not alike on every engine.
  @Index('plants_tag', { synchronize: false })
  @Column({ type: 'text', nullable: true })
  tag!: string | null;
}
