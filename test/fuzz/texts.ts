import { Decimal } from './json-text.js';

// Values at which programs go wrong, as data.

/** The words of a text: `words` followed by a template, in which a backslash is a backslash. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/** Integers at which a program that computes in doubles, or in fewer bits, goes wrong. */
export const EDGE_INTEGERS: readonly bigint[] = [
  ...[0n, 1n, -1n, 9n, 10n, 100n],
  ...[INT64_MIN, INT64_MIN + 1n, INT64_MAX, INT64_MAX - 1n, INT64_MAX - 7n, INT64_MIN + 8n],
  ...[2n ** 31n, 2n ** 31n - 1n, -(2n ** 31n), -(2n ** 31n) - 1n, 2n ** 32n, 2n ** 32n - 1n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n) - 1n],
  ...[10n ** 15n, 10n ** 18n, 9n * 10n ** 18n, -(10n ** 18n), 2n ** 62n, 2n ** 62n + 1n],
];

/** Integers that have more than 64 bits, and numbers beyond every double. */
export const FAR_INTEGERS: readonly Decimal[] = [
  ...[INT64_MAX + 1n, INT64_MIN - 1n, INT64_MAX + 2n, INT64_MIN - 2n, 2n ** 64n - 1n, 2n ** 64n],
  ...[10n ** 19n, -(10n ** 19n), 2n ** 127n, -(2n ** 128n) - 1n, 10n ** 400n],
]
  .map((integer) => Decimal.of(integer))
  .concat([
    new Decimal(false, '1', 308),
    new Decimal(false, '1', 309),
    new Decimal(false, '1', 999_999_999),
    new Decimal(true, '123', 400),
  ]);

/** A number of this many digits takes a second or more to convert with care for each digit. */
export const MANY_DIGITS = new Decimal(false, '9'.repeat(90_000), 0);

/** Numbers with a fraction, some of them so small that no double shows it. */
export const FRACTIONS: readonly Decimal[] = [
  new Decimal(false, '5', -1),
  new Decimal(true, '15', -1),
  new Decimal(false, '1', -999_999_999),
  new Decimal(false, `1${'0'.repeat(25)}1`, -26),
  new Decimal(false, '92233720368547758071', -1),
  new Decimal(false, '90071992547409930000000001', -10),
  new Decimal(true, '92233720368547758085', -1),
];

/** Numbers other than zero with exponents that no double holds. */
export const FAR_EXPONENTS: readonly string[] = [
  ...words`1e99999999999999999999 -1E+9223372036854775808 10e-99999999999999999999 1e1000000
    0.0000000001e4294967296 100e-4294967298`,
  `1e${'9'.repeat(400)}`,
  `-1e-${'9'.repeat(400)}`,
];

/** JSON texts, by their type. Those of strings and numbers look like something else. */
export const TEXTS_OF_TYPES: Readonly<Record<string, readonly string[]>> = {
  null: ['null'],
  boolean: ['true', 'false'],
  object: words`{} {"":{}} {"id":1} {"valueOf":1} {"$numberLong":"1"} {"$gt":0} {"length":1}
    {"toString":"a"} {"$ne":null} {"__proto__":"a"}`,
  array: words`[] [null] [1] ["a"] [[["a"]]]`,
  string: words`"1" "" "1e3" "0x1" "NaN" "null" "true" "9223372036854775807" "\u0031"`,
  number: words`1 0 -1 1.5 1e999 9007199254740993`,
};

/** A backslash before every character of ASCII that it may not stand before. */
const NOT_ESCAPES = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  .filter((character) => !'"\\/bfnrtu'.includes(character))
  .map((character) => `"a\\${character}b"`);

/** Text in the place of a value with which the whole body is not JSON. */
export const NOT_JSON: readonly string[] = [
  ...words`, : 01 -01 00 +1 .5 1. 1.e5 -.5 1e 1e+ 1.5e - --1 1_000 0x1F 0b1 1n 1, 1f
    NaN -NaN Infinity -Infinity undefined True FALSE nul nulll None tru\u0065 /1/ a 1=1 !0 *a @a
    'a' "a a" "a""b" "\x41" "\u12" "\u{41}" "\" "\U0041" "\u00g0" "\a" "\'" (1) <a/> {{1}} #1 1;
    [ ] { } [1 [1,] [,1] [1} {"a"} {"a":} {"a":1,} {a:1} {'a':1} {1:1} 1//a 1/*a*/`,
  ...NOT_ESCAPES,
  ...words`"\u" "\u1" "\u123" "\u12G4" "\ud83c\u" "\u-123" "\u+123"`,
  ...[
    '',
    ' ',
    '- 1',
    '1 2',
    '[1 2]',
    '"a" "b"',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '"\\ "',
    '`a`',
    '&a 1',
  ],
  ...['"a\nb"', '"a\tb"', '"\\\n"', '"\u0000"', '"\u001f"', '"\u0007"', '\v1', '\f1', '\ufeff1'],
  ...['\u0661', '\uff11', '\u201ca\u201d', '\u00a01', '1\u2028'],
];

const AFTER_IT = [
  '}',
  ']',
  ',',
  '{}',
  'x',
  '1',
  'null',
  '//',
  '/**/',
  ';',
  '\0',
  '\x1e',
  '\u00a0',
  '\v',
];
const BEFORE_IT = [
  '{',
  '[',
  ',',
  '/**/',
  '//\n',
  ")]}',\n",
  '\0',
  '\ufeff',
  '\u00a0',
  '\u2028',
  '\v',
];

