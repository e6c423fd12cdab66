import { date, int32, int64, uuid } from '../../../../src/platform/database/columns.js';
import { CreateTable } from '../../../../src/platform/database/migration-steps.js';

export class CreatePlantings1795600000002 extends CreateTable({
  name: 'plantings',
  columns: { gardenId: uuid(), plantId: int64(), plantedOn: date(), quantity: int32() },
  key: ['gardenId', 'plantId'],
  references: { plantId: { table: 'plants', onDelete: 'CASCADE' } },
  indexes: {
    plantings_plantId: ['plantId', 'gardenId'],
    plantings_plantedOn: ['plantedOn', 'gardenId', 'plantId'],
  },
}) {}
