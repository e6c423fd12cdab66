/** A number is exact only up to 2^53 - 1: use a `bigint` for larger ids. */
export type Id = number | bigint;

export interface Plant {
  readonly name: string;
  readonly tag?: string;
}

export interface NewPlant extends Plant {
  readonly id: Id;
}

/** A plant with its id, which is always a `bigint`, since a number cannot hold every id. */
export interface StoredPlant extends Plant {
  readonly id: bigint;
}

/** A plant with its ETag, which changes whenever the plant does. */
export interface ReadPlant {
  readonly plant: StoredPlant;
  readonly etag: string;
}

/** The changes of a plant: `tag: null` removes the tag. */
export interface PlantPatch {
  readonly name?: string;
  readonly tag?: string | null;
}

export interface PlantQuery {
  /** The size of a page. */
  readonly limit?: number;
  /** The id after which the list begins, if it is sorted by id. */
  readonly after?: Id | string;
  readonly name?: string;
  readonly sort?: 'id' | '-id' | 'name' | '-name';
  readonly tag?: string;
}

/** The outcome of an import; `line` is the place of a plant, from 1. */
export interface ImportResult {
  readonly created: number;
  readonly identical: number;
  readonly failed: number;
  readonly failures: readonly (ErrorBody & { readonly line: number })[];
}

/** A change of a plant; pass `cursor` as `after` to continue after it. */
export type PlantChange = { readonly cursor: string; readonly id: bigint; readonly at: string } & (
  | { readonly type: 'plant.created' | 'plant.replaced'; readonly data: StoredPlant }
  | { readonly type: 'plant.removed' }
);

interface ErrorBody {
  readonly error: number;
  readonly message: string;
}

export interface ClientOptions {
  /**
   * How long an attempt may take, how long an import or export may be silent, and the longest pause
   * between attempts, in milliseconds; 10,000 by default, and `Infinity` for no limit. A browser
   * does not tell how much it has sent, so there an import has no time limit.
   */
  readonly timeoutMs?: number;
  /** How many times a request is sent in all, if no final answer comes; 5 by default. */
  readonly attempts?: number;
  /** Sends requests in place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call, which then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface ImportOptions extends CallOptions {
  /**
   * Gets the number of plants that have been handed to `fetch`, again and again. In browsers, which
   * send no stream, it is the number that has been collected.
   */
  readonly onProgress?: ((lines: number) => void) | undefined;
}

type Plants = AsyncIterable<NewPlant> | Iterable<NewPlant>;

interface RequestOptions extends CallOptions {
  readonly body?: string;
  /** Plants to send as lines, which are written while they are sent, and so only once. */
  readonly lines?: Plants;
  readonly onProgress?: ImportOptions['onProgress'];
  /** `Content-Type` is `application/json` by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The ETag that the plant must have to be changed. */
  readonly ifMatch?: string | undefined;
  /** The error of a repeated request that means that an earlier one succeeded. */
  readonly successOfRepeat?: { readonly error: number; readonly text: string };
  readonly attempts?: number;
  /** Whether the answer is read later, while it comes. Its `text` is then empty. */
  readonly isStreamed?: boolean;
}

interface Answer {
  readonly response: Response;
  readonly timeLimit: TimeLimit;
  readonly text: string;
}

/** If the answer to an earlier attempt was lost, that attempt created this very plant. */
const ALREADY_EXISTS = 40901;
/** If the answer to an earlier attempt was lost, that attempt removed the plant. */
const NOT_FOUND = 40401;
const NOT_MODIFIED = 304;
/** Too many requests, a proxy that does not reach the service, and an unavailable service. */
const TEMPORARY = [429, 502, 503, 504];
export const DEFAULT_TIMEOUT_MS = 10_000;
export const DEFAULT_ATTEMPTS = 5;
const NDJSON = 'application/x-ndjson';
/** The longest wait for a change, in seconds. */
const MAX_WAIT = 25;
/** How long to pause between requests for changes if `timeoutMs` leaves no time to wait. */
const PAUSE_MS = 500;
/** How many characters of a body are written at a time. */
const PIECE_LENGTH = 64 * 1024;
/** Matches an integer as `id`, and strings, so that nothing within a string is taken for an id. */
const ID_OR_STRING = /"id"\s*:\s*(-?\d+)(?![\d.eE])|"[^"\\]*(?:\\.[^"\\]*)*"/g;
const INTEGER = /^-?\d+$/;
/** The longest time that a timer takes, in milliseconds: a longer one would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Matches an entity tag, which may be weak. */
const ENTITY_TAG = /(?:W\/)?"([^"]*)"/g;
/** How many characters are between the quotes of an ETag of the service. */
const TAG_LENGTH = 22;
const NEXT_LINK = /<([^>]*)>; *rel="next"/;

