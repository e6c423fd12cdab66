import { createHash } from 'node:crypto';
import type { KnownPage } from './expected.js';
import { words } from './words.js';

// Values of the request line and the headers, as data.

/** The tokens of the service under test: one given as it is, one by its digest. */
export const GOOD_TOKENS = ['fuzz-token', 'fuzz.other~token+/=='] as const;
const DIGEST = createHash('sha256').update(GOOD_TOKENS[1]).digest('hex');
export const ACCESS_TOKENS = `${GOOD_TOKENS[0]}, sha256:${DIGEST},`;

export type Field = readonly [name: string, value: string];

const [GOOD, OTHER] = GOOD_TOKENS;

export const ACCEPTED: readonly Field[] = [
  ['Authorization', `Bearer ${GOOD}`],
  ['authorization', `bearer ${OTHER}`],
  ['AUTHORIZATION', `BEARER   ${GOOD}`],
  ['Authorization', `  bEaReR ${OTHER}  `],
];

/** No credentials, those of another scheme, or no token after the scheme: 40100. */
export const MISSING: readonly (Field | undefined)[] = [
  undefined,
  ['Authorization', ''],
  ['Authorization', 'Bearer'],
  ['Authorization', 'Bearer   '],
  ['Authorization', GOOD],
  ['Authorization', `Basic ${Buffer.from(`user:${GOOD}`).toString('base64')}`],
  ['Authorization', `Basic ${GOOD}`],
  ['Authorization', `Token ${GOOD}`],
  ['Authorization', `Bearer:${GOOD}`],
  ['Authorization', `BearerX ${GOOD}`],
  ['Authorization', `Bearer${GOOD}`],
  [
    'Authorization',
    'Digest username="a", realm="plant-store", nonce="b", uri="/plants", response="c"',
  ],
  ['Authorization', 'Negotiate YII='],
  ['Cookie', `access_token=${GOOD}; Authorization=Bearer ${GOOD}`],
  ['X-Authorization', `Bearer ${GOOD}`],
  ['Proxy-Authorization', `Bearer ${GOOD}`],
  ['X-Api-Key', GOOD],
];

/** What stands for a token and is none: 40101. */
export const REFUSED_TOKENS: readonly string[] = [
  ...words`x , null undefined true * % "" ../../etc/passwd eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.`,
  ...[GOOD.slice(0, -1), `${GOOD}x`, GOOD.toUpperCase(), `${GOOD} ${GOOD}`, `"${GOOD}"`],
  ...[`${GOOD},`, `${GOOD},sha256:${DIGEST}`, `sha256:${DIGEST}`, DIGEST, `Bearer ${GOOD}`],
  ...["' OR '1'='1", '${jndi:ldap://a}', '\xff\xfe', '\xc3\xa9', `\x80${GOOD}`, 'x'.repeat(3_000)],
];

/** application/json, without a charset or with UTF-8. */
export const JSON_TYPES: readonly string[] = [
  ...words`application/json application/json;charset=UTF-8 APPLICATION/JSON
    Application/Json;Charset="uTf-8" application/json;;charset=utf-8 application/json;a="\""`,
  'application/json; charset=utf-8',
  'application/json ; charset=utf-8',
  'application/json; profile=a',
  'application/json; a="b;charset=latin1"; charset=utf-8',
  '  application/json  ',
];

export const OTHER_TYPES: readonly (string | undefined)[] = [
  undefined,
  '',
  ...words`/ */* json application application/ application/* text/json text/plain text/html
    application/xml application/jsonp application/json5 application/ld+json application/x-json
    application/json-patch+json xapplication/json application/json/x application/x-ndjson
    application/x-www-form-urlencoded application/graphql application/octet-stream utf-8 CATS/cats
    application/json;charset="utf-32" application/json;a=b;CHARSET=us-ascii "application/json"
    ;application/json application\json`,
  'application /json',
  'application/json, text/plain',
  'multipart/form-data; boundary=a',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-16',
  'application/json; a="b"; charset=windows-1252',
  'text/plain; a=application/json',
];

export const CONTENT_ENCODINGS: readonly string[] = [
  ...words`gzip GZIP x-gzip br deflate compress zstd utf-8 aes128gcm * identity2`,
  'gzip, gzip',
  'identity, gzip',
  'gzip, identity',
];

/** Paths that a lenient router would take for /plants. */
export const NEAR_PATHS: readonly string[] = words`
  /plants/ /PLANTS /Plants //plants /plants// /./plants /%70lants /plants%2F`;

