import type { components, paths } from './api-types.js';

type ListParameters = NonNullable<paths['/plants']['get']['parameters']['query']>;
type CreatePlant = paths['/plants']['post'];
export type NewPlant = CreatePlant['requestBody']['content']['application/json'];
export type Plant = CreatePlant['responses'][200]['content']['application/json'];
/** What to change of a plant: `tag: null` removes the tag. */
export type PlantPatch = Partial<Omit<Plant, 'tag'>> & { tag?: string | null };
/** A plant with its id, which is a `bigint` always, since not every id is a number. */
export type StoredPlant = components['schemas']['StoredPlant'] & { id: bigint };
/** `limit` is the size of a page, `after` the id after which to begin when plants are sorted by id. */
export type PlantQuery = Omit<ListParameters, 'after'> & { after?: Id | string };
/** What became of the plants of an import; `line` is the place of one, from 1. */
export type ImportResult = components['schemas']['ImportResult'];
/** A change of a plant; `cursor` is where to go on after it. */
export type PlantChange = { readonly cursor: string; readonly id: bigint; readonly at: string } & (
  | { readonly type: 'plant.created' | 'plant.replaced'; readonly data: StoredPlant }
  | { readonly type: 'plant.removed' }
);
type ErrorBody = components['schemas']['Error'];
type Id = NewPlant['id'];

export interface ClientOptions {
  /** How long an attempt may take, in milliseconds; of a stream, how long nothing may come. 10,000 by default. */
  readonly timeoutMs?: number;
  /** How often a request is sent in all, when its answer is lost or the service is unavailable; 5 by default. */
  readonly attempts?: number;
  /** What sends requests in the place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call, which throws the reason of the signal then. */
  readonly signal?: AbortSignal | undefined;
}

export interface ChangesOptions extends CallOptions {
  /** The cursor of the last change that is known. By default the changes are those from now on. */
  readonly after?: string | undefined;
}

/** This very plant exists: after an attempt whose answer was lost, that attempt created it. */
const ALREADY_EXISTS = 40901;
/** There is no such plant: after an attempt whose answer was lost, that attempt removed it. */
const NOT_FOUND = 40401;
const NOT_MODIFIED = 304;
/** Too many requests, a proxy without the service behind it, and a service that is unavailable. */
const TEMPORARY = [429, 502, 503, 504];
const NDJSON = 'application/x-ndjson';
const EVENT_STREAM = 'text/event-stream';
/** How long a stream of changes is silent while all is well, in milliseconds. */
const HEARTBEAT_MS = 15_000;
/** How long a stream of changes that has ended is left alone at least, in milliseconds. */
const RECONNECT_MS = 500;

/** The strings of JSON too, so that no digit in one is taken for a number. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NEXT_LINK = /<([^>]*)>; *rel="next"/;

/** A request was refused. `error` is a code of the service, or the status times 100 where it says none. */
export class PlantStoreError extends Error {
  readonly status: number;
  readonly error: number;
  /** How long to wait before another try, in seconds, where the answer says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: ErrorBody, retryAfter?: number) {
    super(body.message);
    this.status = status;
    this.error = body.error;
    this.retryAfter = retryAfter;
  }
}

/** A plant, and the ETag that changes with what is stored. */
export interface ReadPlant {
  readonly plant: StoredPlant;
  readonly etag: string;
}

interface RequestOptions extends CallOptions {
  readonly body?: string;
  /** Makes a body that is sent once, while it is made. */
  readonly makeBody?: (exchange: Exchange) => ReadableStream<Uint8Array>;
  readonly contentType?: string;
  readonly accept?: string;
  /** The ETag that the plant must have to be changed. */
  readonly ifMatch?: string | undefined;
  /** The ETag that the plant must not have to be read. */
  readonly ifNoneMatch?: string | undefined;
  /** The error of a repeated request that means that an earlier one succeeded. */
  readonly successOfRepeat?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A request under way, which ends when its caller says so or nothing has come for too long. */
class Exchange {
  private readonly controller = new AbortController();
  private readonly timeoutMs: number;
  private readonly caller: AbortSignal | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.caller = caller;
    if (caller?.aborted) this.abort();
    caller?.addEventListener('abort', this.abort);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Waits for the other side from now on, which may be silent for this long besides. */
  startTimer(silenceMs = 0): void {
    this.stopTimer();
    const limit = this.timeoutMs + silenceMs;
    this.timer = setTimeout(() => {
      const message = `Nothing has come for ${limit} ms`;
      this.controller.abort(new DOMException(message, 'TimeoutError'));
    }, limit);
  }

