import type { Field, Framing, HttpRequest } from '../support/http/request.js';
import { TOKEN } from '../../packages/platform/src/testing/token.js';
import type { Patch } from './model.js';
import { INVALID_IDS, INVALID_UTF8, NOT_TEXTS, words } from './texts.js';

/** The operations on plants. */
export type PlantOperation = 'create' | 'put' | 'patch' | 'remove' | 'read' | 'list' | 'import';

/** The members of an object with their values as JSON. */
export type Members = readonly (readonly [name: string, json: string])[];

/** A request before its body is written. */
export interface Draft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Field[];
  readonly members?: Members;
  /** In place of the members. */
  readonly body?: Buffer;
  readonly framing?: Framing;
}

/** Of several flaws, the one with the first of these stages decides which error is answered. */
enum Stage {
  Path,
  Method,
  Token,
  Parameters,
  NoBody,
  MediaType,
  Length,
  Spelling,
  Text,
  /** Changes that never cause an error. */
  Others,
}

type Change = (draft: Draft) => Draft;

/** A change to a request. */
export interface Variation {
  readonly stage: Stage;
  /** The error that it causes; undefined if the answer stays as it is. */
  readonly error: number | undefined;
  readonly operations: readonly PlantOperation[];
  /** A description for the reader. */
  readonly what: string;
  readonly change: Change;
  /** The name of the member or parameter at fault, which the message of the error contains. */
  readonly fault: string;
}

/** The limit of a body and of a line of an import, in bytes. */
export const BODY_LIMIT = 102_400;

const OF_ITEM: readonly PlantOperation[] = ['put', 'patch', 'remove', 'read'];
const OF_ALL: readonly PlantOperation[] = ['create', 'list'];
const WITH_JSON: readonly PlantOperation[] = ['create', 'put', 'patch'];
const WITH_BODY: readonly PlantOperation[] = [...WITH_JSON, 'import'];
const ALL: readonly PlantOperation[] = [...WITH_BODY, 'remove', 'read', 'list'];

/** The media types that an operation takes. */
const TAKEN: readonly (readonly [PlantOperation, string])[] = [
  ['create', 'application/json'],
  ['put', 'application/json'],
  ['patch', 'application/json'],
  ['patch', 'application/merge-patch+json'],
  ['import', 'application/x-ndjson'],
];

/** Writes a request with these changes. */
export function writeRequest(draft: Draft, variations: readonly Variation[] = []): HttpRequest {
  const inOrder = [...variations].sort((a, b) => b.stage - a.stage);
  const { members, ...request } = inOrder.reduce((one, { change }) => change(one), draft);
  const body = request.body ?? (members && writeBody(members));
  if (body === undefined) return { ...request, body: Buffer.alloc(0), framing: 'none' };
  return { ...request, body };
}

/** The members of a plant, or of a merge patch of one. */
export function toMembers({ id, ...others }: Patch & { readonly id?: bigint }): Members {
  const members = Object.entries(others).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  return id === undefined ? members : [['id', String(id)], ...members];
}

export function writeBody(members: Members = []): Buffer {
  return Buffer.from(
    `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`,
  );
}

/** Replaces the whole body, given as text. */
function rewrite(change: (text: string) => string | Buffer): Change {
  return (draft) => {
    const { members, body = writeBody(members) } = draft;
    return { ...draft, body: Buffer.from(change(body.toString()) as string) };
  };
}

/** Replaces a header; without a value, removes it. */
function withField(name: string, value: string | undefined): Change {
  return (draft) => {
    const isOther = ([other]: Field): boolean => other.toLowerCase() !== name.toLowerCase();
    const others = draft.headers.filter(isOther);
    return { ...draft, headers: value === undefined ? others : [...others, [name, value]] };
  };
}

/** Puts JSON in the place of a member; without it, removes the member. */
function setMember(name: string): (json: string | undefined) => Change {
  return (json) => (draft) => {
    const others = draft.members?.filter(([other]) => other !== name) ?? [];
    return { ...draft, members: json === undefined ? others : [...others, [name, json]] };
  };
}

function withTarget(change: (path: string) => string): Change {
  return (draft) => ({ ...draft, target: change(draft.target.replace(/\?.*/, '')) });
}

/** Lengthens the body to this many bytes, unless it is longer already. */
function padTo(length: number): Change {
  return rewrite((text) => text + ' '.repeat(Math.max(0, length - Buffer.byteLength(text))));
}

/** Makes a variation of each value. */
function vary<T>(
  stage: Stage,
  error: number | undefined,
  operations: readonly PlantOperation[],
  values: readonly T[],
  change: (value: T) => Change,
  fault = '',
): Variation[] {
  return values.map((value) => ({
    stage,
    error,
    operations,
    what: `${Stage[stage]} ${String(value).slice(0, 100)}`,
    change: change(value),
    fault,
  }));
}

