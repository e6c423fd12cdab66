// Texts at which programs go wrong, as data.

/** The words of a text: `words` followed by a template, in which a backslash is a backslash. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

/** Integers at which a program that computes in doubles, or in fewer bits, goes wrong. */
export const EDGE_INTEGERS: readonly bigint[] = [
  ...[0n, 1n, -1n, 10n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n) - 1n],
  ...[2n ** 63n - 1n, 2n ** 63n - 2n, 2n ** 63n - 8n, -(2n ** 63n), -(2n ** 63n) + 1n],
];

/** JSON that is no int64. */
export const NOT_INT64: readonly string[] = [
  ...words`null true false {} {"id":1} {"$numberLong":"1"} {"valueOf":1} [] [1] "1" "" "1e3" "0x1"
    0.5 -1.5 1.0000000000000000000000001 1e-999999999 922337203685477580.71 9007199254740992.5
    9223372036854775808 -9223372036854775809 9223372036854775807.5 18446744073709551616 1e19
    10000000000000000000000000000000000000000 1e400 1e999999999 -123e400 1e99999999999999999999
    -1E+9223372036854775808 10e-99999999999999999999 0.0000000001e4294967296 100e-4294967298`,
  `1e${'9'.repeat(400)}`,
  // A program that converts digit by digit takes a second or more for this.
  '9'.repeat(90_000),
];

/** JSON that is no string that can be stored. */
export const NOT_TEXT: readonly string[] = words`
  1 0 -1.5 true {} {"toString":"a"} {"$ne":null} [] ["a"] "\u0000" "a\u0000b" "\ud800" "a\udfff"
  "\udc00\ud800" "\ud83c\ud83c\udf35"`;

/** A backslash before every character of ASCII that it may not stand before. */
const NOT_ESCAPES = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
  .filter((character) => !'"\\/bfnrtu'.includes(character))
  .map((character) => `"a\\${character}b"`);

/** Text in the place of a value with which the whole body is not JSON. */
export const NOT_JSON: readonly string[] = [
  ...words`, : 01 -01 +1 .5 1. 1.e5 -.5 1e 1e+ - --1 1_000 0x1F 1n 1, NaN Infinity -Infinity
    undefined True nul nulll None tru\u0065 /1/ a !0 'a' "a""b" "\x41" "\u{41}" "\" "\u00g0" "\'"
    (1) <a/> #1 1; [ ] { } [1 [1,] [,1] [1} {"a"} {"a":} {"a":1,} {a:1} {'a':1} {1:1} 1//a 1/*a*/
    "\u" "\u1" "\u123" "\ud83c\u" "\u+123"`,
  ...NOT_ESCAPES,
  ...[
    '',
    ' ',
    '- 1',
    '1 2',
    '[1 2]',
    '"a" "b"',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '`a`',
    '\v1',
    '\ufeff1',
  ],
  ...[
    '"a\nb"',
    '"a\tb"',
    '"\\\n"',
    '"\u0000"',
    '"\u001f"',
    '\u0661',
    '\uff11',
    '\u00a01',
    '1\u2028',
  ],
  nested(64),
  nested(5_000),
  '{"a":'.repeat(9_000) + '1' + '}'.repeat(9_000),
];

/** Changes that turn an object with members into text that is not JSON. */
export const SPOILERS: readonly ((json: string) => string)[] = [
  ...['}', ']', ',', '{}', 'x', '1', 'null', '//', '/**/', ';', '\0', '\x1e', '\u00a0', '\v'].map(
    (end) => (json: string) => json + end,
  ),
  ...['{', '[', ',', '/**/', '//\n', ")]}',\n", '\0', '\ufeff', '\u00a0', '\u2028', '\v'].map(
    (start) => (json: string) => start + json,
  ),
  ...[1, 2, 5, 7, 9].map((length) => (json: string) => json.slice(0, length)),
  (json) => json.slice(0, -1),
  (json) => json.replace(/\}$/, ',}'),
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
  ...[[0x80], [0xc0, 0xaf], [0xc3], [0xe0, 0x80, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xff]],
  ...[
    [0xf0, 0x80, 0x80, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xff, 0xfe],
  ],
];

/** JSON texts that are not an object. */
export const NOT_OBJECTS: readonly string[] = [
  ...words`null true 0 -1.5e300 1 "" "a" "{}" "\ud800" [] [{}] 1e999999999 [{"id":1,"name":"a"}]
    "{\"id\":1,\"name\":\"a\"}"`,
  ' \t\r\nnull\n',
  nested(64),
];

/** Names that are ordinary members here, and are something else to some programs. */
export const EXTRA_NAMES: readonly string[] = [
  ...words`__proto__ constructor prototype toString valueOf hasOwnProperty toJSON then length ID Id
    Name TAG _id $where isAdmin createdAt id[] id.name rowid error`,
  ...['', ' ', 'id ', 'n\u0430me', 'name\u200b', '\ufeffid', 'tag\0', '\ud800'],
];

export const EXTRA_VALUES: readonly string[] = [
  ...words`null true -0.0e-0 1e999999999 "" [] {} {"id":"x","name":1} [1,[2,{"a":[null]}]]
    {"__proto__":{"name":"b"}} "\u0000\ud800" {"a":1,"a":2} {"constructor":{"prototype":{"tag":"b"}}}
    12345678901234567890.5`,
  nested(63),
];

/** Texts that programs are known to change, drop, run or trip over. */
export const ODD_TEXTS: readonly string[] = [
  ...words`👩‍👩‍👧‍👦 🌵 🏳️‍🌈 🏴󠁧󠁢󠁳󠁣󠁴󠁿 Z͑͗͢L̠ͨG̴̑ ཊུད مَنَوَات ﷺ 田中さん జ్ఞ‌ా \ " ' / \u0041 \0 %00 null NaN 0 true
    __proto__ {} %s%n%d {{7*7}} <%=7*7%> $(id) ../../etc/passwd %0d%0aSet-Cookie:a=b
    <script>alert(1)</script> {"$gt":""}`,
  '${jndi:ldap://localhost/a}',
  ...["'; DROP TABLE plants; --", "' OR '1'='1", '?1 :name @name $name', '{"level":60}\n'],
  ...['', ' ', '  a  ', '\t', '\n', '\r\n', '\u001f\u0001', '\u007f\u0085', '[object Object]'],
  // Invisible, directing, or not characters at all.
  ...[
    '\u200b',
    'a\u00a0',
    '\ufeffa',
    'a\ufeff',
    '\u202eabc',
    '\u2028\u2029',
    '\ufffd',
    '\ufffe\uffff',
  ],
  ...['\u{10ffff}', '\u{10000}', '\ud7ff\ue000'],
  // Equal, or longer, after a change of case or a normalization.
  ...['e\u0301', '\u00e9', '\ufb01', '\u0130', '\u0131', '\u00df', '\u1e9e', '\u212b', '\u00c5'],
];

/** Arrays nested this many levels deep. */
function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}
