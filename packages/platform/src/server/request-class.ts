import { Logger } from '@nestjs/common';
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ClientRequest, getClient } from '../limits/client.js';
import type { RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../state/request-state.js';
import { GrowingBuffer } from '../requests/body-chunks.js';
import { SlowBodies } from './slow-bodies.js';

/** A chunk below this length, in bytes, takes about as long to parse as one of this length. */
export const SMALL_CHUNK = 256;
/** How many small chunks of a body are read without a turn. */
export const FREE_SMALL_CHUNKS = 64;

/**
 * Whether a body in small chunks needs a turn before more of it is read:
 *
 *     none --a read of the connection had small chunks--> due --Node reads on--> waiting
 *     ^----------------------------------------------------------- the turn comes ---|
 */
type Turn = 'none' | 'due' | 'waiting';

/** A request of this program. */
export interface FastRequest extends IncomingMessage, ClientRequest {
  readonly state: RequestState;
  /**
   * Whether its body came in many small chunks. The answer then ends the connection: the first read
   * of a body does not wait for other clients, while a new connection costs its client some time.
   */
  readonly hasSmallChunks: boolean;
}

type RequestClass = typeof IncomingMessage & (new (socket: Socket) => FastRequest);

/** Makes the class of the requests of a server. */
export function createRequestClass(limits: RequestLimits): RequestClass {
  const slowBodies = new SlowBodies(limits.slowWork);
  const unread = new UnreadBodies();

  // Express sets members of each request, such as `next`: other names must be chosen here.
  return class ExpressRequest extends IncomingMessage implements FastRequest {
    readonly state = new RequestState(limits);
    /** Undefined until the body is read. */
    private readBody: unknown;
    /** Express computes it. */
    declare readonly ip: string | undefined;
    private smallChunks = 0;
    /** The small chunks of one read of the connection; undefined if there are none. */
    private gathered: GrowingBuffer | undefined;
    private turn: Turn = 'none';

    get body(): unknown {
      if (this.readBody === undefined) unread.warn(this);
      return this.readBody;
    }

    set body(value: unknown) {
      this.readBody = value;
    }

    get hasSmallChunks(): boolean {
      return this.smallChunks > FREE_SMALL_CHUNKS;
    }

    /** Returns false when Node shall not read on, until it calls {@link _read}. */
    override push(chunk: Buffer | null): boolean {
      const isSmall = chunk !== null && chunk.length < SMALL_CHUNK;
      if (isSmall) this.smallChunks++;
      if (!isSmall || !this.hasSmallChunks) {
        this.pushGathered();
        return super.push(chunk) && this.turn === 'none';
      }
      // Passing each chunk on takes several times as long as parsing it.
      if (this.gathered === undefined) setImmediate(() => this.pushGathered());
      this.gathered ??= new GrowingBuffer(Infinity);
      this.gathered.add(chunk);
      return false;
    }

    private pushGathered(): void {
      if (this.gathered === undefined) return;
      if (this.turn === 'none') this.turn = 'due';
      const { bytes } = this.gathered;
      this.gathered = undefined;
      super.push(bytes);
    }

    override _read(): void {
      if (this.turn === 'none') {
        super._read(0);
      } else if (this.turn === 'due') {
        this.turn = 'waiting';
        slowBodies.readInTurn(getClient(this), this);
      }
    }

    readOn(): void {
      this.turn = 'none';
      super._read(0);
    }
  };
}

/** Says who asks for a body that nobody has read, such as a guard of Passport. */
class UnreadBodies {
  private readonly log = new Logger('Http');
  /** The routes that were named. */
  private readonly warned = new Set<string>();

  /** Warns once for each route. */
  warn(request: IncomingMessage & { readonly route?: { readonly path: string } }): void {
    const { method = '', headers, route } = request;
    const isSent = Number(headers['content-length']) > 0 || 'transfer-encoding' in headers;
    const name = route === undefined ? 'Middleware' : `${method} ${route.path}`;
    if (!isSent || this.warned.has(name)) return;
    this.warned.add(name);
    this.log.warn(
      `${name}: request.body is undefined here. It is read after the token was checked, and only for a handler with @Body() or @RawBody()`,
    );
  }
}