/** Paths on which there is nothing. */
export const UNKNOWN_PATHS: readonly string[] = [
  ...words`/plant /plantss /plants/1/ /plants/1/2 /../plants /x/../plants /plants.json /plants;a=b
    /plants%00 /plants%20 /plants%3Fa /%2Fplants /plants%0d%0aX:y /plants, /plants(1)
    /plants:batch /plants'-- /plants|id /v1/plants /v1/plants/1 /Plants/1 //plants/1 /api/plants /__proto__
    /constructor /toString /admin /api /.env /.git/config /actuator /debug /console /server-status
    /swagger.json /openapi.yaml /openapi.json/ /graphql /etc/passwd /..%2f..%2fetc/passwd /* /:id
    /%F0%9F%8C%B5`,
  `/${'a'.repeat(2_000)}`,
];

/** Paths whose percent-encoding stands for no text. */
export const UNDECODABLE_PATHS: readonly string[] = words`
  /% /plants% /plants/% /%FF /plants%FF /%C0%AF /%zz /%2 /%E0%80%80 /%ED%A0%80 /plants/%u0041
  /%F4%90%80%80 /plants%C3`;

export const QUERIES: readonly string[] = [
  '',
  ...words`? ?a=b ?id=1&name=a ?%FF ?a[b]=c&a[__proto__]=d ?a=1&a=2 ?q='%20OR%201=1--
    ?__proto__[a]=b ?dryRun=true ?_method=DELETE ?access_token=x ?/../.. ??`,
];

/** Pages that are documented; every other method on them is a 405. */
export const KNOWN_PAGES: readonly KnownPage[] = [
  { page: '/', status: 302 },
  { page: '/docs', status: 200 },
  { page: '/openapi.json', status: 200 },
  { page: '/health/live', status: 200 },
  { page: '/health/ready', status: 200 },
];

/** Every method that Node's parser knows, but CONNECT, which asks for a tunnel. */
export const OTHER_METHODS: readonly string[] = words`
  GET HEAD PUT PATCH DELETE OPTIONS TRACE ACL BIND CHECKOUT COPY LINK LOCK M-SEARCH MERGE MKACTIVITY
  MKCALENDAR MKCOL MOVE NOTIFY PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH SOURCE SUBSCRIBE UNBIND
  UNLINK UNLOCK UNSUBSCRIBE`;

/** Headers that make a request conditional: they change nothing of a POST. */
export const CONDITIONAL: readonly string[] = ['If-Match', 'If-None-Match'];

/** Headers that change nothing. */
export const EXTRA_FIELDS: readonly Field[] = (
  [
    ['Accept', 'text/html'],
    ['Accept', 'application/json;q=0, */*;q=0'],
    ['Accept', ';;;,,,'],
    ['Accept', ''],
    ['Accept-Encoding', 'gzip, br'],
    ['Accept-Charset', 'utf-16'],
    ['Accept-Language', 'xx'],
    ['Expect', '100-continue'],
    ['Connection', 'close'],
    ['Content-Language', 'nl'],
    ['Content-Disposition', 'attachment; filename="../../a"'],
    ['Content-MD5', 'x'],
    ['Cookie', 'a=b; __proto__=c; %=%'],
    ['Forwarded', 'for=evil;proto=https'],
    ['Host-Override', 'evil'],
    ['Idempotency-Key', 'a'],
    ['If-Match', '*'],
    ['If-None-Match', '*'],
    ['If-Modified-Since', 'not a date'],
    ['Origin', 'null'],
    ['Origin', 'https://evil.example'],
    ['Prefer', 'return=minimal'],
    ['Range', 'bytes=0-0'],
    ['Referer', 'javascript:alert(1)'],
    ['TE', 'trailers'],
    ['User-Agent', "'; DROP TABLE plants; --"],
    ['User-Agent', '() { :; }; echo vulnerable'],
    ['X-Forwarded-For', '127.0.0.1, ${jndi:ldap://evil}'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Original-URL', '/admin'],
    ['X-Rewrite-URL', '/admin'],
    ['X-Cats', '🌵 Z͑ͫ ཊུད \u200b\u202e'],
    ['X-Cats', 'a'.repeat(2_000)],
    ['__proto__', 'a'],
    ['constructor', 'a'],
    ['hasOwnProperty', 'a'],
    ['X-Request-Id', 'abc-123_DEF'],
    ['X-Request-Id', ''],
    ['X-Request-Id', 'a b'],
    ['X-Request-Id', 'x'.repeat(2_000)],
    ['X-Request-Id', '{"level":60}'],
    ['X-Request-Id', '[31mé🌵'],
    ['X-Request-Id', '<script>alert(1)</script>'],
    ['X-Request-Id', '%0d%0aSet-Cookie:a=b'],
  ] as const
).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
