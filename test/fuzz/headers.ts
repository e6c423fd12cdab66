import { TOKEN } from '../support/token.js';
import type { Field } from '../support/http/request.js';
import { words } from './texts.js';

// Values of the request line and the headers, as data.

export const AUTHORIZATION: Field = ['Authorization', `Bearer ${TOKEN}`];

/** Other ways to send the token. */
export const ACCEPTED: readonly Field[] = [
  ['authorization', `bearer ${TOKEN}`],
  ['AUTHORIZATION', `BEARER   ${TOKEN}`],
  ['Authorization', `  bEaReR ${TOKEN}  `],
];

/** No credentials, those of another scheme, or no token after the scheme: 40100. */
export const MISSING: readonly (Field | undefined)[] = [
  undefined,
  ...['', 'Bearer', 'Bearer   ', TOKEN, `Basic ${TOKEN}`, `Token ${TOKEN}`, `Bearer:${TOKEN}`]
    .concat(`Bearer${TOKEN}`, 'Digest username="a", realm="plant-store", response="c"')
    .map((value): Field => ['Authorization', value]),
  ['Cookie', `access_token=${TOKEN}; Authorization=Bearer ${TOKEN}`],
  ['X-Authorization', `Bearer ${TOKEN}`],
  ['Proxy-Authorization', `Bearer ${TOKEN}`],
  ['X-Api-Key', TOKEN],
];

/** Texts in place of a token that are no accepted token: 40101. */
export const REFUSED_TOKENS: readonly string[] = [
  ...words`x , null undefined * % "" ../../etc/passwd eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.`,
  ...[TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), `${TOKEN} ${TOKEN}`, `"${TOKEN}"`],
  ...[`${TOKEN},`, `Bearer ${TOKEN}`, "' OR '1'='1", '${jndi:ldap://a}', '\xff\xfe', '\xc3\xa9'],
  ...['x'.repeat(3_000), `\xe2\x80\x8b${TOKEN}`, `\x80${TOKEN}`],
];

/** Other ways to write a media type, without a charset or with UTF-8. */
export const SPELLINGS_OF_TYPE: readonly ((type: string) => string)[] = [
  (type) => type.toUpperCase(),
  (type) => `  ${type}  `,
  (type) => `${type};charset=UTF-8`,
  (type) => `${type};;Charset="uTf-8"`,
  (type) => `${type}; profile=a`,
  (type) => String.raw`${type};a="\""`,
  (type) => `${type}; a="b;charset=latin1"; charset=utf-8`,
];

/** Texts that resemble a media type but are none. */
export const NEAR_TYPES: readonly ((type: string) => string)[] = [
  (type) => `${type}; charset=iso-8859-1`,
  (type) => `${type}; a="b"; charset=windows-1252`,
  (type) => `${type};a=b;CHARSET=us-ascii`,
  (type) => `${type}, text/plain`,
  (type) => `text/plain; a=${type}`,
  (type) => `"${type}"`,
  (type) => `;${type}`,
  (type) => `x${type}`,
  (type) => `${type}/x`,
  (type) => `${type}p`,
  (type) => type.replace('/', ' /'),
  (type) => type.replace('/', '\xe2\x80\x8b/'),
];

export const OTHER_TYPES: readonly (string | undefined)[] = [
  undefined,
  '',
  ...words`/ */* json application application/* text/json text/plain application/json5
    application/ld+json application/x-json application/json-patch+json
    application/x-www-form-urlencoded application/octet-stream multipart/form-data;boundary=a`,
];

export const CONTENT_ENCODINGS: readonly string[] = [
  ...words`gzip x-gzip br deflate compress zstd utf-8 * identity2`,
  ...['gzip, gzip', 'identity, gzip'],
];

/** Paths that a lenient router would take for the path. */
export const NEAR_PATHS: readonly ((path: string) => string)[] = [
  (path) => path.toUpperCase(),
  (path) => `/${path}`,
  (path) => `/.${path}`,
  (path) => `/x/..${path}`,
  (path) => `/%70${path.slice(2)}`,
  (path) => `/%2F${path.slice(1)}`,
  (path) => `/v1${path}`,
  ...[
    '/',
    '//',
    '%2F',
    '.json',
    ';a=b',
    '%00',
    '%20',
    '%3Fa',
    '%0d%0aX:y',
    ',',
    "'--",
    's',
    '/1/',
  ].map((end) => (path: string) => path + end),
  () => '/__proto__',
  () => '/.env',
  () => '/..%2f..%2fetc/passwd',
  () => `/${'a'.repeat(2_000)}`,
];

