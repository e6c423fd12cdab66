import type { components, paths } from './api-types.js';

type ListParameters = NonNullable<paths['/plants']['get']['parameters']['query']>;
type CreatePlant = paths['/plants']['post'];
export type NewPlant = CreatePlant['requestBody']['content']['application/json'];
export type Plant = CreatePlant['responses'][200]['content']['application/json'];
/** A plant with its id, which is a `bigint` always, since not every id is a number. */
export type StoredPlant = components['schemas']['StoredPlant'] & { id: bigint };
/** `limit` is the size of a page, `after` the id after which to begin. */
export type PlantQuery = Omit<ListParameters, 'after'> & { after?: Id };
type ErrorBody = components['schemas']['Error'];
type Id = NewPlant['id'];

/** How often a request is sent in all, when its answer is lost or the store is unavailable. */
const ATTEMPTS = 5;
/** This very plant exists: after an attempt whose answer was lost, that attempt created it. */
const ALREADY_EXISTS = 40901;
/** There is no such plant: after an attempt whose answer was lost, that attempt removed it. */
const NOT_FOUND = 40401;
const OK = 200;
const NOT_MODIFIED = 304;
const UNAVAILABLE = 503;

/** The strings of JSON too, so that no digit in one is taken for a number. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const NEXT_LINK = /<([^>]*)>; *rel="next"/;

/** The service refused a request. `error` is a code of docs/errors.md. */
export class PlantStoreError extends Error {
  readonly status: number;
  readonly error: number;

  constructor(status: number, body: ErrorBody) {
    super(body.message);
    this.status = status;
    this.error = body.error;
  }
}

/** A plant, and the ETag that changes with what is stored. */
export interface ReadPlant {
  readonly plant: StoredPlant;
  readonly etag: string;
}

interface RequestOptions {
  readonly body?: string;
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

/**
 * Every method throws a `PlantStoreError` for what the service refuses, and what `fetch` throws when
 * there is no answer.
 */
export class PlantStoreClient {
  private readonly url: string;
  private readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  /** Creates a plant. */
  async createPlant(plant: NewPlant): Promise<Plant> {
    // JSON.stringify() takes no bigint, and a number is exact only up to 2^53.
    const body = `{"id":${plant.id},${JSON.stringify(withoutId(plant)).slice(1)}`;
    const options = { body, successOfRepeat: ALREADY_EXISTS };
    const { status, text } = await this.send('POST', '/plants', options);
    return status === OK ? (JSON.parse(text) as Plant) : withoutId(plant);
  }

  /** Reads a plant with its ETag. */
  async readPlant(id: Id): Promise<ReadPlant>;
  /** Reads a plant unless it has this ETag still: `undefined` then. */
  async readPlant(id: Id, knownEtag: string): Promise<ReadPlant | undefined>;
  async readPlant(id: Id, knownEtag?: string): Promise<ReadPlant | undefined> {
    const options = { ifNoneMatch: knownEtag };
    const { status, headers, text } = await this.send('GET', `/plants/${id}`, options);
    if (status === NOT_MODIFIED) return undefined;
    return { plant: toStoredPlant(parseExactly(text)), etag: headers.get('etag') ?? '' };
  }

  /** Lists plants in the order of their ids, page after page as they are asked for. */
  async *listPlants(query: PlantQuery = {}): AsyncGenerator<StoredPlant, void, undefined> {
    const { limit, after, tag } = query;
    const parameters = Object.entries({ limit, after, tag })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    let path: string | undefined = `/plants?${parameters.join('&')}`;
    while (path !== undefined) {
      const { headers, text }: Answer = await this.send('GET', path);
      for (const plant of parseExactly(text) as unknown[]) yield toStoredPlant(plant);
      path = NEXT_LINK.exec(headers.get('link') ?? '')?.[1];
    }
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async replacePlant(id: Id, plant: Plant, ifMatch?: string): Promise<Plant> {
    const options = { body: JSON.stringify(withoutId(plant)), ifMatch };
    const { text } = await this.send('PUT', `/plants/${id}`, options);
    return JSON.parse(text) as Plant;
  }

  /** @param ifMatch the ETag that the plant must still have, if that matters */
  async removePlant(id: Id, ifMatch?: string): Promise<void> {
    await this.send('DELETE', `/plants/${id}`, { ifMatch, successOfRepeat: NOT_FOUND });
  }

  /** Sends a request, and sends it again when nobody can know whether it was done, if that is safe. */
  private async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    // An earlier attempt may be the one that changed the ETag: only the caller can find out.
    const attempts = options.ifMatch === undefined ? ATTEMPTS : 1;
    for (let attempt = 1; ; attempt++) {
      let answer: Answer | undefined;
      try {
        answer = await this.fetch(method, path, options);
      } catch (error) {
        if (attempt === attempts) throw error;
      }
      if (answer !== undefined && (answer.status !== UNAVAILABLE || attempt === attempts)) {
        const { status, text } = answer;
        if (status < 300 || status === NOT_MODIFIED) return answer;
        const body = JSON.parse(text) as ErrorBody;
        if (attempt > 1 && body.error === options.successOfRepeat) return answer;
        throw new PlantStoreError(status, body);
      }
      const seconds = Number(answer?.headers.get('retry-after') ?? 0.1 * attempt);
      // Clients that were refused together must not come back together.
      await sleep(seconds * 1_000 * (1 + Math.random()));
    }
  }

  private async fetch(
    method: string,
    path: string,
    { body, ifMatch, ifNoneMatch }: RequestOptions,
  ): Promise<Answer> {
    const headers = new Headers({ Authorization: `Bearer ${this.token}` });
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
    if (ifNoneMatch !== undefined) headers.set('If-None-Match', ifNoneMatch);
    const response = await fetch(this.url + path, { method, headers, body: body ?? null });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
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

/** What of a plant is neither its id nor a member that the service would ignore. */
function withoutId({ name, tag }: Plant): Plant {
  return tag === undefined ? { name } : { name, tag };
}
