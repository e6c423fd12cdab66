import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A plant in the store. */
@Entity('plants')
export class Plant {
  /** An int64 as a decimal string, since a JavaScript number cannot hold every one. */
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'text' })
  name!: string;

  @Column({ type: 'text', nullable: true })
  tag!: string | null;
}
