import { describe, expect, it } from '@jest/globals';
import { type Call, isLinearizable } from './checker.js';
import type { Condition, Operation } from './plant-register.js';

const STATES: Readonly<Record<string, string>> = {
  none: '',
  a: '{"name":"a"}',
  b: '{"name":"b"}',
  at: '{"name":"a","tag":""}',
  bt: '{"name":"b","tag":""}',
};
const PATCHES: Readonly<Record<string, string>> = { b: '{"name":"b"}', t: '{"tag":""}' };

const CALL = /^(\d+)-(\d+|\?) (\w+)(?: (\w+))?(?: (if|unless) (\w+))?(?:: (\w+))?$/;

/**
 * Reads calls such as `2-9 put b if a: b`: from 2 to 9 somebody replaces the plant by b, if it is a,
 * and is answered b. A call whose answer is unknown ends with `?`.
 */
function readCalls(text: string): Call[] {
  if (text === '') return [];
  return text.split(', ').map((call, client) => {
    const [, from, to, kind = '', what = '', header, state = '', result = ''] =
      CALL.exec(call) ?? [];
    const condition: Condition = {
      header: header === 'if' ? 'If-Match' : 'If-None-Match',
      state: STATES[state] ?? '',
    };
    const answer = result in STATES ? `200 ${STATES[result]}` : result;
    return {
      client,
      operation: { ...makeOperation(kind, what), ...(header !== undefined && { condition }) },
      calledAt: Number(from),
      answer: to === '?' ? undefined : { at: Number(to), result: answer },
    };
  });
}

function makeOperation(kind: string, what: string): Operation {
  const body = STATES[what] ?? '';
  if (kind === 'create') return { kind, body };
  if (kind === 'put') return { kind: 'replace', body };
  if (kind === 'patch') return { kind, body: PATCHES[what] ?? '' };
  if (kind === 'list') return what === 'tagged' ? { kind, tag: '' } : { kind };
  if (kind === 'read' || kind === 'remove') return { kind };
  throw new TypeError(`no operation ${kind}`);
}

const A = '0-1 create a: a';

const LINEARIZABLE: readonly (readonly [what: string, calls: string])[] = [
  ['nothing', ''],
  ['one after another', `${A}, 2-3 read: a, 4-5 remove: 204, 6-7 read: 40401`],
  ['a read of what is being created', '0-5 create a: a, 1-2 read: a'],
  ['a read before what is being created', '0-5 create a: a, 1-2 read: 40401'],
  ['old and new while it is replaced', `${A}, 2-9 put b: b, 3-4 read: a, 5-6 read: b`],
  ['patches of two members at once, both kept', `${A}, 2-9 patch b: b, 3-8 patch t: bt`],
  ['of two creates the second is first', '0-9 create a: 40900, 1-2 create b: b'],
  ['the same plant twice', '0-9 create a: 40901, 1-8 create a: a'],
  ['created, removed, created', '0-9 create a: a, 1-8 create b: b, 2-7 remove: 204'],
  ['a put between removal and create', `${A}, 2-9 remove: 204, 3-8 create b: b, 4-7 put a: 40401`],
  ['of two puts of one state the second fails', `${A}, 2-9 put b if a: b, 3-8 put b if a: 41200`],
  ['two puts of the same', `${A}, 2-9 put a if a: a, 3-8 put a if a: a`],
  [
    'a put of the same, which is needed later',
    `${A}, 2-9 put a: a, 3-4 put b: b, 5-8 read: b, 10-11 read: a`,
  ],
  ['what is not modified', `${A}, 2-3 read unless a: 304, 4-5 read unless b: a`],
  ['a put of anything else', `${A}, 2-3 put b unless a: 41200, 4-5 put b unless b: b`],
  ['a page with it and a page without', `${A}, 2-3 list: a, 4-5 list tagged: none`],
  ['an empty tag is a tag', '0-1 create at: at, 2-3 list tagged: at'],
  ['an unknown create that has happened', '0-? create a, 1-2 read: a'],
  ['an unknown create that has not', '0-? create a, 1-2 read: 40401, 3-4 create b: b'],
  ['an unknown create that happens later', '0-? create a, 1-2 read: 40401, 3-4 read: a'],
  ['an unknown removal between reads', `${A}, 2-? remove, 3-4 read: a, 5-6 read: 40401`],
  ['an unknown put between others', `${A}, 2-? put a, 3-4 put b: b, 5-6 read: b, 7-8 read: a`],
];

const NOT_LINEARIZABLE: readonly (readonly [what: string, calls: string])[] = [
  ['a stale read', `${A}, 2-3 put b: b, 4-5 read: a`],
  ['a read that goes back', `${A}, 2-9 put b: b, 3-4 read: b, 5-6 read: a`],
  ['a read of what nobody wrote', `${A}, 2-3 read: b`],
  ['a read before the create is called', '0-1 read: a, 2-3 create a: a'],
  ['a lost create', `${A}, 2-3 read: 40401`],
  ['a lost put', `${A}, 2-3 put b: b, 4-5 create a: 40901`],
  ['a removal that was none', `${A}, 2-3 remove: 204, 4-5 read: a`],
  ['a removed plant is removed', `${A}, 2-3 remove: 204, 4-5 remove: 204`],
  ['two creates', '0-9 create a: a, 1-8 create b: b'],
  ['no create', '0-9 create a: 40900, 1-8 create b: 40900'],
  ['the same plant, but no other one', '0-1 create a: 40901'],
  ['a conflict with itself', `${A}, 2-3 create a: 40900`],
  ['two puts of one state', `${A}, 2-9 put b if a: b, 3-8 put b if a: b`],
  ['a put and a removal of one state', `${A}, 2-9 put b if a: b, 3-8 remove if a: 204`],
  ['a patch that undoes another', `${A}, 2-9 patch b: b, 3-8 patch t: at, 10-11 read: b`],
  ['a precondition that held', `${A}, 2-3 put b if a: 41200`],
  ['not modified, but it was', `${A}, 2-3 put b: b, 4-5 read unless a: 304`],
  ['a page without it', `${A}, 2-3 list: none`],
  ['a page after the removal', `${A}, 2-3 remove: 204, 4-5 list: a`],
  ['a page of another tag', `${A}, 2-3 list tagged: a`],
  ['an unknown create happens twice', '0-? create a, 1-2 read: a, 3-4 remove: 204, 5-6 read: a'],
  ['an unknown put before it is called', `${A}, 2-3 read: b, 4-? put b`],
  ['an answer that a register never gives', '0-1 read: 50000'],
];

describe.each([
  ['linearizable', true, LINEARIZABLE],
  ['not linearizable', false, NOT_LINEARIZABLE],
])('a history that is %s', (_, isSo, histories) => {
  it.each(histories)('%s', (_, text) => {
    expect(isLinearizable(readCalls(text))).toBe(isSo);
    expect(isLinearizable(readCalls(text).toReversed())).toBe(isSo);
  });
});

it('takes no time to speak of for calls that are all concurrent', () => {
  const puts = Array.from({ length: 20 }, (_, index) => {
    const state = index % 2 === 0 ? 'a' : 'b';
    return `${index}-${100 + index} put ${state}: ${state}`;
  });
  expect(isLinearizable(readCalls([A, ...puts, '0-200 remove: 204'].join(', ')))).toBe(true);
});