/**
 * A request was refused. `error` is the code of the service, or the status times 100 without one.
 * `retryAfter` says how long to wait before a retry, in seconds, if the answer has `Retry-After`.
 */
export class PlantStoreError extends Error {
  readonly status: number;
  readonly error: number;
  readonly retryAfter: number | undefined;

  constructor(status: number, { error, message }: ErrorBody, retryAfter?: number) {
    super(message);
    this.status = status;
    this.error = error;
    this.retryAfter = retryAfter;
  }
}

/** Aborts when its caller aborts, or when the timer has run for the time limit. */
class TimeLimit extends AbortController {
  private readonly milliseconds: number;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    super();
    this.milliseconds = milliseconds;
    this.startTimer();
    const leave = (): void => this.end(caller?.reason);
    if (caller?.aborted) leave();
    // The end removes the listener.
    caller?.addEventListener('abort', leave, { signal: this.signal });
  }

  startTimer(): void {
    this.stopTimer();
    if (this.milliseconds === Infinity) return;
    const milliseconds = Math.min(this.milliseconds, MAX_TIMER_MS);
    this.timer = setTimeout(() => {
      this.abort(new DOMException(`Nothing has come for ${milliseconds} ms`, 'TimeoutError'));
    }, milliseconds);
  }

  stopTimer(): void {
    clearTimeout(this.timer);
  }

  /** Also closes the connection of an answer that was not read to its end. */
  end(reason?: unknown): void {
    this.stopTimer();
    this.abort(reason);
  }
}

/**
 * A client of the service. Every method throws a `PlantStoreError` if the service refuses the
 * request, a `RangeError` if a number has rounded an id, and the error of `fetch` if there is no
 * answer. The last argument of a method may have a `signal` that ends the call.
 */
export class PlantStoreClient {
  private readonly url: string;
  private readonly token: string;
  private readonly timeoutMs: number;
  private readonly options: ClientOptions;

  /**
   * @param url the address of the service, with `http://` or `https://`
   * @throws TypeError if the URL is none, or a header cannot hold the token
   * @throws RangeError if the time limit is no positive number
   */
  constructor(url: string, token: string, options: ClientOptions = {}) {
    if (!/^https?:$/.test(new URL(url).protocol)) {
      throw new TypeError(`${url} must begin with http:// or https://`);
    }
    assertHeaderValue(token);
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (!(timeoutMs > 0)) throw new RangeError(`timeoutMs is ${timeoutMs}: it must be above 0`);
    this.url = url.replace(/\/+$/, '');
    this.token = token;
    this.timeoutMs = timeoutMs;
    this.options = options;
  }

  async createPlant(plant: NewPlant, call?: CallOptions): Promise<Plant> {
    const successOfRepeat = { error: ALREADY_EXISTS, text: writePlant(plant) };
    const options = { ...call, body: writeNewPlant(plant), successOfRepeat };
    const { text } = await this.send('POST', '/plants', options);
    return parse(text) as Plant;
  }

  async readPlant(id: Id, knownEtag?: undefined, call?: CallOptions): Promise<ReadPlant>;
  /** Reads a plant; `undefined` if it still has this ETag. */
  async readPlant(id: Id, knownEtag: string, call?: CallOptions): Promise<ReadPlant | undefined>;
  async readPlant(id: Id, knownEtag?: string, call?: CallOptions): Promise<ReadPlant | undefined> {
    const headers: Record<string, string> = {};
    if (knownEtag !== undefined) headers['If-None-Match'] = restoreEtag(knownEtag);
    const { response, text } = await this.send('GET', pathOf(id), { ...call, headers });
    if (response.status === NOT_MODIFIED) return undefined;
    return { plant: parse(text) as StoredPlant, etag: response.headers.get('etag') ?? '' };
  }

