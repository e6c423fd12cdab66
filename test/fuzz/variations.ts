import { type Members, PLAIN, type Spelling, writeObject } from './body.js';
import * as headers from './headers.js';
import type { Field, Framing, HttpRequest } from '../support/http/request.js';
import * as texts from './texts.js';

/** The operations on plants. */
export type PlantOperation = 'create' | 'put' | 'patch' | 'remove' | 'read' | 'list' | 'import';

/** A request before its body is written. */
export interface Draft {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Field[];
  readonly members?: Members;
  readonly spelling?: Spelling;
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
  Text,
  /** Changes that never cause an error. */
  Others,
}

/** A change to a request. */
export interface Variation {
  readonly operations: readonly PlantOperation[];
  /** What it is, for the reader. */
  readonly what: string;
  readonly stage: Stage;
  /** The error that it causes; undefined if the answer stays as it is. */
  readonly error?: number;
  /** The names in the message of the error. */
  readonly names?: readonly string[];
  readonly change: (draft: Draft) => Draft;
}

/** The limit of a body and of a line of an import, in bytes. */
export const BODY_LIMIT = 102_400;

const OF_ITEM: readonly PlantOperation[] = ['put', 'patch', 'remove', 'read'];
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
  const { members, spelling, ...request } = inOrder.reduce((one, { change }) => change(one), draft);
  const body =
    members === undefined ? request.body : (request.body ?? writeBody(members, spelling));
  if (body === undefined) return { ...request, body: Buffer.alloc(0), framing: 'none' };
  return { ...request, body };
}

function writeBody(members: Members = [], spelling = PLAIN): Buffer {
  return Buffer.from(writeObject(members, spelling));
}

/** Changes the whole body as text. */
function rewrite(change: (text: string) => string | Buffer): Variation['change'] {
  return (draft) => {
    const { members, spelling, body = writeBody(members, spelling) } = draft;
    return { ...draft, body: Buffer.from(change(body.toString()) as string) };
  };
}

/** Replaces the header of this name. */
function withField([name, value]: Field): Variation['change'] {
  return (draft) => ({ ...draft, headers: [...withoutField(name)(draft).headers, [name, value]] });
}

function withoutField(name: string): Variation['change'] {
  const isOther = ([other]: Field): boolean => other.toLowerCase() !== name.toLowerCase();
  return (draft) => ({ ...draft, headers: draft.headers.filter(isOther) });
}

/** Puts this JSON in the place of a member; without it, removes the member. */
function withMember(name: string, json?: string): Variation['change'] {
  return (draft) => {
    const others = draft.members?.filter(([other]) => other !== name) ?? [];
    return { ...draft, members: json === undefined ? others : [...others, [name, json]] };
  };
}

function withQuery(query: string): Variation['change'] {
  return (draft) => ({ ...draft, target: draft.target.replace(/(\?.*)?$/, query) });
}

function withPath(change: (path: string) => string): Variation['change'] {
  return (draft) => ({ ...draft, target: change(draft.target.replace(/\?.*/, '')) });
}

function withId(text: string): Variation['change'] {
  return withPath(() => `/plants/${text}`);
}

/** Lengthens the body to this many bytes, unless it is longer already. */
function padTo(length: number): Variation['change'] {
  return rewrite((text) => text + ' '.repeat(Math.max(0, length - Buffer.byteLength(text))));
}

/** Makes a variation of each value. */
function vary<T>(
  operations: readonly PlantOperation[],
  stage: Stage,
  error: number | undefined,
  values: readonly T[],
  change: (value: T) => Variation['change'],
  nameFaults: (value: T) => readonly string[] = () => [],
): Variation[] {
  return values.map((value) => ({
    operations,
    what: `${change.name || Stage[stage]} ${String(value).slice(0, 100)}`,
    stage,
    ...(error !== undefined && { error }),
    names: nameFaults(value),
    change: change(value),
  }));
}

/** Changes after which a request is answered as it is without them. */
export const HARMLESS: readonly Variation[] = [
  ...vary(ALL, Stage.Token, undefined, headers.ACCEPTED, (field) => withField(field)),
  ...vary(ALL, Stage.Others, undefined, headers.EXTRA_FIELDS, (field) => withField(field)),
  ...vary(
    ALL.filter((one) => one !== 'list'),
    Stage.Parameters,
    undefined,
    headers.IGNORED_QUERIES,
    withQuery,
  ),
  ...TAKEN.flatMap(([operation, type]) =>
    [type, ...headers.SPELLINGS_OF_TYPE.map((spell) => spell(type))].map(
      (spelled) =>
        vary([operation], Stage.MediaType, undefined, [spelled], setType)[0] as Variation,
    ),
  ),
  ...vary(WITH_BODY, Stage.MediaType, undefined, ['identity', 'Identity'], setEncoding),
  ...vary(
    WITH_BODY,
    Stage.Others,
    undefined,
    [
      [7, 4_096],
      [1, 1, 60],
    ],
    (chunks) => (draft) => ({
      ...draft,
      framing: { chunks },
    }),
  ),
  ...vary(['remove', 'read'], Stage.Others, undefined, ['', '{', '{"id":1}'], (text) =>
    rewrite(() => text),
  ),
  ...vary(WITH_JSON, Stage.Length, undefined, [BODY_LIMIT - 1, BODY_LIMIT], padTo),
  ...vary(WITH_JSON, Stage.Text, undefined, texts.EXTRA_NAMES, (name) => withMember(name, 'null')),
  ...vary(WITH_JSON, Stage.Text, undefined, texts.EXTRA_VALUES, (json) =>
    withMember('other', json),
  ),
  ...vary(['put', 'patch'], Stage.Text, undefined, texts.NOT_INT64, (json) =>
    withMember('id', json),
  ),
];