const setMethod =
  (method: string): Change =>
  (draft) => ({ ...draft, method });
const setToken = (value: string | undefined): Change => withField('Authorization', value);
const setType = (type: string | undefined): Change => withField('Content-Type', type);
const setEncoding = (encoding: string): Change => withField('Content-Encoding', encoding);
const setQuery = (query: string): Change => withTarget((path) => `${path}?${query}`);

const giveTwice =
  (name: string): Change =>
  (draft) => ({ ...draft, members: [...(draft.members ?? []), [name, '"a"'], [name, '"a"']] });

const toHex = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, '0');

/** Queries of a list that are refused because of their first parameter. */
const BAD_QUERIES: readonly string[] = [
  ...words`limit=0 limit=1001 limit=1.0 limit= after=-0 after=9223372036854775808 sort=ID sort= name=
    name=a%00 tag=%00 limit=1&limit=1 offset=1 __proto__=1 sort=id&name=a tag=a&sort=name`,
  `name=${'a'.repeat(65)}`,
  `tag=${'a'.repeat(4_097)}`,
];

/** Headers that change nothing. */
export const EXTRA_FIELDS: readonly Field[] = [
  ['Accept', 'application/json;q=0, */*;q=0'],
  ['Accept-Encoding', 'gzip, br'],
  ['Connection', 'close'],
  ['Cookie', 'a=b; __proto__=c; %=%'],
  ['Expect', '100-continue'],
  ['Range', 'bytes=0-0'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Cats', Buffer.from('🌵 \u202e').toString('latin1')],
  ['__proto__', 'a'],
  ['X-Request-Id', 'abc-123_DEF'],
  ['X-Request-Id', 'x'.repeat(2_000)],
  ['X-Request-Id', '<script>alert(1)</script>'],
];

/** Changes after which a request is answered as it is without them. */
export const HARMLESS: readonly Variation[] = [
  ...vary(Stage.Token, undefined, ALL, [`bearer ${TOKEN}`, `BEARER   ${TOKEN}  `], setToken),
  ...vary(Stage.Others, undefined, ALL, EXTRA_FIELDS, (field) => withField(...field)),
  ...vary(
    Stage.Parameters,
    undefined,
    ALL.filter((one) => one !== 'list'),
    words`a=b id=1&name=a %FF a[b]=c&a[__proto__]=d a=1&a=2 _method=DELETE /../..`,
    setQuery,
  ),
  ...TAKEN.flatMap(([operation, type]) => {
    const spelled = [type.toUpperCase(), `${type};;Charset="uTf-8"`, `${type}; a="b;charset=x"`];
    return vary(Stage.MediaType, undefined, [operation], [type, ...spelled], setType);
  }),
  ...vary(Stage.MediaType, undefined, WITH_BODY, ['identity', 'Identity'], setEncoding),
  ...vary(Stage.Others, undefined, WITH_BODY, [[7, 4_096], [1]], (chunks) => (draft) => ({
    ...draft,
    framing: { chunks },
  })),
  ...vary(Stage.Others, undefined, ['remove', 'read'], ['{', '{"id":1}'], (text) =>
    rewrite(() => text),
  ),
  ...vary(Stage.Length, undefined, WITH_JSON, [BODY_LIMIT], padTo),
  ...vary(Stage.Spelling, undefined, WITH_JSON, ['\t', '\r\n  '], (gap) =>
    rewrite((text) => gap + text.replaceAll(/(?<=^\{)|(?=\}$)/g, gap) + gap),
  ),
  ...vary(Stage.Spelling, undefined, WITH_JSON, ['\\u'], (escape) =>
    rewrite((text) => text.replaceAll(/[^ -~]/g, (unit) => escape + toHex(unit))),
  ),
  ...vary(Stage.Text, undefined, WITH_JSON, ['reversed'], () => (draft) => ({
    ...draft,
    members: draft.members?.toReversed() ?? [],
  })),
  ...vary(
    Stage.Text,
    undefined,
    WITH_JSON,
    words`__proto__ constructor toString toJSON ID Name _id id.name`,
    (name) => setMember(name)('null'),
  ),
  ...vary(
    Stage.Text,
    undefined,
    WITH_JSON,
    words`-0.0e-0 1e999999999 [1,[2,{"a":[null]}]] {"__proto__":{"name":"b"}} "\u0000\ud800" {"a":1,"a":2}`,
    setMember('other'),
  ),
  ...vary(Stage.Text, undefined, ['put', 'patch'], INVALID_IDS, setMember('id')),
];

/** Changes that cause an error, whatever is stored. */
export const FLAWS: readonly Variation[] = [
  ...vary(
    Stage.Path,
    40400,
    OF_ALL,
    words`/PLANTS //plants /plants/ /plants/1/ /x/../plants /%70lants /plants%2F /plants;a=b
      /plants.json /v1/plants /__proto__ /..%2f..%2fetc/passwd`,
    (path) => withTarget(() => path),
  ),
  ...vary(Stage.Path, 40000, ALL, words`% %FF %C0%AF %zz %ED%A0%80`, (text) =>
    withTarget((path) => path + text),
  ),
  ...vary(Stage.Method, 40500, OF_ALL, ['PUT', 'PATCH', 'DELETE'], setMethod),
  ...vary(Stage.Method, 40500, OF_ITEM, ['POST'], setMethod),
  ...vary(Stage.Method, 40500, [...OF_ALL, ...OF_ITEM], ['TRACE', 'M-SEARCH'], setMethod),
  ...vary(
    Stage.Token,
    40100,
    ALL,
    [undefined, '', 'Bearer', `Basic ${TOKEN}`, `Bearer${TOKEN}`],
    setToken,
  ),
  ...vary(
    Stage.Token,
    40101,
    ALL,
    ['x', TOKEN.slice(1), `${TOKEN}x`, `${TOKEN} ${TOKEN}`, '\xff\xfe', 'x'.repeat(3_000)],
    (token) => setToken(`Bearer ${token}`),
  ),
  ...vary(
    Stage.Parameters,
    40003,
    OF_ITEM,
    words`- -0 +1 %2B1 01 1.0 1e3 0x1 %201 1%0A %D9%A1 null 1;a=b 1%00 9223372036854775808`,
    (id) => withTarget(() => `/plants/${id}`),
    'id',
  ),
  ...BAD_QUERIES.flatMap((query) => {
    const [name] = query.split('=');
    return vary(Stage.Parameters, 40003, ['list'], [query], setQuery, name);
  }),
  ...vary(Stage.NoBody, 40001, WITH_JSON, ['empty'], () => rewrite(() => '')),
  ...TAKEN.flatMap(([operation, type]) =>
    vary(
      Stage.MediaType,
      41500,
      [operation],
      [
        ...[undefined, '', '*/*', 'text/json', 'application/ld+json', `x${type}`, `${type}p`],
        ...[`${type}; charset=latin1`, `${type}, text/plain`, `text/plain; a=${type}`],
      ],
      setType,
    ),
  ),
  ...vary(Stage.MediaType, 41500, WITH_BODY, ['gzip', 'utf-8', 'identity, gzip'], setEncoding),
  ...vary(Stage.Length, 41300, WITH_JSON, [[BODY_LIMIT], [1]], (chunks) => (draft) => ({
    ...padTo(BODY_LIMIT + 1)(draft),
    framing: { chunks },
  })),
  ...vary(Stage.Length, 41300, WITH_JSON, [BODY_LIMIT + 1, 2 * BODY_LIMIT], padTo),
  ...vary(
    Stage.Text,
    40001,
    WITH_JSON,
    words`01 +1 1. NaN nul 'a' "\x41" "\u00g0" [1,] {"a":1,} {a:1} 1//a`,
    setMember('name'),
  ),
  ...vary(Stage.Text, 40001, WITH_JSON, ['}', '{}', 'x', '\0', '\u00a0'], (end) =>
    rewrite((json) => json + end),
  ),
  ...vary(Stage.Text, 40001, WITH_JSON, ['[', '\ufeff', '//\n'], (start) =>
    rewrite((json) => start + json),
  ),
  ...vary(
    Stage.Text,
    40001,
    WITH_JSON,
    INVALID_UTF8.map((bytes) => Buffer.from(bytes)),
    (bytes) => rewrite((text) => Buffer.concat([Buffer.from(text.slice(0, -1)), bytes])),
  ),
  ...vary(
    Stage.Text,
    40002,
    WITH_JSON,
    words`null 0 "{}" [] [{"id":1,"name":"a"}] "{\"id\":1}"`,
    (text) => rewrite(() => text),
  ),
  ...vary(Stage.Text, 40002, ['create'], [...INVALID_IDS, undefined], setMember('id'), 'id'),
  ...vary(Stage.Text, 40002, WITH_JSON, [...NOT_TEXTS, 'null'], setMember('name'), 'name'),
  ...vary(Stage.Text, 40002, WITH_JSON, NOT_TEXTS, setMember('tag'), 'tag'),
  ...vary(Stage.Text, 40002, ['create', 'put'], [undefined], setMember('name'), 'name'),
  ...vary(Stage.Text, 40002, ['create', 'put'], ['null'], setMember('tag'), 'tag'),
  ...['name', 'tag'].flatMap((name) => vary(Stage.Text, 40002, WITH_JSON, [name], giveTwice, name)),
];
