import type { ListQuery } from './plants-model.js';

/** A query for a page: what it asks for, or the names that the message about it has to hold. */
export interface WrittenQuery {
  readonly text: string;
  readonly meaning: ListQuery | { readonly names: readonly string[] };
}

const DEFAULT = { limit: 100 };
const UNPAIRED = /\p{Surrogate}/u;
const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

/** Queries that are fine, but for those of a plant's own: see {@link nearQueries}. */
const GOOD: readonly [WrittenQuery, ...WrittenQuery[]] = [
  good('', {}),
  good('?', {}),
  good('?&&', {}),
  good('?limit=1', { limit: 1 }),
  good('?limit=7&', { limit: 7 }),
  good('?limit=1000', { limit: 1000 }),
  good('?%6cimit=2&after=0', { limit: 2, after: 0n }),
  good(`?after=${MAX}`, { after: MAX }),
  good(`?after=${MIN}&limit=3`, { after: MIN, limit: 3 }),
  good('?after=9007199254740993', { after: 9007199254740993n }),
  good('?tag=', { tag: '' }),
  good('?tag&limit=5', { tag: '', limit: 5 }),
  good('?tag=b', { tag: 'b' }),
  good('?limit=2&tag=%62', { tag: 'b', limit: 2 }),
  good('?tag=a+b%2Bc%26d', { tag: 'a b+c&d' }),
  good('?tag=%F0%9F%8C%B5', { tag: '🌵' }),
  good("?tag='%20OR%201=1--", { tag: "' OR 1=1--" }),
  good('?tag=__proto__', { tag: '__proto__' }),
  good('?tag=%25', { tag: '%' }),
];

const NOT_LIMITS = [
  '',
  '0',
  '1.0',
  '-1',
  '1001',
  '01',
  '1e2',
  '+1',
  '%2B1',
  'a',
  'null',
  '9'.repeat(400),
];
export const NOT_IDS: readonly string[] = [
  ...[
    '-',
    '-0',
    '+1',
    '%2B1',
    '01',
    '-01',
    '00',
    '1.0',
    '1e3',
    '0x1',
    '1n',
    '1_000',
    '%201',
    '1%20',
  ],
  ...['1%0A', '%D9%A1', 'NaN', 'null', 'true', 'a', '9223372036854775808', '-9223372036854775809'],
  ...[
    '9'.repeat(1_000),
    '1;a=b',
    '1,2',
    '__proto__',
    '1%00',
    '..',
    '$count',
    '*',
    '%2F',
    '-9223372036854775808.0',
  ],
];

const BAD: readonly WrittenQuery[] = [
  ...NOT_LIMITS.map((text) => bad(`?limit=${text}`, 'limit')),
  ...['', ...NOT_IDS].map((text) => bad(`?after=${text}`, 'after')),
  bad('?tag=%00', 'tag'),
  bad('?tag=a%00b&limit=0', 'tag', 'limit'),
  bad('?limit=1&limit=1', 'limit'),
  bad('?after=1&after=2&limit=5', 'after'),
  bad('?tag=a&tag=a', 'tag'),
  bad('?limit=0&after=x&a=b&tag=a&tag=b', 'limit', 'after', 'tag', 'a'),
  bad('?Limit=1', 'Limit'),
  bad('?offset=1', 'offset'),
  bad('?id=1', 'id'),
  bad('?limit[]=1'),
  bad('?__proto__=1', '__proto__'),
  bad('?constructor=1', 'constructor'),
  bad('?%FF'),
  bad('?tag=%'),
  bad('?tag=%C3'),
  bad('?tag=%ED%A0%80'),
  bad('?limit=%zz'),
];

export const LIST_QUERIES: readonly [WrittenQuery, ...WrittenQuery[]] = [...GOOD, ...BAD];

/** Pages around a plant that may be there. */
export function nearQueries(id: bigint, tag: string | undefined): WrittenQuery[] {
  const before = id > MIN ? id - 1n : id;
  // A target may not be as long as a tag.
  const byTag =
    tag !== undefined && tag.length < 1_000 && !UNPAIRED.test(tag) && !tag.includes('\0');
  const encoded = byTag ? encodeURIComponent(tag) : '';
  return [
    good(`?after=${before}&limit=1`, { after: before, limit: 1 }),
    good(`?after=${id}&limit=2`, { after: id, limit: 2 }),
    good(`?limit=3&after=${before}&tag=${encoded}`, {
      after: before,
      limit: 3,
      tag: byTag ? tag : '',
    }),
    good(`?tag=${encoded}&limit=1`, { tag: byTag ? tag : '', limit: 1 }),
  ];
}

function good(text: string, query: Partial<ListQuery>): WrittenQuery {
  return { text, meaning: { ...DEFAULT, ...query } };
}

function bad(text: string, ...names: string[]): WrittenQuery {
  return { text, meaning: { names } };
}

/** What a query means to a page that is made for any path. */
export function meaningOf(text: string): WrittenQuery['meaning'] {
  return text === '' || text === '?' ? DEFAULT : { names: [] };
}
