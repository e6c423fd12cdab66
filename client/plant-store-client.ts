import { setTimeout as sleep } from 'node:timers/promises';
import type { components, paths } from './api-types.js';

type CreatePlant = paths['/plants']['post'];
export type NewPlant = CreatePlant['requestBody']['content']['application/json'];
export type Plant = CreatePlant['responses'][200]['content']['application/json'];
type ErrorBody = components['schemas']['Error'];

/** How often a create is sent in all, when its answer is lost or the store is unavailable. */
const ATTEMPTS = 5;
/** This very plant exists: after an attempt whose answer was lost, that attempt created it. */
const ALREADY_EXISTS = 40901;
const UNAVAILABLE = 503;

/** The service refused a request. `error` is a code of docs/errors.md. */
export class PlantStoreError extends Error {
  readonly error: number;

  constructor(
    readonly status: number,
    body: ErrorBody,
  ) {
    super(body.message);
    this.error = body.error;
  }
}

export class PlantStoreClient {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /**
   * Creates a plant. It is sent again when nobody can know whether it was created, which is safe.
   *
   * @throws PlantStoreError
   */
  async createPlant(plant: NewPlant): Promise<Plant> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.send(plant).catch((error: unknown) => {
        if (attempt === ATTEMPTS) throw error;
      });
      if (response?.status === 200) return (await response.json()) as Plant;
      if (response !== undefined && (response.status !== UNAVAILABLE || attempt === ATTEMPTS)) {
        const body = (await response.json()) as ErrorBody;
        if (attempt > 1 && body.error === ALREADY_EXISTS) return withoutId(plant);
        throw new PlantStoreError(response.status, body);
      }
      const seconds = Number(response?.headers.get('retry-after') ?? 0.1 * attempt);
      // Clients that were refused together must not come back together.
      await sleep(seconds * 1_000 * (1 + Math.random()));
    }
  }

  private send({ id, ...plant }: NewPlant): Promise<Response> {
    // JSON.stringify() takes no bigint, and a number is exact only up to 2^53.
    const body = `{"id":${id},${JSON.stringify(plant).slice(1)}`;
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' };
    return fetch(`${this.url}/plants`, { method: 'POST', headers, body });
  }
}

function withoutId({ name, tag }: NewPlant): Plant {
  return tag === undefined ? { name } : { name, tag };
}
