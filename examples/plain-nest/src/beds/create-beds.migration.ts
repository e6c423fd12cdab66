import { CreateTable, int32, text, uuid } from 'durable-store';

export class CreateBeds1800000000000 extends CreateTable({
  name: 'beds',
  columns: { id: uuid(), name: text(), room: int32() },
  key: ['id'],
  unique: { beds_name: ['name'] },
  indexes: { beds_sorted: ['name', 'id'] },
}) {}
