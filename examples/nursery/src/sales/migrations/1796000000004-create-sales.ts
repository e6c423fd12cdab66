import {
  boolean,
  CreateTable,
  decimal,
  instant,
  int32,
  json,
  nullable,
  text,
  uuid,
} from 'durable-rest';

export class CreateSales1796000000004 extends CreateTable({
  name: 'sales',
  columns: {
    id: uuid(),
    varietyId: int32(),
    quantity: int32(),
    price: decimal(12, 2),
    isPaid: boolean(),
    soldAt: instant(),
    soldBy: nullable(text()),
    details: nullable(json()),
  },
  key: ['id'],
  references: { varietyId: { table: 'varieties', onDelete: 'RESTRICT' } },
  indexes: { sales_varietyId: ['varietyId', 'id'], sales_soldAt: ['soldAt', 'id'] },
}) {}
