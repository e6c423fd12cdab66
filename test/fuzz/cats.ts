import { GOOD_TOKENS, type Field } from './headers.js';
import type { HttpRequest } from './http-request.js';
import { AUTHORIZATION, CONTENT_TYPE } from './requests.js';
import { INT64_MAX, INT64_MIN, nested } from './values.js';
import { words } from './words.js';

// The input classes of CATS (https://github.com/Endava/cats) that a service with one create has.

/** Stands for an id that no other plant has. */
export const ID = '%ID%';

export interface CatsCase {
  /** The class, by the name that CATS gives it. */
  readonly fuzzer: string;
  readonly body: string;
  readonly request?: Partial<HttpRequest>;
  /** The error's code, or the plant that is created. */
  readonly expected:
    number | { readonly id?: bigint; readonly name: string; readonly tag?: string };
}

const LONG = 40_000;

/** Texts that are names and tags like any other: they come back as they were sent. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  EmptyStringsInFields: [''],
  OnlySpacesInFields: [' ', '\u3000', '\u00a0\u2003', '\t', '\n\r'],
  LeadingSpacesInFields: [' a', '\u2000a', '\ta'],
  TrailingSpacesInFields: ['a ', 'a\u2029', 'a\n'],
  OnlyControlCharsInFields: ['\u0001', '\u001b', '\u0007\u0008', '\u007f', '\u009f'],
  LeadingControlCharsInFields: ['\u0002a', '\u200da'],
  WithinControlCharsInFields: ['a\u000bb', 'a\u0015b', 'a\r\nSet-Cookie: b=c'],
  TrailingControlCharsInFields: ['a\u0003', 'a\u001f'],
  OnlyEmojisInFields: ['🌵', '👩🏾‍🌾', '🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
  LeadingEmojisInFields: ['🌵a'],
  WithinEmojisInFields: ['a🌵b', 'a1️⃣b'],
  TrailingEmojisInFields: ['a🌵'],
  ZeroWidthCharsInValues: ['a\u200bb', '\u200c', 'a\u2060', '\ufeffa', 'a\u00adb'],
  ZalgoTextInFields: ['c̷̨̛̥̬͉̘̬̻̩͕͚̦̺̻͓̳͇̲̭̝̙̟̈́̉̐͂͒̆͂̿͌̑͐̌̇̈́̾̉̆̀̅̓͛͋̈̄͊̈̄̎̃̒͂̓̊̌̎̌̃́̅͊̏͘͘͘̕̕͘͠͝a̶͖̐t̴͕̋s̷̛̫̀'],
  AbugidasInFields: ['జ్ఞ‌ా', 'স্র‌ু', 'ཊུད་དཀྲཱ'],
  BidirectionalOverrideFields: ['\u202eevil', 'a\u2067b\u2066c\u2069', '\u200f\u061c'],
  HomoglyphFields: ['n\u0430me', '\u0440lant', '\u{1d42d}ag'],
  FullwidthBracketsFields: ['\uff1cscript\uff1e', '\uff5b\uff5d', '\ufe64b\ufe65'],
  HangulFillerFields: ['\u3164', 'a\u115fb\u1160', '\uffa0'],
  UppercaseExpandingLengthInStringFields: ['\u00df', '\ufb03', '\u0390', '\u0149'],
  UppercaseExpandingBytesInStringFields: ['\u023f', '\u0250', '\u1e9e'],
  LowercaseExpandingLengthInStringFields: ['\u0130'],
  LowercaseExpandingBytesInStringFields: ['\u023a', '\u023e', '\u2126', '\u212a'],
  SqlInjection: [
    "'; DROP TABLE plants; --",
    "' OR '1'='1",
    '1; ATTACH DATABASE "x" AS y',
    "') ON CONFLICT DO UPDATE SET name='x' --",
    "' UNION SELECT sql FROM sqlite_master --",
    '\\\'"; SELECT load_extension("x"); --',
    '?1 :name @name $name',
    "'||(SELECT 1)||'",
  ],
  NoSqlInjection: ['{"$gt":""}', "'; return true; var a='", '{"$where":"sleep(1)"}', '[$ne]=1'],
  XssInjection: ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', 'javascript:a()'],
  CommandInjection: ['; cat /etc/passwd', '$(id)', '`id`', '| sleep 1', '&& whoami', '\n/bin/sh'],
  LdapInjection: ['*)(uid=*))(|(uid=*', 'admin)(&)', '\\2a\\28'],
  SSTI: [
    '{{7*7}}',
    '${7*7}',
    '<%= 7*7 %>',
    '#{7*7}',
    '{{constructor.constructor("a")()}}',
    '%s%n%d',
  ],
  XXE: ['<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', '&lt;&#x41;'],
  PathTraversal: ['../../etc/passwd', '..\\..\\windows\\win.ini', '%2e%2e%2f', 'file:///etc/hosts'],
  LogInjection: ['a\n{"level":60,"msg":"b"}', '${jndi:ldap://localhost/a}', '\u001b[31mred'],
  PrototypePollution: ['__proto__', 'constructor.prototype', '[object Object]'],
  NumericValuesInString: ['0', '-1', '9223372036854775808', '1e999', 'NaN', 'Infinity'],
  BooleanValuesInString: ['true', 'false', 'null', 'undefined'],
  VeryLargeStringsInFields: ['a'.repeat(LONG)],
  VeryLargeUnicodeStringsInFields: ['🌵'.repeat(LONG / 4), '\u0301'.repeat(LONG / 4)],
};

function textCases(): CatsCase[] {
  return Object.entries(TEXTS).flatMap(([fuzzer, texts]) =>
    texts.flatMap((text): CatsCase[] => [
      { fuzzer, body: `{"id":${ID},"name":${JSON.stringify(text)}}`, expected: { name: text } },
      {
        fuzzer,
        body: `{"tag":${JSON.stringify(text)},"name":"a","id":${ID}}`,
        expected: { name: 'a', tag: text },
      },
    ]),
  );
}

type Row = readonly [fuzzer: string, bodies: readonly string[], expected: CatsCase['expected']];

const A = { name: 'a' };

const BODIES: readonly Row[] = [
  ['EmptyBody', ['', ' ', '\n'], 40001],
  ['EmptyJsonBody', ['{}', ' { } '], 40002],
  ['EmptyJsonArrayBody', ['[]', '[{}]'], 40002],
  ['NullBody', ['null'], 40002],
  ['NullUnicodeBody', ['\0', '\u2400', '\\u0000'], 40001],
  ['RandomStringBody', ['bananas', 'a b', '日本', '"'], 40001],
  ['RandomNegativeIntegerBody', ['-1', '-99999999999999999999'], 40002],
  ['RandomPositiveIntegerBody', ['1', '99999999999999999999'], 40002],
  ['RandomNegativeDecimalBody', ['-1.5', '-1e-9'], 40002],
  ['RandomPositiveDecimalBody', ['1.5', '1e999'], 40002],
  ['ZeroIntegerBody', ['0', '-0'], 40002],
  ['ZeroDecimalBody', ['0.0', '0e0'], 40002],
  ['MalformedJson', [`{"id":${ID},"name":"a"}bla`, '{"id":1,"name":"a"', '{"id":1 "name"}'], 40001],
  [
    'RandomDummyInvalidJsonBody',
    ['{"cats":}', '{cats:1}', '{"a":1}}', "{'id':1}", '{"id":?}'],
    40001,
  ],
  ['InsertRandomValuesInBody', [`{"id":${ID},🌵"name":"a"}`, `{"id":${ID},"name":"a";}`], 40001],
  ['RemoveFields', ['{"id":1}', '{"name":"a"}', '{"tag":"a"}', '{"id":1,"tag":"a"}'], 40002],
  ['NullValuesInFields', ['{"id":null,"name":"a"}', '{"id":1,"name":null}'], 40002],
  ['NullValuesInFields', ['{"id":1,"name":"a","tag":null}'], 40002],
  ['StringsInNumericFields', ['{"id":"a","name":"a"}', '{"id":"","name":"a"}'], 40002],
  ['NumericStringsInNumericFields', ['{"id":"1","name":"a"}', '{"id":"-1e3","name":"a"}'], 40002],
  ['NumericValuesInStringFields', ['{"id":1,"name":1}', '{"id":1,"name":"a","tag":0}'], 40002],
  [
    'BooleanValuesInStringFields',
    ['{"id":1,"name":true}', '{"id":1,"name":"a","tag":false}'],
    40002,
  ],
  ['DecimalNumbersInIntegerFields', ['{"id":1.5,"name":"a"}', '{"id":1e-1,"name":"a"}'], 40002],
  ['DecimalNumbersInIntegerFields', [`{"id":${ID}.000,"name":"a"}`], A],
  ['ExtremeNegativeNumbersInIntegerFields', ['{"id":-9223372036854775809,"name":"a"}'], 40002],
  ['ExtremePositiveNumbersInIntegerFields', ['{"id":9223372036854775808,"name":"a"}'], 40002],
  ['VeryLargeIntegersInNumericFields', [`{"id":${'9'.repeat(LONG)},"name":"a"}`], 40002],
  ['VeryLargeDecimalsInNumericFields', [`{"id":1.${'9'.repeat(LONG)},"name":"a"}`], 40002],
  ['IntegerFieldsLeftBoundary', [`{"id":${INT64_MIN},"name":"a"}`], { id: INT64_MIN, ...A }],
  ['IntegerFieldsRightBoundary', [`{"id":${INT64_MAX},"name":"a"}`], { id: INT64_MAX, ...A }],
  ['LeadingZerosInNumericFields', ['{"id":01,"name":"a"}', '{"id":-001,"name":"a"}'], 40001],
  ['WhitespacePaddedNumericFields', [`{"id": \t${ID}\r\n ,"name":"a"}`], A],
  ['WhitespacePaddedNumericFields', ['{"id":" 1 ","name":"a"}'], 40002],
  ['ReplacePrimitivesWithArrays', ['{"id":[1],"name":"a"}', '{"id":1,"name":["a"]}'], 40002],
  ['ReplacePrimitivesWithObjects', ['{"id":{},"name":"a"}', '{"id":1,"name":{"a":"a"}}'], 40002],
  ['ReplaceObjectsWithArrays', ['[{"id":1,"name":"a"}]', '[1,"a"]'], 40002],
  ['ReplaceObjectsWithPrimitives', ['"a"', '1', 'true', 'false'], 40002],
  ['NewFields', [`{"id":${ID},"name":"a","catsFuzzyField":"b"}`], A],
  ['NewFields', [`{"id":${ID},"name":"a","b":{"id":"c","name":1,"tag":null}}`], A],
  [
    'MassAssignment',
    words`"rowid":1 "createdAt":"b" "isAdmin":true "role":"admin" "_id":2
    "__proto__":{"tag":"b"} "constructor":{"prototype":{"tag":"b"}} "ID":3 "Tag":"b"`.map(
      (member) => `{"id":${ID},"name":"a",${member}}`,
    ),
    A,
  ],
  ['DuplicateKeysInFields', ['{"id":1,"id":1,"name":"a"}', '{"id":1,"id":2,"name":"a"}'], 40002],
  [
    'DuplicateKeysInFields',
    ['{"id":1,"name":"a","name":"b"}', '{"id":1,"name":"a","tag":"b","tag":"b"}'],
    40002,
  ],
  ['DuplicateKeysInFields', ['{"id":1,"name":"a","n\\u0061me":"b"}'], 40002],
  ['DuplicateKeysInFields', [`{"id":${ID},"name":"a","other":1,"other":2}`], A],
  ['ZeroWidthCharsInNames', ['{"i\u200bd":1,"name":"a"}', '{"id":1,"\ufeffname":"a"}'], 40002],
  ['InsertWhitespacesInFieldNames', ['{" id":1,"name":"a"}', '{"id":1,"name\\t":"a"}'], 40002],
  ['ChangeCaseOfFieldNames', ['{"ID":1,"name":"a"}', '{"id":1,"Name":"a"}'], 40002],
  [
    'NullCharsInFields',
    ['{"id":1,"name":"a\\u0000b"}', '{"id":1,"name":"a","tag":"\\u0000"}'],
    40002,
  ],
  [
    'InvalidSurrogatesInFields',
    ['{"id":1,"name":"\\ud800"}', '{"id":1,"name":"a","tag":"\\udc00a"}'],
    40002,
  ],
  ['DeeplyNestedFields', [`{"id":${ID},"name":"a","b":${nested(63, '1')}}`], A],
  [
    'DeeplyNestedFields',
    [`{"id":${ID},"name":"a","b":${nested(64, '1')}}`, nested(LONG, '')],
    40001,
  ],
];

const GOOD_BODY = `{"id":${ID},"name":"a"}`;

type HeaderRow = readonly [
  fuzzer: string,
  headers: readonly (readonly Field[])[],
  expected: CatsCase['expected'],
];

const [TOKEN] = GOOD_TOKENS;
const GOOD: readonly Field[] = [AUTHORIZATION, CONTENT_TYPE];

function extra(name: string, ...values: string[]): (readonly Field[])[] {
  return values.map((value) => [...GOOD, [name, Buffer.from(value).toString('latin1')]]);
}

function authorization(...values: string[]): (readonly Field[])[] {
  return values.map((value) => [
    CONTENT_TYPE,
    ['Authorization', Buffer.from(value).toString('latin1')],
  ]);
}

function contentType(...values: string[]): (readonly Field[])[] {
  return values.map((value) => [
    AUTHORIZATION,
    ['Content-Type', Buffer.from(value).toString('latin1')],
  ]);
}

const HEADERS: readonly HeaderRow[] = [
  ['BypassAuthentication', [[CONTENT_TYPE], ...authorization('', 'Bearer', 'Basic YTpi')], 40100],
  ['BypassAuthentication', authorization('Bearer x', `Bearer ${TOKEN}x`, 'Bearer null'), 40101],
  ['RemoveHeaders', [[], [CONTENT_TYPE]], 40100],
  ['RemoveHeaders', [[AUTHORIZATION]], 41500],
  ['DummyContentTypeHeaders', contentType('application/cats', 'cats', ''), 41500],
  [
    'UnsupportedContentTypesHeaders',
    contentType(...words`application/xml text/csv image/gif`),
    41500,
  ],
  ['DummyAcceptHeaders', extra('Accept', 'application/cats', 'cats', '', ';q=2'), A],
  ['UnsupportedAcceptHeaders', extra('Accept', ...words`application/xml text/csv image/gif`), A],
  ['DummyContentEncodingHeaders', extra('Content-Encoding', 'cats', 'gzip'), 41500],
  ['ExtraHeaders', extra('Cats-Fuzzy-Header', 'cats', ''), A],
  [
    'DuplicateHeaders',
    [[...GOOD, ['X-Cats', 'a'], ['X-Cats', 'b'], ['Accept', 'a'], ['Accept', 'b']]],
    A,
  ],
  ['LargeNumberOfRandomHeaders', [[...GOOD, ...manyHeaders(300)]], A],
  ['VeryLargeStringsInHeaders', extra('X-Cats', 'a'.repeat(8_000)), A],
  ['VeryLargeStringsInHeaders', authorization(`Bearer ${'a'.repeat(8_000)}`), 40101],
  ['VeryLargeUnicodeStringsInHeaders', extra('X-Cats', '🌵'.repeat(2_000)), A],
  ['CRLFHeaders', extra('X-Cats', '%0d%0aSet-Cookie: a=b', 'a\\r\\nSet-Cookie: b'), A],
  ['AbugidasInHeaders', extra('X-Cats', 'జ్ఞ‌ా', 'স্র‌ু'), A],
  ['AbugidasInHeaders', authorization('Bearer జ్ఞ‌ా'), 40101],
  ['ZalgoTextInHeaders', extra('X-Cats', 'c̷̨̛̥̬a̶͖̐t̴͕̋s̷̛̫̀'), A],
  ['ZeroWidthCharsInHeaders', extra('X-Cats', '\u200ba\u2060', '\ufeff'), A],
  [
    'ZeroWidthCharsInHeaders',
    authorization(`Bearer \u200b${TOKEN}`, `Bearer ${TOKEN}\u200b`),
    40101,
  ],
  [
    'ZeroWidthCharsInHeaders',
    contentType('application\u200b/json', '\ufeffapplication/json'),
    41500,
  ],
  ['EmojisInHeaders', extra('X-Cats', '🌵', 'a🌵b'), A],
  ['EmojisInHeaders', authorization(`Bearer ${TOKEN}🌵`), 40101],
  ['EmojisInHeaders', contentType('🌵', 'application/json🌵'), 41500],
  ['LeadingSpacesInHeaders', [[['Authorization', `   ${AUTHORIZATION[1]}`], CONTENT_TYPE]], A],
  ['TrailingSpacesInHeaders', [[['Authorization', `${AUTHORIZATION[1]}\t `], CONTENT_TYPE]], A],
  ['OnlySpacesInHeaders', authorization('   '), 40100],
  ['OnlySpacesInHeaders', contentType('   '), 41500],
];

function manyHeaders(count: number): Field[] {
  return Array.from({ length: count }, (_, index) => [`X-Cats-${index}`, `value ${index}`]);
}

const METHODS: readonly (readonly [fuzzer: string, methods: readonly string[]])[] = [
  ['HttpMethods', words`PUT PATCH DELETE TRACE`],
  [
    'NonRestHttpMethods',
    words`COPY LINK LOCK MERGE MKCOL MOVE PROPFIND PURGE SEARCH UNLINK UNLOCK`,
  ],
];

export const CATS_CASES: readonly CatsCase[] = [
  ...BODIES.flatMap(([fuzzer, bodies, expected]) =>
    bodies.map((body): CatsCase => ({ fuzzer, body, expected })),
  ),
  ...textCases(),
  ...HEADERS.flatMap(([fuzzer, many, expected]) =>
    many.map((headers): CatsCase => ({ fuzzer, body: GOOD_BODY, request: { headers }, expected })),
  ),
  ...METHODS.flatMap(([fuzzer, methods]) =>
    methods.map((method): CatsCase => ({
      fuzzer,
      body: GOOD_BODY,
      request: { method },
      expected: 40500,
    })),
  ),
];
