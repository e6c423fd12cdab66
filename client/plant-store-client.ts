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
   * between attempts, in milliseconds; 10,000 by default.
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

interface RequestOptions extends CallOptions {
  readonly body?: string;
  /** Makes a body that is sent while it is generated, and so only once. */
  readonly makeBody?: (attempt: Attempt) => ReadableStream<Uint8Array>;
  /** `Content-Type` is `application/json` by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The ETag that the plant must have to be changed. */
  readonly ifMatch?: string | undefined;
  /** The error of a repeated request that means that an earlier one succeeded. */
  readonly successOfRepeat?: number;
  readonly attempts?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** If the answer to an earlier attempt was lost, that attempt created this very plant. */
const ALREADY_EXISTS = 40901;
/** If the answer to an earlier attempt was lost, that attempt removed the plant. */
const NOT_FOUND = 40401;
const NOT_MODIFIED = 304;
/** Too many requests, a proxy that does not reach the service, and an unavailable service. */
const TEMPORARY = [429, 502, 503, 504];
const NDJSON = 'application/x-ndjson';
/** The longest wait for a change, in seconds. */
const MAX_WAIT = 25;
/** How long to pause between requests for changes if `timeoutMs` leaves no time to wait. */
const PAUSE_MS = 500;
/** How many characters of a body are generated at a time. */
const PIECE_LENGTH = 64 * 1024;
/** Matches strings too, so that digits in them are not taken for numbers. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
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

/** A request under way. It ends when its caller aborts it, or the service is silent for too long. */
class Attempt extends AbortController {
  private readonly timeoutMs: number;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, caller: AbortSignal | undefined) {
    super();
    this.timeoutMs = timeoutMs;
    const leave = (): void => this.abort(caller?.reason);
    if (caller?.aborted) leave();
    // The end of the attempt removes the listener.
    caller?.addEventListener('abort', leave, { signal: this.signal });
  }

  startTimer(): void {
    this.stopTimer();
    this.timer = setTimeout(() => {
      this.abort(new DOMException(`Nothing has come for ${this.timeoutMs} ms`, 'TimeoutError'));
    }, this.timeoutMs);
  }

  stopTimer(): void {
    clearTimeout(this.timer);
  }

