import { bytes, CreateTable, int32, oneOf, text } from 'durable-rest';

export class CreatePhotos1796000000003 extends CreateTable({
  name: 'photos',
  columns: { varietyId: int32(), type: oneOf(), length: int32(), hash: text(), data: bytes() },
  key: ['varietyId'],
  references: { varietyId: { table: 'varieties', onDelete: 'CASCADE' } },
}) {}
