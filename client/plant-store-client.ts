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
   * How long an attempt may take, an import or export may be silent, and a pause between attempts
   * may be, in milliseconds; 10,000 by default.
   */
  readonly timeoutMs?: number;
  /**
   * How many times a request is sent in all, if its answer is lost or the service is unavailable; 5
   * by default.
   */
  readonly attempts?: number;
  /** Sends requests in place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call, which then throws the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface ChangesOptions extends CallOptions {
  /** The cursor of the last known change. By default the changes begin now. */
  readonly after?: string | undefined;
}

/**
 * This very plant exists. If the answer to an earlier attempt was lost, that attempt created it.
 */
const ALREADY_EXISTS = 40901;
/**
 * There is no such plant. If the answer to an earlier attempt was lost, that attempt removed it.
 */
const NOT_FOUND = 40401;
const NOT_MODIFIED = 304;
/** Too many requests, a proxy that does not reach the service, and an unavailable service. */
const TEMPORARY = [429, 502, 503, 504];
const NDJSON = 'application/x-ndjson';
/** The longest wait for a change, in seconds. */
const MAX_WAIT = 25;
/** How long the client pauses after a page of changes if its `timeoutMs` is too short to wait. */
const PAUSE_MS = 500;

/** Matches strings too, so that digits in them are not taken for numbers. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NEXT_LINK = /<([^>]*)>; *rel="next"/;

/**
 * A request was refused. `error` is the code of the service, or the status times 100 without one.
 */
export class PlantStoreError extends Error {
  readonly status: number;
  readonly error: number;
  /** How long to wait before a retry, in seconds, if the answer has `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: ErrorBody, retryAfter?: number) {
    super(body.message);
    this.status = status;
    this.error = body.error;
    this.retryAfter = retryAfter;
  }
}

/** A plant with its ETag, which changes whenever the plant does. */
export interface ReadPlant {
  readonly plant: StoredPlant;
  readonly etag: string;
}

interface RequestOptions extends CallOptions {
  readonly body?: string;
  /** Makes a body that is sent while it is generated, and so only once. */
  readonly makeBody?: (exchange: Exchange) => ReadableStream<Uint8Array>;
  readonly contentType?: string;
  readonly accept?: string;
  /** The ETag that the plant must have to be changed. */
  readonly ifMatch?: string | undefined;
  /** The ETag that the plant must not have to be read. */
  readonly ifNoneMatch?: string | undefined;
  /** The error of a repeated request that means that an earlier one succeeded. */
  readonly successOfRepeat?: number;
  /** How many times the request is sent at most. */
  readonly attempts?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A running request. It ends when its caller aborts it, or the service is silent for too long. */
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

