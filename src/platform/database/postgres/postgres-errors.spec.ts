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
const plantings = entity(
  'plantings',
  ['id', 'garden', 'before'],
  [
    { name: 'plantings_garden', referencedEntityMetadata: gardens },
    { name: 'plantings_before', referencedEntityMetadata: { tableName: 'plantings' } },
  ],
);

/** The fields that matter of errors of a server whose lc_messages is de_DE. */
const TAKEN = {
  code: '23505',
  table: 'gardens',
  constraint: 'gardens_name',
  detail: 'Schlüssel »(name, size)=((a)=(b), 1)« existiert bereits.',
};
const EMPTY = { code: '23502', table: 'gardens', column: 'name' };
const MISSING = {
  code: '23503',
  table: 'plantings',
  constraint: 'plantings_garden',
  detail: 'Schlüssel (garden)=(1) ist nicht in Tabelle »gardens« vorhanden.',
};
const USED = {
  code: '23503',
  table: 'plantings',
  constraint: 'plantings_garden',
  detail: 'Auf Schlüssel (id)=(1) wird noch aus Tabelle »plantings« verwiesen.',
};
const USED_BY_ITSELF = { ...USED, constraint: 'plantings_before' };

it.each<[string, object, string, object]>([
  [
    'a value that is taken',
    TAKEN,
    'INSERT INTO "gardens"("name") VALUES ($1)',
    { kind: 'unique', table: 'gardens', properties: ['nameProperty', 'sizeProperty'] },
  ],
  [
    'a value that is left out of a row with a text in the form of a key',
    { ...EMPTY, detail: 'Fehlgeschlagene Zeile enthält (id)=(, null, 1).' },
    'INSERT INTO "gardens"("id") VALUES ($1)',
    { kind: 'not null', table: 'gardens', properties: ['nameProperty'] },
  ],
  [
    'a new row that refers to a missing one',
    MISSING,
    'INSERT INTO "plantings"("garden") VALUES ($1)',
    { kind: 'foreign key', table: 'plantings', properties: ['gardenProperty'] },
  ],
  [
    'the removal of a row to which its own table refers',
    USED_BY_ITSELF,
    'DELETE FROM "plantings" WHERE "id" = $1',
    { kind: 'referenced', table: 'plantings', properties: ['idProperty'] },
  ],
  [
    'the removal of a row to which a table without an entity refers',
    { ...USED, table: 'labels', constraint: 'labels_garden' },
    'delete from only public.Gardens where id = 1',
    { kind: 'referenced', table: 'gardens', properties: ['idProperty'] },
  ],
  [
    'a removal that ON DELETE RESTRICT prevents',
    { ...USED, code: '23001' },
    'WITH old AS (SELECT 1) DELETE FROM gardens',
    { kind: 'referenced', table: 'gardens', properties: ['idProperty'] },
  ],
])('an error of a server in another language tells %s', (_, error, sql, expected) => {
  const found = toConstraintError(error, [gardens, plantings], findWritten(sql));
  expect(found).toMatchObject(expected);
});

it.each<[string, object | undefined]>([
  ['INSERT INTO "a b"("id") VALUES (1)', { table: 'a b', isRemoval: false }],
  ['UPDATE "s"."Plants" SET "id" = 1', { table: 'Plants', isRemoval: false }],
  ['\n delete from Plants where id = 1', { table: 'plants', isRemoval: true }],
  ['SELECT * FROM plants', undefined],
  ['COMMIT', undefined],
])('the table that a statement writes to is found: %j', (sql, written) => {
  expect(findWritten(sql)).toEqual(written);
});
