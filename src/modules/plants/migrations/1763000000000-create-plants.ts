import { CreateTable, int64, nullable, text } from 'durable-rest';

export class CreatePlants1763000000000 extends CreateTable({
  name: 'plants',
  columns: { id: int64(), name: text(), tag: nullable(text()) },
  key: ['id'],
  indexes: {
    plants_name: [{ ignoringCase: 'name' }, 'id'],
    plants_tag: [{ ignoringCase: 'tag' }, 'id'],
  },
}) {}
