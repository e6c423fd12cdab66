import { bytes, int32, int64, oneOf, text } from '../../../../src/platform/database/columns.js';
import { CreateTable } from '../../../../src/platform/database/migration-steps.js';

export class CreatePhotos1795600000003 extends CreateTable({
  name: 'photos',
  columns: { plantId: int64(), type: oneOf(), length: int32(), hash: text(), data: bytes() },
  key: ['plantId'],
  references: { plantId: { table: 'plants', onDelete: 'CASCADE' } },
}) {}
