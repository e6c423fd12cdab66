import type { EntityMetadata, TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { CanonicalTextTransformer, DecimalTransformer, jsonTransformer } from './columns.js';

const KEY_TYPES = ['integer', 'bigint', 'text', 'date', 'uuid'];
const COLUMN_TYPES = [...KEY_TYPES, 'boolean', 'timestamp with time zone', 'bytea'];

/** @throws TypeError with the reason why rows of this entity cannot be written in batches */
export function assertSupported(metadata: EntityMetadata): void {
  const { name, columns, primaryColumns } = metadata;
  const refuse = (reason: string): never => {
    throw new TypeError(
      `BatchedRepository takes the column types of columns.ts, and ${name} ${reason}: use TypeORM's own repository for it`,
    );
  };
  for (const column of columns) {
    const { propertyPath } = column;
    if (!hasSupportedType(column)) refuse(`has another type in ${propertyPath}`);
    if (!isWrittenAsGiven(column)) {
      refuse(`has ${propertyPath}, which the program does not write as it is given`);
    }
  }
  if (primaryColumns.length === 0) refuse('has no primary key');
  if (metadata.tableName === 'given_rows') {
    refuse('has a table with the name of the given rows in a statement');
  }
  for (const key of primaryColumns) {
    const isConverted = key.transformer instanceof DecimalTransformer;
    if (!KEY_TYPES.includes(String(key.type)) || isConverted) refuse('has a key of another type');
    if (isCounter(key) && primaryColumns.length > 1) refuse('counts up a part of its key');
  }
  if (metadata.foreignKeys.some(({ deferrable }) => deferrable !== undefined)) {
    refuse('has a deferrable foreign key, so that a commit could fail for a single row');
  }
}

function hasSupportedType({ type, transformer }: ColumnMetadata): boolean {
  const isOwnTransformer =
    transformer === jsonTransformer ||
    transformer instanceof DecimalTransformer ||
    transformer instanceof CanonicalTextTransformer;
  return COLUMN_TYPES.includes(String(type)) && (transformer === undefined || isOwnTransformer);
}

/** Whether the column is a property of the entity, whose value neither TypeORM nor the store makes. */
function isWrittenAsGiven(column: ColumnMetadata): boolean {
  if (column.isVirtual || column.isVirtualProperty) return false;
  if (column.embeddedMetadata !== undefined) return false;
  if (column.isVersion) return false;
  if (column.isCreateDate || column.isUpdateDate || column.isDeleteDate) return false;
  return column.asExpression === undefined && column.isInsert;
}

/** Whether the store counts up the values of a column. */
export function isCounter({
  isGenerated,
  generationStrategy,
}: Pick<ColumnMetadata | TableColumn, 'isGenerated' | 'generationStrategy'>): boolean {
  return isGenerated && generationStrategy === 'increment';
}

/** Whether the store computes the values of a column from other columns. */
export function isComputed({ generatedType }: TableColumn): boolean {
  return generatedType !== undefined;
}
