import { CreateTable, int64, text } from 'durable-rest';

export class CreateLabels1795880000001 extends CreateTable({
  name: 'labels',
  columns: { code: text(), plantId: int64() },
  key: ['code'],
  references: { plantId: { table: 'plants', onDelete: 'RESTRICT' } },
}) {}
