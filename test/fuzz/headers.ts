import { createHash } from 'node:crypto';
import type { Field } from '../support/http/request.js';
import { TOKEN } from '../support/token.js';
import { words } from './texts.js';

// Values of the request line and the headers, as data.

const OTHER = 'fuzz.other~token+/==';
const DIGEST = createHash('sha256').update(OTHER).digest('hex');
/** The tokens of the service under test: one given as it is, one by its digest. */
export const GOOD_TOKENS: readonly string[] = [TOKEN, OTHER];
export const ACCESS_TOKENS = `${TOKEN}, sha256:${DIGEST},`;

export const ACCEPTED: readonly Field[] = [
  ['Authorization', `Bearer ${TOKEN}`],
  ['authorization', `bearer ${OTHER}`],
  ['AUTHORIZATION', `BEARER   ${TOKEN}`],
  ['Authorization', `  bEaReR ${OTHER}  `],
];

/** No credentials, those of another scheme, or no token after the scheme: 40100. */
export const MISSING: readonly (Field | undefined)[] = [
  undefined,
  ['Authorization', ''],
  ['Authorization', 'Bearer'],
  ['Authorization', 'Bearer   '],
  ['Authorization', TOKEN],
  ['Authorization', `Basic ${Buffer.from(`user:${TOKEN}`).toString('base64')}`],
  ['Authorization', `Basic ${TOKEN}`],
  ['Authorization', `Token ${TOKEN}`],
  ['Authorization', `Bearer:${TOKEN}`],
  ['Authorization', `BearerX ${TOKEN}`],
  ['Authorization', `Bearer${TOKEN}`],
  ['Authorization', 'Digest username="a", realm="plant-store", nonce="b", response="c"'],
  ['Authorization', 'Negotiate YII='],
  ['Cookie', `access_token=${TOKEN}; Authorization=Bearer ${TOKEN}`],
  ['X-Authorization', `Bearer ${TOKEN}`],
  ['Proxy-Authorization', `Bearer ${TOKEN}`],
  ['X-Api-Key', TOKEN],
];

/** Texts in place of a token that are no accepted token: 40101. */
export const REFUSED_TOKENS: readonly string[] = [
  ...words`x , null undefined true * % "" ../../etc/passwd eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.`,
  ...[TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), `${TOKEN} ${TOKEN}`, `"${TOKEN}"`],
  ...[`${TOKEN},`, `${TOKEN},sha256:${DIGEST}`, `sha256:${DIGEST}`, DIGEST, `Bearer ${TOKEN}`],
  ...["' OR '1'='1", '${jndi:ldap://a}', '\xff\xfe', '\xc3\xa9', `\x80${TOKEN}`],
  ...['x'.repeat(3_000), `\xe2\x80\x8b${TOKEN}`, `${TOKEN}\xf0\x9f\x8c\xb5`],
];

/** Other ways to write a media type, without a charset or with UTF-8. */
export const SPELLINGS_OF_TYPE: readonly ((type: string) => string)[] = [
  (type) => type,
  (type) => type.toUpperCase(),
  (type) => `  ${type}  `,
  (type) => `${type};charset=UTF-8`,
  (type) => `${type} ; charset=utf-8`,
  (type) => `${type};;Charset="uTf-8"`,
  (type) => `${type}; profile=a`,
  (type) => String.raw`${type};a="\""`,
  (type) => `${type}; a="b;charset=latin1"; charset=utf-8`,
];

/** Texts that resemble a media type but are none. */
export const NEAR_TYPES: readonly ((type: string) => string)[] = [
  (type) => `${type}; charset=iso-8859-1`,
  (type) => `${type}; charset=utf-16`,
  (type) => `${type}; a="b"; charset=windows-1252`,
  (type) => `${type};charset="utf-32"`,
  (type) => `${type};a=b;CHARSET=us-ascii`,
  (type) => `${type}, text/plain`,
  (type) => `text/plain; a=${type}`,
  (type) => `"${type}"`,
  (type) => `;${type}`,
  (type) => `x${type}`,
  (type) => `${type}/x`,
  (type) => `${type}p`,
  (type) => type.replace('/', ' /'),
  (type) => type.replace('/', '\\'),
  (type) => type.replace('/', '\xe2\x80\x8b/'),
];

export const OTHER_TYPES: readonly (string | undefined)[] = [
  undefined,
  '',
  ...words`/ */* json application application/ application/* text/json text/plain text/html
    application/xml application/json5 application/ld+json application/x-json image/gif utf-8
    application/json-patch+json application/x-www-form-urlencoded application/graphql
    application/octet-stream CATS/cats`,
  'multipart/form-data; boundary=a',
];

export const CONTENT_ENCODINGS: readonly string[] = [
  ...words`gzip GZIP x-gzip br deflate compress zstd utf-8 aes128gcm * identity2`,
  ...['gzip, gzip', 'identity, gzip', 'gzip, identity'],
];

/** Paths that a lenient router would accept for the path. */
export const NEAR_PATHS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => path.toUpperCase(),
  (path) => `/${path.charAt(1).toUpperCase()}${path.slice(2)}`,
  (path) => `/${path}`,
  (path) => `${path}//`,
  (path) => `/.${path}`,
  (path) => `/..${path}`,
  (path) => `/x/..${path}`,
  (path) => `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  (path) => `/%2F${path.slice(1)}`,
  (path) => `/v1${path}`,
  (path) => `/api${path}`,
  ...['%2F', '.json', ';a=b', '%00', '%20', '%3Fa', '%0d%0aX:y', ',', '(1)', ':batch', "'--", '|id']
    .concat('s', '/1/', '/1/2/3/4/5')
    .map((end) => (path: string) => path + end),
];

/** Paths on which there is nothing. */
export const UNKNOWN_PATHS: readonly string[] = [
  ...words`/__proto__ /constructor /toString /admin /api /.env /.git/config /actuator /debug /console
    /server-status /swagger.json /openapi.yaml /openapi.json/ /graphql /etc/passwd
    /..%2f..%2fetc/passwd /* /:id /%F0%9F%8C%B5`,
  `/${'a'.repeat(2_000)}`,
];

/** Percent-encoding that cannot be decoded. */
export const UNDECODABLE: readonly string[] = words`
  % %FF %C0%AF %zz %2 %E0%80%80 %ED%A0%80 %u0041 %F4%90%80%80 %C3`;

/** Queries that change nothing where an operation has no parameters in them. */
export const IGNORED_QUERIES: readonly string[] = words`? ?a=b ?id=1&name=a ?%FF
  ?a[b]=c&a[__proto__]=d ?a=1&a=2 ?q='%20OR%201=1-- ?__proto__[a]=b ?dryRun=true ?_method=DELETE
  ?access_token=x ?/../.. ??`;

/** Every method that Node's parser knows, but CONNECT, which asks for a tunnel. */
export const METHODS: readonly string[] = words`
  GET HEAD POST PUT PATCH DELETE OPTIONS TRACE ACL BIND CHECKOUT COPY LINK LOCK M-SEARCH MERGE
  MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH SOURCE
  SUBSCRIBE UNBIND UNLINK UNLOCK UNSUBSCRIBE`;

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
