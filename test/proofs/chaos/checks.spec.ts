import { describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../support/seeded-random.js';
import { Creates } from './creates.js';
import { type Change, Mirror } from './mirror.js';
import { findHalves } from './moves.js';
import type { Answer, Send } from './replicas.js';

const NOTHING: Send = () => Promise.resolve(undefined);
const PLANT = '{"name":"n"}';

function makeAnswer(status: number, body = ''): Promise<Answer> {
  return Promise.resolve({ status, headers: {}, body });
}

describe('an audit of creates', () => {
  /** Runs clients whose requests all succeed, and returns the plants that they then expect. */
  async function run(): Promise<{ creates: Creates; rows: Map<string, string> }> {
    const rows = new Map<string, string>();
    let left = 50;
    const creates = new Creates(new SeededRandom(7), ({ path, body = '' }) => {
      const lines = body.trimEnd().split('\n');
      for (const line of lines) {
        const [id = ''] = /\d+/.exec(line) ?? [];
        rows.set(id, line.replace(`"id":${id},`, ''));
      }
      if (path === '/plants') return makeAnswer(200);
      return makeAnswer(200, `{"created":${lines.length},"identical":0}`);
    });
    await creates.run(() => left-- > 0);
    return { creates, rows };
  }

  it('finds nothing where every plant is there', async () => {
    const { creates, rows } = await run();
    creates.startAudit()(rows);
    expect(creates.faults).toEqual([]);
  });

  it('finds an acknowledged plant that was forgotten, and one that nobody sent', async () => {
    const { creates, rows } = await run();
    const [[id, state]] = [...rows] as [[string, string]];
    rows.delete(id);
    rows.set(String(2n ** 63n - 1n), state);
    creates.startAudit()(rows);
    expect(creates.faults).toEqual([
      expect.stringContaining(`an acknowledged plant is lost: ${id}`),
      expect.stringContaining('a plant came back, or nobody sent it'),
    ]);
  });
});

describe('a look at moves', () => {
  const ACCOUNTS = Array.from({ length: 6 }, (_, index) => String(1_000_000_000 + index));
  const [from = '', to = ''] = ACCOUNTS;

  function look(...rows: readonly (readonly [id: string, name: string])[]): string[] {
    return findHalves(new Map([...ACCOUNTS.map((id) => [id, '1000'] as const), ...rows]));
  }

  it('finds nothing where accounts and receipts agree', () => {
    expect(look([from, '998'], [to, '1002'], ['1000001001', `${from} ${to} 2`])).toEqual([]);
  });

  it.each<[string, ...[id: string, name: string][]]>([
    ['only one account', [from, '998'], ['1000001001', `${from} ${to} 2`]],
    ['only the accounts', [from, '998'], [to, '1002']],
    ['only the receipt', ['1000001001', `${from} ${to} 2`]],
  ])('finds a transaction of which %s is stored', (_, ...rows) => {
    expect(look(...rows)).toContainEqual(expect.stringContaining('half a transaction'));
  });
});

describe('a mirror', () => {
  const CHANGES: readonly Change[] = [
    { type: 'plant.created', id: '1', data: { name: 'm' } },
    { type: 'plant.replaced', id: '1', data: { name: 'n' } },
    { type: 'plant.created', id: '2', data: { name: 'n' } },
    { type: 'plant.removed', id: '2' },
    { type: 'plant.created', id: '2', data: { name: 'n' } },
  ];
  const STORED = new Map([
    ['1', PLANT],
    ['2', PLANT],
  ]);

  function findFaults(changes: readonly Change[]): string[] {
    const mirror = new Mirror(NOTHING);
    for (const change of changes) mirror.apply(change);
    return [...mirror.faults, ...mirror.findDifferences(STORED)];
  }

  it('finds nothing in a whole feed', () => {
    expect(findFaults(CHANGES)).toEqual([]);
  });

  it.each([0, 1, 3, 4])('finds that the change %i is missing from the feed', (missing) => {
    const faults = findFaults(CHANGES.toSpliced(missing, 1));
    expect(faults).toContainEqual(expect.stringContaining('a change is missing from the feed'));
  });
});
