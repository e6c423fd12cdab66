import { CreateTable, date, int32, uuid } from 'durable-rest';

export class CreatePlantings1796000000002 extends CreateTable({
  name: 'plantings',
  columns: { gardenId: uuid(), varietyId: int32(), plantedOn: date(), quantity: int32() },
  key: ['gardenId', 'varietyId'],
  references: { varietyId: { table: 'varieties', onDelete: 'CASCADE' } },
  indexes: {
    plantings_varietyId: ['varietyId', 'gardenId'],
    plantings_plantedOn: ['plantedOn', 'gardenId', 'varietyId'],
  },
}) {}