  /** Also closes the connection of an answer that was not read to its end. */
  end(): void {
    this.stopTimer();
    this.abort();
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

  constructor(url: string, token: string, options: ClientOptions = {}) {
    this.url = url.replace(/\/+$/, '');
    this.token = token;
    this.timeoutMs = options.timeoutMs ?? 10_000;
    this.options = options;
  }

  async createPlant(plant: NewPlant, call?: CallOptions): Promise<Plant> {
    const options = { ...call, body: writeNewPlant(plant), successOfRepeat: ALREADY_EXISTS };
    const answer = await this.send('POST', '/plants', options, readText);
    return answer === undefined ? withoutId(plant) : (JSON.parse(answer.text) as Plant);
  }

  async readPlant(id: Id, knownEtag?: undefined, call?: CallOptions): Promise<ReadPlant>;
  /** Reads a plant; `undefined` if it still has this ETag. */
  async readPlant(id: Id, knownEtag: string, call?: CallOptions): Promise<ReadPlant | undefined>;
  async readPlant(id: Id, knownEtag?: string, call?: CallOptions): Promise<ReadPlant | undefined> {
    const conditions = knownEtag === undefined ? {} : { headers: { 'If-None-Match': knownEtag } };
    const answer = await this.ask('GET', pathOf(id), { ...call, ...conditions });
    if (answer.status === NOT_MODIFIED) return undefined;
    const plant = toStoredPlant(parseExactly(answer.text));
    return { plant, etag: answer.headers.get('etag') ?? '' };
  }

  /** Lists plants in an order. Each page is requested when it is needed. */
  async *listPlants(query: PlantQuery = {}, call?: CallOptions): AsyncGenerator<StoredPlant, void> {
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
    call?: CallOptions,
  ): AsyncGenerator<StoredPlant, void> {
    const options = { ...call, headers: { Accept: NDJSON } };
    const lines = await this.send('GET', writePath(query), options, iterateLines);
    for await (const line of lines ?? []) yield toStoredPlant(parseExactly(line));
  }

  /**
   * Creates any number of plants in one request, which is not repeated by itself. Importing them
   * again is safe.
   */
  async importPlants(
    plants: AsyncIterable<NewPlant> | Iterable<NewPlant>,
    call?: CallOptions,
  ): Promise<ImportResult> {
    const makeBody = (attempt: Attempt): ReadableStream<Uint8Array> =>
      makeStream(generateLines(plants), attempt);
    const options = { ...call, makeBody, headers: { 'Content-Type': NDJSON } };
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
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const options = { ...call, body: JSON.stringify(patch), headers, ifMatch };
    const { text } = await this.ask('PATCH', pathOf(id), options);
    return JSON.parse(text) as Plant;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async removePlant(id: Id, ifMatch?: string, call?: CallOptions): Promise<void> {
    const options = { ...call, ifMatch, successOfRepeat: NOT_FOUND };
    await this.send('DELETE', pathOf(id), options, readText);
  }

  /** Reads the newest cursor, from which {@link changes} reports all later changes. */
  async latestCursor(call?: CallOptions): Promise<string> {
    const { headers } = await this.ask('GET', '/changes?after=latest', call);
    const link = NEXT_LINK.exec(headers.get('link') ?? '')?.[1] ?? '';
    return new URL(link, this.url).searchParams.get('after') ?? '';
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
  ): AsyncGenerator<PlantChange, void> {
    const { signal } = options;
    const wait = Math.min(MAX_WAIT, Math.floor((0.8 * this.timeoutMs) / 1_000));
    let cursor = options.after ?? (await this.latestCursor({ signal }));
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

  private async ask(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
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
    read: (response: Response, attempt: Attempt) => Result | Promise<Result>,
  ): Promise<Result | undefined> {
    const { ifMatch, makeBody, signal, successOfRepeat } = options;
    // An earlier attempt may have changed the ETag. Only the caller can find out.
    const isRepeatable = ifMatch === undefined && makeBody === undefined;
    const attempts = isRepeatable ? (options.attempts ?? this.options.attempts ?? 5) : 1;
    for (let count = 1; ; count++) {
      const attempt = new Attempt(this.timeoutMs, signal);
      try {
        return await read(await this.fetch(attempt, method, path, options), attempt);
      } catch (error) {
        attempt.end();
        const refusal = error instanceof PlantStoreError ? error : undefined;
        if (count > 1 && refusal && refusal.error === successOfRepeat) return undefined;
        const isOver = refusal !== undefined && !TEMPORARY.includes(refusal.status);
        if (isOver || count >= attempts || signal?.aborted) throw error;
        // Clients that were refused together must not retry together.
        const pause = (refusal?.retryAfter ?? 0.1 * count) * 1_000 * (1 + Math.random());
        await sleep(Math.min(pause, this.timeoutMs), signal);
      }
    }
  }

  private async fetch(
    attempt: Attempt,
    method: string,
    path: string,
    { body, makeBody, headers: given, ifMatch }: RequestOptions,
  ): Promise<Response> {
    const sent = makeBody?.(attempt) ?? body ?? null;
    const headers = {
      Authorization: `Bearer ${this.token}`,
      ...(sent !== null && { 'Content-Type': 'application/json' }),
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
      ...given,
    };
    const { signal } = attempt;
    attempt.startTimer();
    // The types of some platforms lack `duplex`, which a streamed body needs.
    const init = { method, headers, body: sent, signal, ...(makeBody && { duplex: 'half' }) };
    const response = await (this.options.fetch ?? fetch)(this.url + path, init);
    if (response.ok || response.status === NOT_MODIFIED) return response;
    throw await readError(response);
  }
}

async function readText(response: Response, attempt: Attempt): Promise<Answer> {
  const { status, headers } = response;
  const text = await response.text();
  attempt.end();
  return { status, headers, text };
}

/** Answers of a proxy have another shape. `Retry-After` is seconds, or a date. */
async function readError(response: Response): Promise<PlantStoreError> {
  const { status, headers } = response;
  const parsed: unknown = await response.json().catch(() => undefined);
  const body = parsed as Partial<ErrorBody> | null | undefined;
  const {
    error = status * 100,
    message = `The answer has the status ${status}, and is not the service's`,
  } = typeof body?.error === 'number' && typeof body.message === 'string' ? body : {};
  const retry = headers.get('retry-after') ?? '';
  const seconds = /^\d+$/.test(retry) ? Number(retry) : (Date.parse(retry) - Date.now()) / 1_000;
  const retryAfter = Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
  return new PlantStoreError(status, { error, message }, retryAfter);
}

/** Reads the lines of an answer. The timer runs only while it waits for the service. */
async function* iterateLines(response: Response, attempt: Attempt): AsyncGenerator<string, void> {
  attempt.stopTimer();
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    while (reader !== undefined) {
      attempt.startTimer();
      const { done, value } = await reader.read();
      attempt.stopTimer();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') throw new TypeError('The answer was cut off');
  } finally {
    attempt.end();
  }
}

async function* generateLines(
  plants: AsyncIterable<NewPlant> | Iterable<NewPlant>,
): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  let text = '';
  for await (const plant of plants) {
    text += `${writeNewPlant(plant)}\n`;
    if (text.length < PIECE_LENGTH) continue;
    yield encoder.encode(text);
    text = '';
  }
  if (text !== '') yield encoder.encode(text);
}

/** Sends what a generator yields. The timer runs only while it waits for the service. */
function makeStream(
  pieces: AsyncGenerator<Uint8Array, undefined>,
  attempt: Attempt,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(stream) {
      attempt.stopTimer();
      try {
        const { value } = await pieces.next();
        if (value === undefined) stream.close();
        else stream.enqueue(value);
        attempt.startTimer();
      } catch (error) {
        attempt.abort(error);
        stream.error(error);
      }
    },
    async cancel() {
      await pieces.return(undefined);
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
  return `/plants?${parameters.join('&')}`;
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

type ParsedChange = Pick<PlantChange, 'cursor' | 'type' | 'at'> & { id: string; data?: unknown };

function toPlantChange({ id, data, ...change }: ParsedChange): PlantChange {
  const row = data === undefined ? {} : { data: toStoredPlant(data) };
  return { ...change, id: BigInt(id), ...row } as PlantChange;
}

/** Picks the members of a plant that a replacement sends, without its id. */
function withoutId({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag };
}