  /** Lists plants in an order. Each page is requested when it is needed. */
  async *listPlants(
    query: PlantQuery = {},
    call?: CallOptions,
  ): AsyncGenerator<StoredPlant, void, undefined> {
    let path: string | undefined = writePath(query);
    while (path !== undefined) {
      const { response, text }: Answer = await this.send('GET', path, call);
      yield* parse(text) as StoredPlant[];
      path = this.getNextPath(response);
    }
  }

  /**
   * Lists plants in an order, in one answer: all of them, or at most `limit`. The list is complete
   * only if it ends without an error.
   */
  async *exportPlants(
    query: PlantQuery = {},
    call?: CallOptions,
  ): AsyncGenerator<StoredPlant, void, undefined> {
    const options = { ...call, headers: { Accept: NDJSON }, isStreamed: true };
    const { response, timeLimit } = await this.send('GET', writePath(query), options);
    for await (const line of iterateLines(response, timeLimit)) yield parse(line) as StoredPlant;
  }

  /**
   * Creates any number of plants in one request, which is not repeated by itself. Importing them
   * again is safe.
   */
  async importPlants(plants: Plants, call?: ImportOptions): Promise<ImportResult> {
    const options = { ...call, lines: plants, headers: { 'Content-Type': NDJSON } };
    const { text } = await this.send('POST', '/plants/import', options);
    return parse(text) as ImportResult;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async replacePlant(id: Id, plant: Plant, ifMatch?: string, call?: CallOptions): Promise<Plant> {
    const body = writePlant(plant);
    const { text } = await this.send('PUT', pathOf(id), { ...call, body, ifMatch });
    return parse(text) as Plant;
  }

  /**
   * Changes members of a plant, and keeps the others.
   *
   * @param ifMatch the ETag that the plant must still have, if that matters
   */
  async patchPlant(
    id: Id,
    patch: PlantPatch,
    ifMatch?: string,
    call?: CallOptions,
  ): Promise<Plant> {
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const options = { ...call, body: JSON.stringify(patch), headers, ifMatch };
    const { text } = await this.send('PATCH', pathOf(id), options);
    return parse(text) as Plant;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async removePlant(id: Id, ifMatch?: string, call?: CallOptions): Promise<void> {
    const options = { ...call, ifMatch, successOfRepeat: { error: NOT_FOUND, text: '' } };
    await this.send('DELETE', pathOf(id), options);
  }

  /** Reads the newest cursor, from which {@link changes} reports all later changes. */
  async latestCursor(call?: CallOptions): Promise<string> {
    const { response } = await this.send('GET', '/changes?after=latest', call);
    return new URL(getNextLink(response) ?? '', this.url).searchParams.get('after') ?? '';
  }

  /**
   * Follows the changes of plants: each change once, and those of one plant in their order. It
   * continues after the last change, however long the service is unreachable. It throws a
   * `PlantStoreError` with 41000 if the feed no longer has the change of the cursor: then read
   * everything again.
   *
   * @param options `after` is the cursor of the last known change; by default the changes begin now
   */
  async *changes(
    options: CallOptions & { readonly after?: string | undefined } = {},
  ): AsyncGenerator<PlantChange, void, undefined> {
    const { signal } = options;
    const wait = Math.min(MAX_WAIT, Math.floor((0.8 * this.timeoutMs) / 1_000));
    let cursor = options.after ?? (await this.latestCursor({ signal }));
    for (;;) {
      const path = `/changes?after=${encodeURIComponent(cursor)}&wait=${wait}`;
      const { text } = await this.send('GET', path, { signal, attempts: Infinity });
      for (const change of parse(text) as PlantChange[]) {
        cursor = change.cursor;
        // The feed may have changes of other rows.
        if (change.type.startsWith('plant.')) yield change;
      }
      if (wait === 0) await sleep(PAUSE_MS, signal);
    }
  }

  /**
   * Sends a request. If its outcome is unknown and a repetition is safe, sends it again. If the
   * answer to a repetition shows that an earlier attempt succeeded, resolves with the given text.
   */
  private async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { ifMatch, lines, signal, successOfRepeat } = options;
    // An earlier attempt may have changed the ETag. Only the caller can find out.
    const isRepeatable = ifMatch === undefined && lines === undefined;
    const attempts = isRepeatable
      ? (options.attempts ?? this.options.attempts ?? DEFAULT_ATTEMPTS)
      : 1;
    const headers = {
      Authorization: `Bearer ${this.token}`,
      ...(options.body !== undefined && { 'Content-Type': 'application/json' }),
      ...(ifMatch !== undefined && { 'If-Match': restoreEtag(ifMatch) }),
      ...options.headers,
    };
    for (let count = 1; ; count++) {
      const timeLimit = new TimeLimit(this.timeoutMs, signal);
      try {
        const body = lines
          ? await makeBody(lines, timeLimit, options.onProgress)
          : (options.body ?? null);
        const init = { method, headers, body, signal: timeLimit.signal };
        const response = await this.fetch(path, init);
        if (options.isStreamed) return { response, timeLimit, text: '' };
        const text = await response.text();
        timeLimit.end();
        return { response, timeLimit, text };
      } catch (error) {
        timeLimit.end();
        const refusal = error instanceof PlantStoreError ? error : undefined;
        if (count > 1 && successOfRepeat && refusal?.error === successOfRepeat.error) {
          return { response: new Response(), timeLimit, text: successOfRepeat.text };
        }
        const isOver = refusal !== undefined && !TEMPORARY.includes(refusal.status);
        if (isOver || count >= attempts || signal?.aborted) throw error;
        // Clients that were refused together must not retry together.
        const pause = (refusal?.retryAfter ?? 0.1 * count) * 1_000 * (1 + Math.random());
        await sleep(Math.min(pause, this.timeoutMs), signal);
      }
    }
  }

  /** Returns the path of the next page behind the URL, which the `Link` may have in front of it. */
  private getNextPath(response: Response): string | undefined {
    const link = getNextLink(response);
    const { pathname } = new URL(this.url);
    return link?.startsWith(`${pathname}/`) ? link.slice(pathname.length) : link;
  }

  private async fetch(path: string, init: RequestInit): Promise<Response> {
    // The types of some platforms lack `duplex`, which a streamed body needs.
    const options = { ...init, duplex: 'half' as const };
    const response = await (this.options.fetch ?? fetch)(this.url + path, options);
    if (response.ok || response.status === NOT_MODIFIED) return response;
    throw await readError(response);
  }
}

/** The error of `Headers` itself would show the token. */
function assertHeaderValue(token: string): void {
  try {
    new Headers({ Authorization: `Bearer ${token}` });
  } catch {
    throw new TypeError('The token has a character that a header cannot hold');
  }
}

/** Undoes what a proxy that compresses answers does to an ETag: it makes it weak, or adds its coding. */
function restoreEtag(etag: string): string {
  return etag.replace(ENTITY_TAG, (_, tag: string) => {
    // An ETag of the service may end like this itself.
    const isOwn = tag.length === TAG_LENGTH;
    return isOwn ? `"${tag}"` : `"${tag.replace(/-(?:gzip|br|zstd)$/, '')}"`;
  });
}

function getNextLink({ headers }: Response): string | undefined {
  return NEXT_LINK.exec(headers.get('link') ?? '')?.[1];
}

/** Answers of a proxy have another shape. `Retry-After` is seconds, or a date. */
async function readError(response: Response): Promise<PlantStoreError> {
  const { status, headers } = response;
  const message = `The answer has the status ${status}, and is not the service's`;
  const parsed = (await response.json().catch(() => null)) as ErrorBody | null;
  const isOwn = typeof parsed?.error === 'number' && typeof parsed.message === 'string';
  const body = isOwn ? parsed : { error: status * 100, message };
  const retry = headers.get('retry-after') ?? '';
  const seconds = INTEGER.test(retry) ? Number(retry) : (Date.parse(retry) - Date.now()) / 1_000;
  const retryAfter = Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  return new PlantStoreError(status, body, retryAfter);
}

/** Reads the lines of an answer. The timer runs only while it waits for the service. */
async function* iterateLines(
  response: Response,
  timeLimit: TimeLimit,
): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    while (reader !== undefined) {
      timeLimit.startTimer();
      const { done, value } = await reader.read();
      timeLimit.stopTimer();
      if (done) break;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') throw new TypeError('The answer was cut off');
  } finally {
    timeLimit.end();
  }
}

