import { describe, expect, it } from '@jest/globals';
import type { EntityMetadata } from 'typeorm';
import type { FailureCause } from '../engine/engine.js';
import { OUTAGES, SQLSTATES } from '../../../../test/cases/sqlstates.js';
import { findWritten } from '../engine/driver-errors.js';
import { isRefusedStatement, postgresErrors } from './postgres-errors.js';

const { findCause, toConstraintError } = postgresErrors;

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

const CODES = Object.values(SQLSTATES).flat();
/** The fields of errors that are raised while a trigger is executed. */
const IN_TRIGGER = { where: 'PL/pgSQL-Funktion f() Zeile 1 bei PERFORM' };
const RAISED = { ...IN_TRIGGER, routine: 'exec_stmt_raise' };
const ERROR = { severity: 'FEHLER' };

type Causes = Readonly<Record<string, FailureCause>>;

/** Finds the causes of an error with each code. */
function findCauses(fields: object): Causes {
  return Object.fromEntries(CODES.map((code) => [code, findCause({ ...fields, code })]));
}

/** Lists causes as {@link findCauses} does. */
function expected(getCause: (code: string) => FailureCause): Causes {
  return Object.fromEntries(CODES.map((code) => [code, getCause(code)]));
}

describe('of an error with each code the cause is', () => {
  const { lock, store } = SQLSTATES;

  it('that of the code, if the server reports it', () => {
    const causes = expected((code) => {
      if (store.includes(code)) return 'store';
      return lock.includes(code) ? 'lock' : 'row';
    });
    expect(findCauses(ERROR)).toEqual(causes);
  });

  it('a row, if a trigger raises it', () => {
    expect(findCauses({ ...ERROR, ...RAISED })).toEqual(expected(() => 'row'));
  });

  it('a row, if a trigger causes it, unless the server fails meanwhile', () => {
    const causes = expected((code) => {
      if (OUTAGES.includes(code)) return 'store';
      return lock.includes(code) ? 'lock' : 'row';
    });
    expect(findCauses({ ...ERROR, ...IN_TRIGGER })).toEqual(causes);
  });

  it.each(['FATAL', 'PANIC'])('the store, if the server ends the connection: %s', (severity) => {
    const causes = expected(() => 'store');
    expect(findCauses({ severity })).toEqual(causes);
    expect(findCauses({ severity, ...IN_TRIGGER })).toEqual(causes);
  });
});

const [POSITION, EPIPE] = [{ ...ERROR, code: '42703', position: '8' }, { code: 'EPIPE' }];

it.each<[string, FailureCause, unknown]>([
  ['a code that PostgreSQL does not have', 'row', { ...ERROR, code: 'MY001' }],
  [
    'a code that PostgreSQL does not have, which is fatal',
    'store',
    { severity: 'FATAL', code: 'MY001' },
  ],
  ['a column that is missing', 'row', POSITION],
  [
    'no more numbers for transactions',
    'store',
    { ...ERROR, code: '54000', routine: 'GetNewTransactionId' },
  ],
  ['too many parameters', 'row', { ...ERROR, code: '08P01', routine: 'exec_bind_message' }],
  ['a broken connection', 'store', Object.assign(new Error('write EPIPE'), EPIPE)],
  ['a lost connection', 'store', new Error('Connection terminated unexpectedly')],
  [
    'a parameter that cannot be sent',
    'row',
    new TypeError('Do not know how to serialize a BigInt'),
  ],
])('the cause of an error is found: %s', (_, cause, error) => {
  expect(findCause(error)).toBe(cause);
});

it.each<[string, boolean, unknown]>([
  ['a column that is missing', true, POSITION],
  ['no index for ON CONFLICT', true, { ...ERROR, code: '42P10' }],
  ['a column that a trigger misses', false, { ...POSITION, ...IN_TRIGGER }],
  ['a table that stays locked', false, { ...POSITION, code: '55P03' }],
  ['a deadlock', false, { ...POSITION, code: '40P01' }],
  ['a statement that takes too long', false, { ...POSITION, code: '57014' }],
])('a statement is refused, whatever its rows are: %s', (_, isRefused, error) => {
  expect(isRefusedStatement(error)).toBe(isRefused);
});