  startTimer(): void {
    this.stopTimer();
    this.timer = setTimeout(() => {
      const message = `Nothing has come for ${this.timeoutMs} ms`;
      this.controller.abort(new DOMException(message, 'TimeoutError'));
    }, this.timeoutMs);
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
 * A client of the service. Every method throws a `PlantStoreError` if the service refuses the
 * request, a `RangeError` if a number has rounded an id, and the error of `fetch` if there is no
 * answer. The last argument of a method may have a `signal` that ends the call.
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
  /** Reads a plant; `undefined` if it still has this ETag. */
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

  /** Lists plants in an order. Each page is requested when it is needed. */
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
   * Lists plants in an order, in one answer: all of them, or at most `limit`. The list is complete
   * only if it ends without an error.
   */
  async *exportPlants(
    query: PlantQuery = {},
    call: CallOptions = {},
  ): AsyncGenerator<StoredPlant, void, undefined> {
    const options = { ...call, accept: NDJSON };
    const lines = await this.send('GET', writePath(query), options, readLines);
    for await (const line of lines ?? []) yield toStoredPlant(parseExactly(line));
  }

  /**
   * Creates any number of plants in one request, which is not repeated by itself. Importing them
   * again is safe.
   */
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

  /** Reads the newest cursor, from which {@link changes} reports all later changes. */
  async latestCursor(call: CallOptions = {}): Promise<string> {
    const { headers } = await this.ask('GET', '/changes?after=latest', call);
    const link = NEXT_LINK.exec(headers.get('link') ?? '')?.[1] ?? '';
    return new URL(link, this.url).searchParams.get('after') ?? '';
  }

  /**
   * Follows the changes of plants: each change once, and those of one plant in their order. It
   * continues after the last change, however long the service is unreachable. It throws a
   * `PlantStoreError` with 41000 if the feed no longer has the change of the cursor: then read
   * everything again.
   */
  async *changes({ after, signal }: ChangesOptions = {}): AsyncGenerator<
    PlantChange,
    void,
    undefined
  > {
    const wait = Math.min(MAX_WAIT, Math.floor((0.8 * this.timeoutMs) / 1_000));
    let cursor = after ?? (await this.latestCursor({ signal }));
    for (;;) {
      const path = `/changes?after=${encodeURIComponent(cursor)}&wait=${wait}`;
      const { text } = await this.ask('GET', path, { signal, attempts: Infinity });
      for (const change of parseExactly(text) as ParsedChange[]) {
        cursor = change.cursor;
        // The feed may have changes of other rows.
        if (change.type.startsWith('plant.')) yield toPlantChange(change);
      }
      if (wait === 0) await sleep(PAUSE_MS, signal);
    }
  }

  private async ask(method: string, path: string, options: RequestOptions): Promise<Answer> {
    const answer = await this.send(method, path, options, readText);
    if (answer === undefined) throw new TypeError('no answer');
    return answer;
  }

  /**
   * Sends a request. If its outcome is unknown and a repetition is safe, sends it again. Resolves
   * with undefined if the answer to a repetition shows that an earlier attempt succeeded.
   */
  private async send<Result>(
    method: string,
    path: string,
    options: RequestOptions,
    read: (response: Response, exchange: Exchange) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { ifMatch, makeBody, signal, successOfRepeat } = options;
    // An earlier attempt may have changed the ETag. Only the caller can find out.
    const isRepeatable = ifMatch === undefined && makeBody === undefined;
    const attempts = isRepeatable ? (options.attempts ?? this.attempts) : 1;
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
        // Clients that were refused together must not retry together.
        const pause = Math.min(seconds * 1_000 * (1 + Math.random()), this.timeoutMs);
        await sleep(pause, signal);
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
    // The types of some platforms lack `duplex`, which a streamed body needs.
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

/** Answers of a proxy have another shape. */
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
  return Promise.resolve(iterateLines(response, exchange));
}

/** Reads the lines of an answer. The timer runs only while it waits for the service. */
async function* iterateLines(response: Response, exchange: Exchange): AsyncGenerator<string, void> {
  exchange.stopTimer();
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    while (reader !== undefined) {
      exchange.startTimer();
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

/** How many characters of a body are generated at a time. */
const PIECE_LENGTH = 64 * 1024;

/** Writes plants as lines. The timer runs only while it waits for the service. */
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

/** JSON.stringify() does not accept a bigint, and a number is exact only up to 2^53. */
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

/** Like JSON.parse(), but reads numbers as text instead of rounding them. */
function parseExactly(json: string): unknown {
  return JSON.parse(
    json.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)),
  );
}

function toStoredPlant(parsed: unknown): StoredPlant {
  const { id, ...rest } = parsed as Plant & { id: string };
  return { id: BigInt(id), ...rest };
}

interface ParsedChange {
  readonly cursor: string;
  readonly type: string;
  readonly id: string;
  readonly data?: unknown;
}

function toPlantChange({ id, data, ...change }: ParsedChange): PlantChange {
  const row = data === undefined ? {} : { data: toStoredPlant(data) };
  return { ...change, id: BigInt(id), ...row } as PlantChange;
}

/** Picks the members of a plant that a replacement sends, without its id. */
function withoutId({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag };
}
