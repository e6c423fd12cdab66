import { setTimeout as sleep } from 'node:timers/promises';
import { ClientConnection } from '../../support/http/connection.js';
import type { StoreModel } from '../../fuzz/store-model.js';
import { writeBytes } from '../../support/http/request.js';
import { LARGE, LIVE, makeCreateRequest, type NewPlant } from '../../support/plant-requests.js';
import type { SeededRandom } from '../../support/seeded-random.js';

/** The number of its clients. */
const CLIENTS = 6;
/** The most connections that a client has at a time. */
const MOST_CONNECTIONS = 50;
/** The longest time for which a client just keeps its connections open, in milliseconds. */
const LONGEST_PAUSE = 200;

const UPGRADE = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c';

/** Uses connections in other ways than one request after another, until it is stopped. */
export class ConnectionFuzzer {
  /** How many connections it may have open. */
  static readonly MOST = CLIENTS * MOST_CONNECTIONS;
  readonly faults: string[] = [];
  connections = 0;
  private isStopped = false;
  private readonly clients: Promise<void>[];
  private readonly behaviours = [
    () => this.model.inTurn(`pipeline ${this.freshId()}`, () => this.pipeline()),
    () => this.stopReading(),
    () => this.leaveEarly(),
    () => this.upgrade(),
    () => this.model.inTurn(`end ${this.freshId()}`, () => this.endTheirSide()),
    () => this.stayIdle(),
  ] as const;

  constructor(
    private readonly port: number,
    /** The model of the plants. */
    private readonly model: StoreModel,
    private readonly random: SeededRandom,
    private readonly freshId: () => bigint,
  ) {
    this.clients = Array.from({ length: CLIENTS }, () => this.behave());
  }

  /** Resolves once all its connections are closed. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.clients);
  }

  private async behave(): Promise<void> {
    while (!this.isStopped && this.faults.length === 0)
      await this.random.pick(...this.behaviours)();
  }

  /** Sends many requests in one go; each is answered, in order. */
  private async pipeline(): Promise<void> {
    const [client] = this.connect(1);
    const count = 2 + this.random.below(200);
    const plants = Array.from({ length: count }, (_, index) =>
      // Few, since a page waits until the model knows them all.
      index % 10 === 1 ? this.newPlant() : undefined,
    );
    const ids = plants.map((_, index) => `pipelined-${index}`);
    const requests = plants.map((plant, index) =>
      (plant === undefined ? LIVE : writePlant(plant)).replace(
        '\r\n',
        `\r\nX-Request-Id: ${ids[index] ?? ''}\r\n`,
      ),
    );
    await client?.write(requests.join(''));
    for (const [index, id] of ids.entries()) {
      const answer = await client?.next();
      const plant = plants[index];
      const isRight = answer?.status === 200 && answer.headers['x-request-id'] === id;
      if (isRight && plant !== undefined) this.remember(plant);
      if (!isRight) this.faults.push(`request ${id} of ${count} got ${String(answer?.status)}`);
    }
    client?.reset();
    await client?.closed;
  }

  /** Requests large answers, reads nothing and disconnects. */
  private async stopReading(): Promise<void> {
    const clients = this.connect(1 + this.random.below(5));
    for (const client of clients) {
      client.pause();
      void client.write(LARGE.repeat(1 + this.random.below(1_000)));
    }
    await this.leave(clients);
  }

  /** Sends a part of a request and disconnects. */
  private async leaveEarly(): Promise<void> {
    const clients = this.connect(1 + this.random.below(10));
    for (const client of clients) {
      const request = writePlant(this.newPlant());
      void client.write(request.slice(0, this.random.below(request.length)));
    }
    await this.leave(clients);
  }

  /**
   * Requests another protocol, and hides a request in the body of the next one, which must not be
   * handled.
   */
  private async upgrade(): Promise<void> {
    const [client] = this.connect(1);
    const hidden = writePlant(this.newPlant());
    const head = `POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n`;
    const before = this.random.below(3);
    await client?.write(LIVE.repeat(before) + LIVE.replace('Host: a', UPGRADE) + head);
    await client?.write(hidden);
    await client?.closed;
    const statuses = client?.answers.map(({ status }) => status) ?? [];
    const isRight = statuses.length === before + 1 && statuses.every((status) => status === 200);
    if (!isRight) this.faults.push(`an upgrade after ${before} requests got ${statuses.join()}`);
  }

  /** Sends its requests and ends its side at once; they are answered. */
  private async endTheirSide(): Promise<void> {
    const [client] = this.connect(1);
    const plant = this.newPlant();
    client?.end(writePlant(plant) + LIVE);
    await client?.closed;
    const statuses = client?.answers.map(({ status }) => status) ?? [];
    if (statuses[0] === 200) this.remember(plant);
    if (statuses.join() !== '200,200') this.faults.push(`an ended side got ${statuses.join()}`);
  }

  private async stayIdle(): Promise<void> {
    await this.leave(this.connect(1 + this.random.below(MOST_CONNECTIONS)));
  }

  private connect(count: number): ClientConnection[] {
    this.connections += count;
    return Array.from({ length: count }, () => new ClientConnection(this.port));
  }

  private async leave(clients: readonly ClientConnection[]): Promise<void> {
    await sleep(this.random.below(LONGEST_PAUSE));
    for (const client of clients) {
      if (this.random.below(2) === 0) client.reset();
      else client.destroy();
    }
    await Promise.all(clients.map(({ closed }) => closed));
  }

  private remember(plant: NewPlant): void {
    this.model.set(this.model.writePath('/plants', { id: plant.id }), this.model.textOf(plant));
  }

  private newPlant(): NewPlant {
    return { id: this.freshId(), name: 'pipelined' };
  }
}

function writePlant(plant: NewPlant): string {
  return Buffer.concat(writeBytes(makeCreateRequest(plant))).toString('latin1');
}