  stopTimer(): void {
    clearTimeout(this.timer);
  }

  fail(reason: unknown): void {
    this.controller.abort(reason);
  }

  end(): void {
    this.stopTimer();
    this.caller?.removeEventListener('abort', this.abort);
    // Closes the connection of a stream that was not read to its end.
    this.controller.abort();
  }

  private readonly abort = (): void => this.controller.abort(this.caller?.reason);
}

/**
 * Every method throws a `PlantStoreError` for what the service refuses, a `RangeError` for an id that a
 * number has rounded, and what `fetch` throws when there is no answer. Its last argument may have the
 * `signal` that ends the call.
 */
export class PlantStoreClient {
  private readonly url: string;
  private readonly token: string;
  private readonly timeoutMs: number;
  private readonly attempts: number;
  private readonly ownFetch: typeof fetch | undefined;

  constructor(url: string, token: string, options: ClientOptions = {}) {
    this.url = url.replace(/\/+$/, '');
    this.token = token;
    this.timeoutMs = options.timeoutMs ?? 10_000;
    this.attempts = options.attempts ?? 5;
    this.ownFetch = options.fetch;
  }

  /** Creates a plant. */
  async createPlant(plant: NewPlant, call: CallOptions = {}): Promise<Plant> {
    const options = { ...call, body: writeNewPlant(plant), successOfRepeat: ALREADY_EXISTS };
    const answer = await this.send('POST', '/plants', options, readText);
    return answer === undefined ? withoutId(plant) : (JSON.parse(answer.text) as Plant);
  }

  /** Reads a plant with its ETag. */
  async readPlant(id: Id, knownEtag?: undefined, call?: CallOptions): Promise<ReadPlant>;
  /** Reads a plant unless it has this ETag still: `undefined` then. */
  async readPlant(id: Id, knownEtag: string, call?: CallOptions): Promise<ReadPlant | undefined>;
  async readPlant(
    id: Id,
    ifNoneMatch?: string,
    call?: CallOptions,
  ): Promise<ReadPlant | undefined> {
    const { status, headers, text } = await this.ask('GET', pathOf(id), { ...call, ifNoneMatch });
    if (status === NOT_MODIFIED) return undefined;
    return { plant: toStoredPlant(parseExactly(text)), etag: headers.get('etag') ?? '' };
  }

  /** Lists plants in an order, page after page as they are asked for. */
  async *listPlants(
    query: PlantQuery = {},
    call: CallOptions = {},
  ): AsyncGenerator<StoredPlant, void, undefined> {
    let path: string | undefined = writePath(query);
    while (path !== undefined) {
      const { headers, text }: Answer = await this.ask('GET', path, call);
      for (const plant of parseExactly(text) as unknown[]) yield toStoredPlant(plant);
      path = NEXT_LINK.exec(headers.get('link') ?? '')?.[1];
    }
  }

  /**
   * Lists plants in an order, in one answer: all of them unless `limit` says how many. The list is
   * complete only when it ends without an error.
   */
  async *exportPlants(
    query: PlantQuery = {},
    call: CallOptions = {},
  ): AsyncGenerator<StoredPlant, void, undefined> {
    const options = { ...call, accept: NDJSON };
    const lines = await this.send('GET', writePath(query), options, readLines);
    for await (const line of lines ?? []) yield toStoredPlant(parseExactly(line));
  }

