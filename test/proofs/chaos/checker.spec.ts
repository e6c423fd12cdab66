import { describe, expect, it } from '@jest/globals';
import { type Call, isLinearizable } from './checker.js';
import type { Condition, Operation } from './plant-register.js';

const A = '{"name":"a"}';
const B = '{"name":"b"}';
const TAGGED = '{"name":"a","tag":""}';

const CREATE_A: Operation = { kind: 'create', plant: A };
const CREATE_B: Operation = { kind: 'create', plant: B };
const PUT_A: Operation = { kind: 'replace', plant: A };
const PUT_B: Operation = { kind: 'replace', plant: B };
const PATCH_B: Operation = { kind: 'patch', patch: '{"name":"b"}' };
const PATCH_TAG: Operation = { kind: 'patch', patch: '{"tag":""}' };
const REMOVE: Operation = { kind: 'remove' };
const READ: Operation = { kind: 'read' };
const LIST: Operation = { kind: 'list' };

const OK_A = `200 ${A}`;
const OK_B = `200 ${B}`;

/** From when to when, and what was answered; without an answer it is unknown. */
type Row = readonly [from: number, to: number | undefined, operation: Operation, result?: string];

function makeCalls(rows: readonly Row[]): Call[] {
  return rows.map(([calledAt, at, operation, result], client) => ({
    client,
    operation,
    calledAt,
    answer: at === undefined || result === undefined ? undefined : { at, result },
  }));
}

function ifMatch<Of extends Operation>(operation: Of, state: string): Of {
  return { ...operation, condition: { header: 'If-Match', state } satisfies Condition };
}

function ifNoneMatch<Of extends Operation>(operation: Of, state: string): Of {
  return { ...operation, condition: { header: 'If-None-Match', state } satisfies Condition };
}

const created: Row = [0, 1, CREATE_A, OK_A];

const LINEARIZABLE: readonly (readonly [string, ...Row[]])[] = [
  ['nothing'],
  ['one after another', created, [2, 3, READ, OK_A], [4, 5, REMOVE, '204'], [6, 7, READ, '40401']],
  ['a read of what is being created', [0, 5, CREATE_A, OK_A], [1, 2, READ, OK_A]],
  ['a read before what is being created', [0, 5, CREATE_A, OK_A], [1, 2, READ, '40401']],
  [
    'old and new while it is replaced',
    created,
    [2, 9, PUT_B, OK_B],
    [3, 4, READ, OK_A],
    [5, 6, READ, OK_B],
  ],
  [
    'patches of two members at once, both kept',
    created,
    [2, 9, PATCH_B, OK_B],
    [3, 8, PATCH_TAG, '200 {"name":"b","tag":""}'],
  ],
  ['of two creates the second is first', [0, 9, CREATE_A, '40900'], [1, 2, CREATE_B, OK_B]],
  ['the same plant twice', [0, 9, CREATE_A, '40901'], [1, 8, CREATE_A, OK_A]],
  [
    'created, removed, created',
    [0, 9, CREATE_A, OK_A],
    [1, 8, CREATE_B, OK_B],
    [2, 7, REMOVE, '204'],
  ],
  [
    'a replace between removal and create',
    created,
    [2, 9, REMOVE, '204'],
    [3, 8, CREATE_B, OK_B],
    [4, 7, PUT_A, '40401'],
  ],
  [
    'of two replaces of one state the second fails',
    created,
    [2, 9, ifMatch(PUT_B, A), OK_B],
    [3, 8, ifMatch(PUT_B, A), '41200'],
  ],
  [
    'two replaces by one of the same',
    created,
    [2, 9, ifMatch(PUT_A, A), OK_A],
    [3, 8, ifMatch(PUT_A, A), OK_A],
  ],
  [
    'a replace by the same, which is needed later',
    created,
    [2, 9, PUT_A, OK_A],
    [3, 4, PUT_B, OK_B],
    [5, 8, READ, OK_B],
    [10, 11, READ, OK_A],
  ],
  [
    'what is not modified',
    created,
    [2, 3, ifNoneMatch(READ, A), '304'],
    [4, 5, ifNoneMatch(READ, B), OK_A],
  ],
  [
    'a replace of anything else',
    created,
    [2, 3, ifNoneMatch(PUT_B, A), '41200'],
    [4, 5, ifNoneMatch(PUT_B, B), OK_B],
  ],
  [
    'a page with it and a page without',
    created,
    [2, 3, LIST, OK_A],
    [4, 5, { kind: 'list', tag: '' }, '200 '],
  ],
  [
    'an empty tag is a tag',
    [0, 1, { kind: 'create', plant: TAGGED }, `200 ${TAGGED}`],
    [2, 3, { kind: 'list', tag: '' }, `200 ${TAGGED}`],
  ],
  ['an unknown create that has happened', [0, undefined, CREATE_A], [1, 2, READ, OK_A]],
  [
    'an unknown create that has not',
    [0, undefined, CREATE_A],
    [1, 2, READ, '40401'],
    [3, 4, CREATE_B, OK_B],
  ],
  [
    'an unknown create that happens later',
    [0, undefined, CREATE_A],
    [1, 2, READ, '40401'],
    [3, 4, READ, OK_A],
  ],
  [
    'an unknown removal between reads',
    created,
    [2, undefined, REMOVE],
    [3, 4, READ, OK_A],
    [5, 6, READ, '40401'],
  ],
  [
    'an unknown replace between two others',
    created,
    [2, undefined, PUT_A],
    [3, 4, PUT_B, OK_B],
    [5, 6, READ, OK_B],
    [7, 8, READ, OK_A],
  ],
];

