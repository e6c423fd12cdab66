import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { bytes, int32, int64, oneOf, text } from '../../../src/platform/database/columns.js';
import { Plant } from '../../../src/modules/plants/plant.entity.js';

/** The photo of a plant, in the store. */
@Entity('photos')
export class Photo {
  @ForeignKey(() => Plant, { onDelete: 'CASCADE' })
  @PrimaryColumn(int64())
  plantId!: string;

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