  /** Creates any number of plants, in one request that is sent once; to send them again is safe. */
  async importPlants(
    plants: AsyncIterable<NewPlant> | Iterable<NewPlant>,
    call: CallOptions = {},
  ): Promise<ImportResult> {
    const makeBody = (exchange: Exchange): ReadableStream<Uint8Array> =>
      writeLines(plants, exchange);
    const options = { ...call, makeBody, contentType: NDJSON };
    const { text } = await this.ask('POST', '/plants/import', options);
    return JSON.parse(text) as ImportResult;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async replacePlant(id: Id, plant: Plant, ifMatch?: string, call?: CallOptions): Promise<Plant> {
    const options = { ...call, body: JSON.stringify(withoutId(plant)), ifMatch };
    const { text } = await this.ask('PUT', pathOf(id), options);
    return JSON.parse(text) as Plant;
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
    const contentType = 'application/merge-patch+json';
    const options = { ...call, body: JSON.stringify(patch), contentType, ifMatch };
    const { text } = await this.ask('PATCH', pathOf(id), options);
    return JSON.parse(text) as Plant;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async removePlant(id: Id, ifMatch?: string, call?: CallOptions): Promise<void> {
    const options = { ...call, ifMatch, successOfRepeat: NOT_FOUND };
    await this.send('DELETE', pathOf(id), options, readText);
  }

  /** Reads the newest cursor: {@link changes} after it has all that happens from now on. */
  async latestCursor(call: CallOptions = {}): Promise<string> {
    const { headers } = await this.ask('GET', '/changes?after=latest', call);
    const link = NEXT_LINK.exec(headers.get('link') ?? '')?.[1] ?? '';
    return new URL(link, this.url).searchParams.get('after') ?? '';
  }

  /**
   * Follows the changes of plants, each once and those of a plant in their order. It goes on by
   * itself from the last cursor, however long the service is away. It throws a `PlantStoreError` with 41000
   * when changes behind the cursor are not kept: read everything anew then.
   */
  async *changes({ after, signal }: ChangesOptions = {}): AsyncGenerator<
    PlantChange,
    void,
    undefined
  > {
    let cursor = after;
    for (;;) {
      try {
        const query = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`;
        const options = { accept: EVENT_STREAM, signal };
        const events = await this.send('GET', `/changes${query}`, options, readEvents);
        for await (const { id, data } of events ?? []) {
          cursor = id;
          const change = data === undefined ? undefined : readPlantChange(data);
          if (change !== undefined) yield change;
        }
      } catch (error) {
        const isRefused = error instanceof PlantStoreError && !TEMPORARY.includes(error.status);
        if (isRefused || cursor === undefined || signal?.aborted) throw error;
      }
      await sleep(RECONNECT_MS * (1 + Math.random()), signal);
    }
  }

  private async ask(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const answer = await this.send(method, path, options, readText);
    if (answer === undefined) throw new TypeError('no answer');
    return answer;
  }

  /**
   * Sends a request, and sends it again when nobody can know whether it was done, if that is safe.
   * Resolves with undefined where a repeated request says that an earlier one has done it.
   */
  private async send<Result>(
    method: string,
    path: string,
    options: RequestOptions,
    read: (response: Response, exchange: Exchange) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { ifMatch, makeBody, signal, successOfRepeat } = options;
    // An earlier attempt may be the one that changed the ETag: only the caller can find out.
    const attempts = ifMatch === undefined && makeBody === undefined ? this.attempts : 1;
    for (let attempt = 1; ; attempt++) {
      const exchange = new Exchange(this.timeoutMs, signal);
      try {
        return await read(await this.fetch(exchange, method, path, options), exchange);
      } catch (error) {
        exchange.end();
        const refusal = error instanceof PlantStoreError ? error : undefined;
        if (attempt > 1 && refusal?.error === successOfRepeat && refusal) return undefined;
        const isOver = refusal !== undefined && !TEMPORARY.includes(refusal.status);
        if (isOver || attempt >= attempts || signal?.aborted) throw error;
        const seconds = refusal?.retryAfter ?? 0.1 * attempt;
        // Clients that were refused together must not come back together.
        await sleep(seconds * 1_000 * (1 + Math.random()), signal);
      }
    }
  }

  private async fetch(
    exchange: Exchange,
    method: string,
    path: string,
    { body, makeBody, contentType, accept, ifMatch, ifNoneMatch }: RequestOptions,
  ): Promise<Response> {
    const headers = new Headers({ Authorization: `Bearer ${this.token}` });
    const sent = makeBody?.(exchange) ?? body ?? null;
    if (sent !== null) headers.set('Content-Type', contentType ?? 'application/json');
    if (accept !== undefined) headers.set('Accept', accept);
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
    if (ifNoneMatch !== undefined) headers.set('If-None-Match', ifNoneMatch);
    const { signal } = exchange;
    exchange.startTimer();
    // The types of some platforms do not know that a body that is streamed needs `duplex`.
    const init = { method, headers, body: sent, signal, ...(makeBody && { duplex: 'half' }) };
    const response = await (this.ownFetch ?? fetch)(this.url + path, init);
    if (response.ok || response.status === NOT_MODIFIED) return response;
    throw await readError(response);
  }
}

async function readText(response: Response, exchange: Exchange): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  exchange.end();
  return { status, headers, text };
}

/** What a proxy answers has a shape of its own. */
async function readError(response: Response): Promise<PlantStoreError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const retryAfter = readRetryAfter(headers.get('retry-after'));
  return new PlantStoreError(status, parseErrorBody(text) ?? unknownError(status), retryAfter);
}

function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null;
    const { error, message } = body ?? {};
    return typeof error === 'number' && typeof message === 'string'
      ? { error, message }
      : undefined;
  } catch {
    return undefined;
  }
}

function unknownError(status: number): ErrorBody {
  return {
    error: status * 100,
    message: `The answer has the status ${status}, and is not the service's`,
  };
}

/** Seconds, or a date (RFC 9110 section 10.2.3). */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function readLines(response: Response, exchange: Exchange): Promise<AsyncIterable<string>> {
  return Promise.resolve(linesOf(response, exchange));
}

interface ServerSentEvent {
  readonly id: string;
  readonly data?: string;
}

function readEvents(
  response: Response,
  exchange: Exchange,
): Promise<AsyncIterable<ServerSentEvent>> {
  return Promise.resolve(eventsOf(linesOf(response, exchange, HEARTBEAT_MS)));
}

/** The events of a stream. One that was cut off is none: its id must not count. */
async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<ServerSentEvent, void> {
  let fields: Partial<ServerSentEvent> = {};
  for await (const line of lines) {
    const [, name, value = ''] = /^(id|data): (.*)$/.exec(line) ?? [];
    if (name !== undefined) fields = { ...fields, [name]: value };
    if (line !== '') continue;
    if (fields.id !== undefined) yield { ...fields, id: fields.id };
    fields = {};
  }
}

/**
 * The lines of an answer. The time counts only while the service is waited for, which may be silent
 * for this long besides.
 */
async function* linesOf(
  response: Response,
  exchange: Exchange,
  silenceMs = 0,
): AsyncGenerator<string, void> {
  exchange.stopTimer();
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    while (reader !== undefined) {
      exchange.startTimer(silenceMs);
      const { done, value } = await reader.read();
      exchange.stopTimer();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') throw new TypeError('The answer was cut off');
  } finally {
    exchange.end();
  }
}

/** How much of a body is made at a time, in characters. */
const PIECE_LENGTH = 64 * 1024;

/** Plants as lines. The time counts only while the service is waited for. */
function writeLines(
  plants: AsyncIterable<NewPlant> | Iterable<NewPlant>,
  exchange: Exchange,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator =
    Symbol.asyncIterator in plants ? plants[Symbol.asyncIterator]() : plants[Symbol.iterator]();
  return new ReadableStream({
    async pull(stream) {
      exchange.stopTimer();
      let text = '';
      let isOver = false;
      try {
        while (text.length < PIECE_LENGTH && !isOver) {
          const next = await iterator.next();
          isOver = next.done === true;
          if (next.done !== true) text += `${writeNewPlant(next.value)}\n`;
        }
      } catch (error) {
        exchange.fail(error);
        stream.error(error);
        return;
      }
      if (text !== '') stream.enqueue(encoder.encode(text));
      if (isOver) stream.close();
      exchange.startTimer();
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** JSON.stringify() takes no bigint, and a number is exact only up to 2^53. */
function writeNewPlant(plant: NewPlant): string {
  return `{"id":${writeId(plant.id)},${JSON.stringify(withoutId(plant)).slice(1)}`;
}

function writeId(id: Id): string {
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
  return parameters.length === 0 ? '/plants' : `/plants?${parameters.join('&')}`;
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** As JSON.parse() does, but with numbers as text, which it would round. */
function parseExactly(json: string): unknown {
  return JSON.parse(
    json.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)),
  );
}

function toStoredPlant(parsed: unknown): StoredPlant {
  const { id, ...rest } = parsed as Plant & { id: string };
  return { id: BigInt(id), ...rest };
}

/** @returns undefined for a change of another row, such as one of a module has */
function readPlantChange(json: string): PlantChange | undefined {
  const { cursor, type, id, at, data } = parseExactly(json) as Record<string, string>;
  if (!type?.startsWith('plant.')) return undefined;
  const change = { cursor, type, id: BigInt(id ?? ''), at };
  return (data === undefined ? change : { ...change, data: toStoredPlant(data) }) as PlantChange;
}

/** What of a plant is neither its id nor a member that the service would ignore. */
function withoutId({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag };
}