/** Changes that cause an error, whatever is stored. */
export const FLAWS: readonly Variation[] = [
  ...vary(['create', 'list'], Stage.Path, 40400, headers.NEAR_PATHS, withPath),
  ...vary(ALL, Stage.Path, 40000, headers.UNDECODABLE, (text) => withPath((path) => path + text)),
  ...vary(['create', 'list'], Stage.Method, 40500, ['PUT', 'PATCH', 'DELETE'], setMethod),
  ...vary(OF_ITEM, Stage.Method, 40500, ['POST'], setMethod),
  ...vary(['create', 'list', ...OF_ITEM], Stage.Method, 40500, headers.UNKNOWN_METHODS, setMethod),
  ...vary(ALL, Stage.Token, 40100, headers.MISSING, (field) => (draft) => {
    const without = withoutField('Authorization')(draft);
    return field === undefined ? without : withField(field)(without);
  }),
  ...vary(ALL, Stage.Token, 40101, headers.REFUSED_TOKENS, (token) =>
    withField(['Authorization', `Bearer ${token}`]),
  ),
  ...vary(OF_ITEM, Stage.Parameters, 40003, headers.NOT_IDS, withId, () => ['id']),
  ...vary(
    ['list'],
    Stage.Parameters,
    40003,
    headers.BAD_QUERIES,
    ([query]) => withQuery(`?${query}`),
    ([, ...names]) => names,
  ),
  ...vary(WITH_JSON, Stage.NoBody, 40001, ['no body'], () => (draft) => ({
    method: draft.method,
    target: draft.target,
    headers: draft.headers,
  })),
  ...vary(WITH_JSON, Stage.NoBody, 40001, ['an empty body'], () => rewrite(() => '')),
  ...TAKEN.flatMap(([operation, type]) =>
    [
      ...headers.NEAR_TYPES.map((spell) => spell(type)),
      ...headers.OTHER_TYPES.filter(
        (other) => !TAKEN.some((one) => one.join() === `${operation},${other ?? ''}`),
      ),
    ].flatMap((spelled) => vary([operation], Stage.MediaType, 41500, [spelled], setType)),
  ),
  ...vary(WITH_BODY, Stage.MediaType, 41500, headers.CONTENT_ENCODINGS, setEncoding),
  ...vary(WITH_JSON, Stage.Length, 41300, [BODY_LIMIT + 1, 2 * BODY_LIMIT], padTo),
  ...vary(WITH_JSON, Stage.Text, 40001, texts.NOT_JSON, (text) => withMember('name', text)),
  ...vary(WITH_JSON, Stage.Text, 40001, texts.NOT_JSON, (text) => withMember('other', text)),
  ...vary(WITH_JSON, Stage.Text, 40001, texts.SPOILERS, rewrite),
  ...vary(WITH_JSON, Stage.Text, 40001, texts.NOT_UTF8, (bytes) =>
    rewrite((text) => {
      const start = text.indexOf('"name":"') + 8;
      return Buffer.concat([
        Buffer.from(text.slice(0, start)),
        Buffer.from(bytes),
        Buffer.from(text.slice(start)),
      ]);
    }),
  ),
  ...vary(WITH_JSON, Stage.Text, 40002, texts.NOT_OBJECTS, (text) => rewrite(() => text)),
  ...vary(['create'], Stage.Text, 40002, [...texts.NOT_INT64, undefined], setId, () => ['id']),
  ...vary(WITH_JSON, Stage.Text, 40002, [...texts.NOT_TEXT, 'null'], setName, () => ['name']),
  ...vary(WITH_JSON, Stage.Text, 40002, texts.NOT_TEXT, setTag, () => ['tag']),
  ...vary(['create', 'put'], Stage.Text, 40002, ['null'], setTag, () => ['tag']),
  ...vary(['create', 'put'], Stage.Text, 40002, [undefined], setName, () => ['name']),
  ...vary(
    WITH_JSON,
    Stage.Text,
    40002,
    ['name', 'tag'],
    (name) => (draft) => ({
      ...draft,
      members: [...(withMember(name)(draft).members ?? []), [name, '"a"'], [name, '"a"']],
    }),
    (name) => [name],
  ),
];

function setMethod(method: string): Variation['change'] {
  return (draft) => ({ ...draft, method });
}

function setType(type: string | undefined): Variation['change'] {
  return type === undefined ? withoutField('Content-Type') : withField(['Content-Type', type]);
}

function setEncoding(encoding: string): Variation['change'] {
  return withField(['Content-Encoding', encoding]);
}

function setId(json: string | undefined): Variation['change'] {
  return withMember('id', json);
}

function setName(json: string | undefined): Variation['change'] {
  return withMember('name', json);
}

function setTag(json: string | undefined): Variation['change'] {
  return withMember('tag', json);
}
