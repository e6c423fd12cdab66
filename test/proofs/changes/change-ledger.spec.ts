import { describe, expect, it } from '@jest/globals';
import { ChangeLedger, type FeedChange, type Row, type Write } from './change-ledger.js';

/** A change of plant 1. */
function change(number: number, type: string, at: number, row?: Row): FeedChange {
  return { cursor: String(number), type: `plant.${type}`, id: '1', at, row };
}

const CREATED = change(1, 'created', 15, { name: 'a' });
const REPLACED = change(2, 'replaced', 25, { name: 'b', tag: 't' });
const REMOVED = change(3, 'removed', 35);
const FEED = [CREATED, REPLACED, REMOVED];

const WRITES: Write[] = [
  { effect: 'created', id: '1', name: 'a', began: 10, ended: 20, outcome: 'done' },
  {
    effect: 'replaced',
    id: '1',
    name: 'b',
    began: 21,
    ended: 30,
    outcome: 'done',
    row: { name: 'b', tag: 't' },
  },
  { effect: 'removed', id: '1', began: 31, ended: 40, outcome: 'done' },
  { effect: 'created', id: '1', name: 'refused', began: 31, ended: 40, outcome: 'refused' },
  { effect: 'created', id: '1', name: 'unknown', began: 50, outcome: 'unknown' },
  { effect: 'removed', id: '1', began: 60, outcome: 'unknown' },
];

function audit(feed: readonly FeedChange[]): string[] {
  const ledger = new ChangeLedger();
  for (const write of WRITES) ledger.note(write);
  return ledger.audit(feed);
}

describe('a feed', () => {
  it.each([
    ['has what was answered', FEED],
    ['may have what was not', [...FEED, change(4, 'created', 55, { name: 'unknown' })]],
    [
      'may have each of two that were not',
      [...FEED, change(4, 'created', 55, { name: 'unknown' }), change(5, 'removed', 65)],
    ],
  ])('%s', (_, feed) => {
    expect(audit(feed)).toEqual([]);
  });

  const late = change(3, 'replaced', 25, { name: 'b', tag: 't' });
  it.each<[string, readonly FeedChange[], string]>([
    ['lacks a state', [CREATED, REMOVED], '1 b is not in the feed'],
    ['lacks a removal', [CREATED, REPLACED], 'a removal of 1 is not in the feed'],
    [
      'has a change twice',
      [CREATED, REPLACED, late, REMOVED],
      '3 plant.replaced 1 b is there twice',
    ],
    [
      'has a refused write',
      [...FEED, change(4, 'created', 35, { name: 'refused' })],
      '4 plant.created 1 refused is invented',
    ],
    [
      'has a write that nobody sent',
      [...FEED, change(4, 'created', 45, { name: 'c' })],
      '4 plant.created 1 c is invented',
    ],
    [
      'has a removal that nobody sent',
      [...FEED, change(4, 'created', 55, { name: 'unknown' }), change(5, 'removed', 56)],
      '5 plant.removed 1  is invented',
    ],
    [
      'has changes that do not follow from each other',
      [REPLACED, CREATED, REMOVED],
      '2 plant.replaced 1 b of a plant that is not there',
    ],
    [
      'has changes in another order than their writes',
      [REPLACED, CREATED, REMOVED],
      '1 plant.created 1 a comes after a change that followed it',
    ],
    [
      'has another row than was answered',
      [CREATED, change(2, 'replaced', 25, { name: 'b' }), REMOVED],
      '2 plant.replaced 1 b was replaced as {"name":"b","tag":"t"}',
    ],
    [
      'has a change of another time',
      [change(1, 'created', 9, { name: 'a' }), REPLACED, REMOVED],
      '1 plant.created 1 a has a time before its write or after it',
    ],
  ])('that %s is faulty', (_, feed, fault) => {
    expect(audit(feed)).toContain(fault);
  });
});
