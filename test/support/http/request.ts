import { once } from 'node:events';
import { Agent, type AgentOptions, type IncomingMessage, request as sendRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type HttpAnswer, UTF_8 } from './answer.js';

export type Field = readonly [name: string, value: string];

/** A request as it is sent. Header values are Latin-1, one character per byte. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Field[];
  readonly body: Buffer;
  /** How the body is announced: by default by its length; with `none` it is not sent. */
  readonly framing?: Framing;
}

/** The length of each chunk; the rest of the body is one more chunk. */
export type Framing = 'length' | 'none' | { readonly chunks: readonly number[] };

/** How long an answer may take, in milliseconds: only a hanging service takes longer. */
const ANSWER_TIME_MS = 240_000;

/** Sends requests as given, each on a connection that no other request uses. */
export class HttpClient {
  private readonly agent: Agent;

  /** @param url the address of the program, which may change when it starts again */
  constructor(
    private readonly url: () => URL,
    options?: AgentOptions,
  ) {
    this.agent = new Agent({ keepAlive: true, ...options });
  }

  /** Resolves with the answer; rejects if it is not HTTP. */
  readonly send = async (request: HttpRequest): Promise<HttpAnswer> => {
    const { method, target: path, headers, body, framing = 'length' } = request;
    const { agent } = this;
    const sent = sendRequest(this.url(), { method, path, agent, timeout: ANSWER_TIME_MS });
    // The service may close the connection after its answer, before it has received the whole body.
    sent.on('error', () => undefined);
    sent.on('timeout', () => sent.destroy(new Error('there is no answer')));
    for (const [name, value] of headers) sent.appendHeader(name, value);
    if (framing === 'length') sent.setHeader('Content-Length', body.length);
    // By default Node announces no body of a DELETE, and sends it nevertheless.
    sent.useChunkedEncodingByDefault = framing !== 'none';
    let rest = framing === 'none' ? Buffer.alloc(0) : body;
    for (const size of typeof framing === 'object' ? framing.chunks : []) {
      sent.write(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
    sent.end(rest);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const values = Object.entries(answer.headersDistinct);
    return {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(values.map(([name, all = []]) => [name, all.join(', ')])),
      body: UTF_8.decode(await buffer(answer)),
    };
  };

  close(): void {
    this.agent.destroy();
  }
}
