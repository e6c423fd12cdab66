import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { bytes, int32, oneOf, text } from 'durable-rest';
import { Variety } from '../varieties/variety.entity.js';

/** The photo of a variety, in the store. */
@Entity('photos')
export class Photo {
  @ForeignKey(() => Variety, { onDelete: 'CASCADE' })
  @PrimaryColumn(int32())
  varietyId!: number;

  /** The media type. */
  @Column(oneOf())
  type!: string;

  @Column(int32())
  length!: number;

  /** The SHA-256 of the bytes, in base64url. */
  @Column(text())
  hash!: string;

  /** Pages, `find()` and changes give rows without it. */
  @Column(bytes())
  data?: Buffer;
}