/** Changes that turn an object with members into text that is not JSON. */
export const SPOILERS: readonly ((json: string) => string)[] = [
  ...AFTER_IT.map((end) => (json: string) => json + end),
  ...BEFORE_IT.map((start) => (json: string) => start + json),
  (json) => json.replace(/\}\s*$/, ',}'),
  (json) => json.replace('{', '{,'),
  (json) => json.replace(':', '='),
  (json) => json.replace(':', '::'),
  (json) => json.replace(':', ' '),
  (json) => json.replace('"', "'"),
  (json) => json.replace('"', ''),
  (json) => `${json}\n${json}`,
];

/** Bytes that no UTF-8 text has at the boundary of a character. */
export const NOT_UTF8: readonly (readonly number[])[] = [
  ...[[0x80], [0xbf], [0xc0, 0xaf], [0xc1, 0xbf], [0xc3], [0xe0, 0x80, 0x80], [0xe2, 0x82]],
  ...[[0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x9f, 0x98], [0xfe]],
  ...[[0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff], [0xff, 0xfe], [0xe9]],
];

/** JSON texts that are not an object. */
export const NOT_OBJECTS: readonly string[] = [
  ...words`null true false 0 -1.5e300 1 "" "a" "{}" "\ud800" [] [[]] [{}] [1,"a"] 1e999999999
    [{"id":1,"name":"a"}] "{\"id\":1,\"name\":\"a\"}"`,
  ' \t\r\nnull\n',
  nested(64, ''),
  nested(64, '1'),
];

/** Names that are ordinary members here, and are something else to some programs. */
export const EXTRA_NAMES: readonly string[] = [
  ...words`__proto__ constructor prototype toString valueOf hasOwnProperty toJSON then length ID Id
    __defineGetter__ Name NAME TAG _id $where $id isAdmin role createdAt deletedAt owner id[]
    id.name plant 0 error rowid`,
  ...['', ' ', 'id ', ' name', 'n\u0430me', 'name\u200b', '\ufeffid', 'tag\0', '\0id', '\ud800'],
];

export const EXTRA_VALUES: readonly string[] = words`
  null true 0 -0.0e-0 1e999999999 "" "a" [] {} {"id":"x","name":1} [1,[2,{"a":[null]}]]
  {"__proto__":{"name":"b"}} "\u0000\ud800" {"a":1,"a":2} {"constructor":{"prototype":{"tag":"b"}}}
  "\ud83c\udf35" 12345678901234567890.5`;

/** Texts that programs are known to change, drop, run or trip over. */
export const ODD_TEXTS: readonly string[] = [
  ...words`👩‍👩‍👧‍👦 🌵 🏳️‍🌈 🇳🇱 🏴󠁧󠁢󠁳󠁣󠁴󠁿 Z͑͗͢L̠ͨG̴̑ ཊུད ᚠᛇᚻ مَنَوَات ﷺ 田中さん జ్ఞ‌ా ［］｛｝ \ " ' / \u0041 \0 %00 null
    undefined NaN 0 true __proto__ constructor {} %s%n%d {{7*7}} <%=7*7%> $(id)`,
  ...words`*)(uid=*))(|(uid=* ../../etc/passwd ..\..\win.ini file:///etc/hosts %0d%0aSet-Cookie:a=b
    <script>alert(1)</script> javascript:a() {"$gt":""} [$ne]=1`,
  ...["'; DROP TABLE plants; --", "' OR '1'='1", "' UNION SELECT sql FROM sqlite_master --"],
  ...[
    '${7*7}',
    '${jndi:ldap://localhost/a}',
    '?1 :name @name $name',
    "'||(SELECT 1)||'",
    '; cat /etc/passwd',
    '{"level":60,"msg":"b"}\n',
  ],
  ...['', ' ', '  a  ', '\t', '\n', '\r\n', '\u001f\u0001', '\u007f\u0085', '[object Object]'],
  // Invisible, directing, or not characters at all.
  ...['\u200b', 'a\u00a0', '\ufeffa', 'a\ufeff', '\u202eabc', '\u2066a\u2069', '\u2028\u2029'],
  ...['\ufffd', '\ufffe\uffff', '\u{10ffff}', '\u{10000}', '\ud7ff\ue000', '\u3164', '\u115f'],
  // Equal, or longer, after a change of case or a normalization.
  ...['e\u0301', '\u00e9', '\ufb01', '\u0130', '\u0131', '\u00df', '\u1e9e', '\u212b', '\u00c5'],
  ...['\uac00', '\u1100\u1161', '\ufdfa', '\u0390', '\u023a'],
];

/** In a text, each of these stays U+0000 or an unpaired surrogate. */
export const POISONS: readonly string[] = [
  ...['\0', 'a\0', '\ud800', 'a\udfff', '\udc00\ud800', '\ud83c\ud83c\udf35', '\0b', '\udc00a'],
];

/** The text of a value nested this many levels deep. */
export function nested(levels: number, inside: string): string {
  return '['.repeat(levels) + inside + ']'.repeat(levels);
}

export function nestedObjects(levels: number): string {
  return '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
}
