import { type Answer, TestApplication } from 'durable-rest/testing';

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** An application with plants. */
export abstract class PlantsApplication extends TestApplication {
  /** Sends POST /plants with a valid token and exactly this text or these bytes as the body. */
  create(
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.post('/plants', body, headers);
  }

  /** Reads the stored plants, sorted by id. */
  async rows(): Promise<Row[]> {
    return await this.query<Row>(
      'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants ORDER BY plants.id',
    );
  }

  async row(id: string): Promise<Row | undefined> {
    return (await this.rows()).find((row) => row.id === id);
  }
}