/** Makes a body of plants. Browsers send no stream over HTTP/1.1, and some send none at all. */
async function makeBody(
  plants: Plants,
  timeLimit: TimeLimit,
  onProgress: ImportOptions['onProgress'],
): Promise<ReadableStream<Uint8Array> | string> {
  const stream = streamLines(plants, timeLimit, onProgress);
  const isBrowser = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;
  if (!isBrowser) return stream;
  const text = await new Response(stream).text();
  timeLimit.stopTimer();
  return text;
}

/** Makes a stream of plants. The timer runs only while it waits for the service. */
function streamLines(
  plants: Plants,
  timeLimit: TimeLimit,
  onProgress: ImportOptions['onProgress'],
): ReadableStream<Uint8Array> {
  const pieces = writeLines(plants);
  return new ReadableStream({
    async pull(stream) {
      timeLimit.stopTimer();
      try {
        const { value } = await pieces.next();
        if (value === undefined) {
          stream.close();
        } else {
          stream.enqueue(value.bytes);
          onProgress?.(value.lines);
        }
        timeLimit.startTimer();
      } catch (error) {
        timeLimit.end(error);
        stream.error(error);
      }
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}

/** Some lines, and how many there are in all so far. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly lines: number;
}

async function* writeLines(plants: Plants): AsyncGenerator<Piece, undefined, undefined> {
  const encoder = new TextEncoder();
  let text = '';
  let lines = 0;
  for await (const plant of plants) {
    text += `${writeNewPlant(plant)}\n`;
    lines++;
    if (text.length < PIECE_LENGTH) continue;
    yield { bytes: encoder.encode(text), lines };
    text = '';
  }
  if (text !== '') yield { bytes: encoder.encode(text), lines };
}

/** Writes the members of a plant without its id. */
function writePlant({ name, tag }: Plant): string {
  return JSON.stringify({ name, tag });
}

/** JSON.stringify() does not accept a bigint, and a number is exact only up to 2^53. */
function writeNewPlant(plant: NewPlant): string {
  return `{"id":${writeId(plant.id)},${writePlant(plant).slice(1)}`;
}

function writeId(id: Id): string {
  // Programs in JavaScript have no types.
  if (typeof id !== 'number' && typeof id !== 'bigint') {
    throw new TypeError(`${String(id)} is no id: use a number or a bigint, such as BigInt('7')`);
  }
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new RangeError(`${id} is not an integer that a number has exactly: use a bigint`);
  }
  return String(id);
}

function pathOf(id: Id): string {
  return `/plants/${writeId(id)}`;
}

function writePath({ limit, after, name, sort, tag }: PlantQuery): string {
  const start = typeof after === 'number' ? writeId(after) : after;
  const parameters = Object.entries({ limit, after: start, name, sort, tag })
    .filter(([, value]) => value !== undefined)
    .map(([parameter, value]) => `${parameter}=${encodeURIComponent(String(value))}`);
  return `/plants?${parameters.join('&')}`;
}

/** Sleeps until the time is over, or the caller aborts. */
async function sleep(milliseconds: number, caller: AbortSignal | undefined): Promise<void> {
  const { signal } = new TimeLimit(milliseconds, caller);
  if (!signal.aborted) await new Promise((end) => signal.addEventListener('abort', end));
}

/** Like JSON.parse(), but every integer that is an `id` is a bigint, since a number may round it. */
function parse(json: string): unknown {
  const quoted = json.replace(ID_OR_STRING, (found, id?: string) => (id ? `"id":"${id}"` : found));
  return JSON.parse(quoted, (name, value: unknown) =>
    name === 'id' && typeof value === 'string' && INTEGER.test(value) ? BigInt(value) : value,
  );
}