const NOT_LINEARIZABLE: readonly (readonly [string, ...Row[]])[] = [
  ['a stale read', created, [2, 3, PUT_B, OK_B], [4, 5, READ, OK_A]],
  ['a read that goes back', created, [2, 9, PUT_B, OK_B], [3, 4, READ, OK_B], [5, 6, READ, OK_A]],
  ['a read of what nobody wrote', created, [2, 3, READ, OK_B]],
  ['a read before the create is called', [0, 1, READ, OK_A], [2, 3, CREATE_A, OK_A]],
  ['a lost create', created, [2, 3, READ, '40401']],
  ['a lost replace', created, [2, 3, PUT_B, OK_B], [4, 5, CREATE_A, '40901']],
  ['a removal that was none', created, [2, 3, REMOVE, '204'], [4, 5, READ, OK_A]],
  ['a removed plant is removed', created, [2, 3, REMOVE, '204'], [4, 5, REMOVE, '204']],
  ['two creates', [0, 9, CREATE_A, OK_A], [1, 8, CREATE_B, OK_B]],
  ['no create', [0, 9, CREATE_A, '40900'], [1, 8, CREATE_B, '40900']],
  ['the same plant, but no other one', [0, 1, CREATE_A, '40901']],
  ['a conflict with itself', created, [2, 3, CREATE_A, '40900']],
  [
    'two replaces of one state',
    created,
    [2, 9, ifMatch(PUT_B, A), OK_B],
    [3, 8, ifMatch(PUT_B, A), OK_B],
  ],
  [
    'a replace and a removal of one state',
    created,
    [2, 9, ifMatch(PUT_B, A), OK_B],
    [3, 8, ifMatch(REMOVE, A), '204'],
  ],
  [
    'a patch that undoes another',
    created,
    [2, 9, PATCH_B, OK_B],
    [3, 8, PATCH_TAG, `200 ${TAGGED}`],
    [10, 11, READ, OK_B],
  ],
  ['a precondition that held', created, [2, 3, ifMatch(PUT_B, A), '41200']],
  ['not modified, but it was', created, [2, 3, PUT_B, OK_B], [4, 5, ifNoneMatch(READ, A), '304']],
  ['a page without it', created, [2, 3, LIST, '200 ']],
  ['a page after the removal', created, [2, 3, REMOVE, '204'], [4, 5, LIST, OK_A]],
  ['a page of another tag', created, [2, 3, { kind: 'list', tag: '' }, OK_A]],
  [
    'an unknown create happens twice',
    [0, undefined, CREATE_A],
    [1, 2, READ, OK_A],
    [3, 4, REMOVE, '204'],
    [5, 6, READ, OK_A],
  ],
  ['an unknown replace before it is called', created, [2, 3, READ, OK_B], [4, undefined, PUT_B]],
  ['an answer that a register never gives', [0, 1, READ, '50000']],
];

describe('a history that is linearizable', () => {
  it.each(LINEARIZABLE)('%s', (_, ...rows) => {
    expect(isLinearizable(makeCalls(rows))).toBe(true);
    expect(isLinearizable(makeCalls(rows.toReversed()))).toBe(true);
  });
});

describe('a history that is not linearizable', () => {
  it.each(NOT_LINEARIZABLE)('%s', (_, ...rows) => {
    expect(isLinearizable(makeCalls(rows))).toBe(false);
    expect(isLinearizable(makeCalls(rows.toReversed()))).toBe(false);
  });
});

it('takes no time to speak of for calls that are all concurrent', () => {
  const rows = Array.from({ length: 20 }, (_, index): Row => {
    const [plant, result] = index % 2 === 0 ? [A, OK_A] : [B, OK_B];
    return [index, 100 + index, { kind: 'replace', plant }, result];
  });
  const removed: Row = [0, 200, REMOVE, '204'];
  expect(isLinearizable(makeCalls([created, ...rows, removed]))).toBe(true);
});
