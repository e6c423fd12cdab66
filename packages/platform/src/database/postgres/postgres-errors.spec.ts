import { expect, it } from '@jest/globals';
import type { EntityMetadata } from 'typeorm';
import { findWritten } from '../data-source/driver-errors.js';
import { postgresErrors } from './postgres-errors.js';

const { toConstraintError } = postgresErrors;

function entity(tableName: string, columns: string[], foreignKeys: object[] = []): EntityMetadata {
  const named = columns.map((name) => ({ databaseName: name, propertyPath: `${name}Property` }));
  return { tableName, columns: named, foreignKeys } as unknown as EntityMetadata;
}

const gardens = entity('gardens', ['id', 'name', 'size']);
const before = { name: 'plantings_before', referencedEntityMetadata: { tableName: 'plantings' } };
const plantings = entity('plantings', ['id', 'before'], [before]);

/** The fields that matter of errors of a server whose lc_messages is de_DE. */
const TAKEN = {
  code: '23505',
  table: 'gardens',
  detail: 'Schlüssel »(name, size)=((a)=(b), 1)« existiert bereits.',
};
/** Its detail has a text in the form of a key, which a client has chosen. */
const EMPTY = {
  code: '23502',
  table: 'gardens',
  column: 'name',
  detail: 'Fehlgeschlagene Zeile enthält (id)=(, null, 1).',
};
const USED = {
  code: '23503',
  table: 'plantings',
  constraint: 'plantings_before',
  detail: 'Auf Schlüssel (id)=(1) wird noch aus Tabelle »plantings« verwiesen.',
};
const USED_BY_OTHERS = { ...USED, table: 'labels', constraint: 'labels_garden' };
const NAME = 'nameProperty';
const ID = 'idProperty';

it.each<[string, string, object, string, string[]]>([
  ['INSERT INTO "gardens"("name") VALUES ($1)', 'unique', TAKEN, 'gardens', [NAME, 'sizeProperty']],
  ['INSERT INTO "gardens"("id") VALUES ($1)', 'not null', EMPTY, 'gardens', [NAME]],
  ['DELETE FROM "plantings" WHERE "id" = $1', 'referenced', USED, 'plantings', [ID]],
  ['delete from only public.Gardens', 'referenced', USED_BY_OTHERS, 'gardens', [ID]],
  ['WITH a AS (SELECT 1) DELETE', 'referenced', { ...USED, code: '23001' }, 'plantings', [ID]],
])(
  'an error of a server in another language tells of %s that it violates: %s',
  (sql, kind, error, table, properties) => {
    const found = toConstraintError(error, [gardens, plantings], findWritten(sql));
    expect(found).toMatchObject({ kind, table, properties });
  },
);

it.each<[string, object | undefined]>([
  ['INSERT INTO "a b"("id") VALUES (1)', { table: 'a b', isRemoval: false }],
  ['UPDATE "s"."Plants" SET "id" = 1', { table: 'Plants', isRemoval: false }],
  ['\n delete from Plants where id = 1', { table: 'plants', isRemoval: true }],
  ['SELECT * FROM plants', undefined],
  ['COMMIT', undefined],
])('the table that a statement writes to is found: %j', (sql, written) => {
  expect(findWritten(sql)).toEqual(written);
});