/** Percent-encoding that cannot be decoded. */
export const UNDECODABLE: readonly string[] = words`
  % %FF %C0%AF %zz %2 %E0%80%80 %ED%A0%80 %u0041 %F4%90%80%80 %C3`;

/** Texts in a path or a query that are no id, as they are encoded there. */
export const NOT_IDS: readonly string[] = [
  ...words`- -0 +1 %2B1 01 -01 00 1.0 1e3 0x1 1n 1_000 %201 1%20 1%0A %D9%A1 NaN null a 1;a=b 1,2
    __proto__ 1%00 $count * 9223372036854775808 -9223372036854775809`,
  '9'.repeat(1_000),
];

/** Queries that change nothing where an operation has no parameters in them. */
export const IGNORED_QUERIES: readonly string[] = words`
  ? ?a=b ?id=1&name=a ?%FF ?a[b]=c&a[__proto__]=d ?a=1&a=2 ?q='%20OR%201=1-- ?_method=DELETE ?/../..`;

/** Queries of a list that are refused, with the parameters at fault. */
export const BAD_QUERIES: readonly (readonly [query: string, ...names: string[]])[] = [
  ...words`0 1001 -1 1.0 1e2 +1 01 a null`.map((text) => [`limit=${text}`, 'limit'] as const),
  ...NOT_IDS.map((text) => [`after=${text}`, 'after'] as const),
  ...words`ID +id name,id tag id;`.map((text) => [`sort=${text}`, 'sort'] as const),
  ...UNDECODABLE.map((text) => [`tag=${text}`] as const),
  ['limit=', 'limit'],
  ['after=', 'after'],
  ['sort=', 'sort'],
  ['name=', 'name'],
  ['name=a%00', 'name'],
  [`name=${'a'.repeat(65)}`, 'name'],
  ['tag=%00', 'tag'],
  [`tag=${'a'.repeat(4_097)}`, 'tag'],
  ['limit=1&limit=1', 'limit'],
  ['tag=a&tag=b', 'tag'],
  ['offset=1', 'offset'],
  ['Limit=1', 'Limit'],
  ['__proto__=1', '__proto__'],
  ['limit=0&offset=1', 'limit', 'offset'],
  ['name=a&sort=id', 'sort'],
  ['tag=a&sort=name', 'tag'],
  ['tag=a&name=a', 'tag'],
  ['sort=name&after=1', 'after'],
];

/** Methods that no path of the document has. */
export const UNKNOWN_METHODS: readonly string[] = words`
  TRACE COPY LINK LOCK M-SEARCH MERGE MKCOL MOVE PROPFIND PURGE REPORT SEARCH SUBSCRIBE UNLINK`;

/** Headers that change nothing. */
export const EXTRA_FIELDS: readonly Field[] = (
  [
    ['Accept', 'text/html'],
    ['Accept', 'application/json;q=0, */*;q=0'],
    ['Accept', ';;;,,,'],
    ['Accept-Encoding', 'gzip, br'],
    ['Connection', 'close'],
    ['Cookie', 'a=b; __proto__=c; %=%'],
    ['Expect', '100-continue'],
    ['If-Modified-Since', 'not a date'],
    ['Origin', 'https://evil.example'],
    ['Range', 'bytes=0-0'],
    ['User-Agent', "'; DROP TABLE plants; --"],
    ['X-Forwarded-For', '127.0.0.1, ${jndi:ldap://evil}'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Cats', '🌵 Z͑ͫ ཊུད \u200b\u202e'],
    ['__proto__', 'a'],
    ['X-Request-Id', 'abc-123_DEF'],
    ['X-Request-Id', ''],
    ['X-Request-Id', 'x'.repeat(2_000)],
    ['X-Request-Id', '<script>alert(1)</script> é🌵'],
    ['X-Request-Id', '%0d%0aSet-Cookie:a=b'],
  ] as const
).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
