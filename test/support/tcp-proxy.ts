import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What happens to the bytes that a client sends from now on. */
export type Mishap =
  | { readonly kind: 'none' }
  /** Nothing gets through in either direction, until another mishap is set. */
  | { readonly kind: 'silence' }
  /** From these bytes on nothing of this connection gets through, ever. */
  | { readonly kind: 'silence from'; readonly bytes: string }
  /** The connection breaks when these bytes come, and they do not get through. */
  | { readonly kind: 'lost'; readonly bytes: string }
  /** These bytes get through, and the connection breaks in the place of the answer. */
  | { readonly kind: 'answer lost'; readonly bytes: string };

const NONE: Mishap = { kind: 'none' };

/** A proxy between a program and a server on this machine, with the faults of a network. */
export class TcpProxy {
  private mishap = NONE;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly listener: Server,
    /** The port to which it leads new connections. */
    public target: number,
  ) {
    listener.on('connection', (client) => this.accept(client));
  }

  static async start(target: number): Promise<TcpProxy> {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new TcpProxy(listener, target);
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  befall(mishap: Mishap = NONE): void {
    this.mishap = mishap;
    for (const socket of this.sockets) {
      if (mishap.kind === 'silence') socket.pause();
      else socket.resume();
    }
  }

  close(): void {
    this.listener.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(client: Socket): void {
    const server = connect(this.target, '127.0.0.1');
    let isAnswerLost = false;
    const breakOff = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', breakOff).on('close', () => {
        this.sockets.delete(socket);
        breakOff();
      });
      if (this.mishap.kind === 'silence') socket.pause();
    }
    client.on('data', (chunk) => {
      const { mishap } = this;
      const isMeant = 'bytes' in mishap && chunk.includes(mishap.bytes);
      if (isMeant && mishap.kind === 'lost') {
        breakOff();
      } else if (isMeant && mishap.kind === 'silence from') {
        client.removeAllListeners('data');
      } else {
        isAnswerLost = isMeant;
        server.write(chunk);
      }
    });
    server.on('data', (chunk) => {
      if (isAnswerLost) breakOff();
      else client.write(chunk);
    });
  }
}
