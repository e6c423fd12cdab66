import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** A header as it is sent; its value has a character for each byte. */
export type Field = readonly [name: string, value: string];

export interface Request {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly Field[];
  readonly body?: Buffer;
  /** Whether the body is sent in chunks, without its length. */
  readonly isChunked?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends one request. Rejects if there is no answer, or one that is not HTTP or not UTF-8. */
export type Send = (request: Request) => Promise<Answer>;

/** How long an answer may take, in milliseconds. */
const LONGEST = 120_000;
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Sends requests as they are, on connections that are kept. */
export class Client {
  private readonly agent = new Agent({ keepAlive: true });

  constructor(private readonly origin: URL) {}

  readonly send: Send = (request) =>
    new Promise((resolve, reject) => {
      const { method, target, fields, body, isChunked = false } = request;
      const { host, hostname, port } = this.origin;
      const headers: Field[] = [['Host', host], ...fields];
      if (isChunked) headers.push(['Transfer-Encoding', 'chunked']);
      else if (body !== undefined) headers.push(['Content-Length', String(body.length)]);
      const options = { hostname, port, method, path: target, agent: this.agent };
      const sent = httpRequest({ ...options, headers: headers.flat(), timeout: LONGEST });
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${LONGEST} ms`)));
      sent.on('error', reject);
      sent.on('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers: received } = response;
          try {
            resolve({ status, headers: received, body: UTF_8.decode(Buffer.concat(pieces)) });
          } catch {
            reject(new Error('the body of the answer is not UTF-8'));
          }
        });
      });
      if (isChunked) sent.write(body?.subarray(0, 7) ?? '');
      sent.end(isChunked ? body?.subarray(7) : body);
    });

  close(): void {
    this.agent.destroy();
  }
}
