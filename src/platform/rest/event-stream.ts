import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { getTokenExpiry } from '../auth/bearer.guard.js';
import type { JsonPage } from '../database/batched-repository.js';
import type { InTurn } from '../database/change-feed.js';
import { iterate, type Items } from '../database/iterate.js';
import { getClient } from '../limits/client.js';
import { FairShare } from '../limits/fair-share.js';
import { endTurn, TakesTurns, Turns } from '../requests/concurrent-requests.js';
import { ConvertResult } from '../requests/convert-result.js';
import { TextStream } from '../server/send-stream.js';
import { prefersMediaType } from './accept.js';
import { setNextLink } from './page.js';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';

/** How long a stream may be silent, in milliseconds, since proxies close silent connections. */
const HEARTBEAT_MS = 15_000;
const COMMENT = ':\n\n';

/** How many streams all clients may have together. */
export const MAX_STREAMS = 2_000;

const streams = new FairShare(MAX_STREAMS);

/** A server-sent event (HTML standard section 9.2). */
export interface ServerSentEvent {
  /** The client sends it as `Last-Event-ID` to continue after this event. */
  readonly id: string;
  readonly event?: string;
  /** JSON. An event without data only sets the id. */
  readonly data?: string;
}

/** Events that are sent as they happen, until the client disconnects or its token expires. */
export class EventStream {
  /**
   * @param open yields events from {@link writeEvent}, and an empty text about once per second.
   *   It reads pages of the store in turn with other requests.
   */
  constructor(readonly open: (signal: AbortSignal, inTurn: InTurn) => Items<string>) {}
}

/** Whether a client prefers events to JSON. */
export function prefersEvents(accept: string | undefined): boolean {
  return prefersMediaType(accept, EVENT_STREAM_TYPE, JSON_TYPE);
}

/** Returns a page, and sets the `Link` to the next one, or returns a stream of events. */
function convert(result: JsonPage | EventStream, request: Request, response: Response): unknown {
  response.vary('Accept');
  if (result instanceof EventStream) return send(result, request, response);
  setNextLink(request, response, result.next);
  return result.json;
}

/**
 * Answers with a page of instances of a class and a `Link` to the next page, or with events to a
 * client that accepts `text/event-stream`. The handler returns a `JsonPage` or an {@link
 * EventStream}.
 */
export function ApiPageOrEvents(type: Type, description: string): MethodDecorator {
  const name = getSchemaPath(type).split('/').at(-1);
  return applyDecorators(
    TakesTurns(Turns.ofPages),
    ConvertResult(convert),
    ApiExtraModels(type),
    ApiHeader({
      name: 'Last-Event-ID',
      description:
        'The id of the last event of a stream that broke. Only streams use it, and it takes precedence over `after`',
      required: false,
    }),
    ApiOkResponse({
      description,
      headers: {
        Link: {
          description: 'What follows this page, with rel="next"; on every page, and on no stream',
          schema: { type: 'string' },
        },
      },
      content: {
        [JSON_TYPE]: { schema: { type: 'array', items: { $ref: getSchemaPath(type) } } },
        [EVENT_STREAM_TYPE]: {
          schema: {
            type: 'string',
            description: `Server-Sent Events, each with one ${name} as its data, whose cursor is the id`,
          },
        },
      },
    }),
  );
}

function send({ open }: EventStream, request: Request, response: Response): TextStream {
  const { socket } = request;
  const disconnected = new AbortController();
  const leave = (): void => {
    disconnected.abort();
    socket.off('end', leave);
  };
  response.once('close', leave);
  // A client that ends only its side of the connection would still get other answers, but no
  // stream.
  socket.once('end', leave);
  if (socket.readableEnded) leave();
  limitStreams(request, response);
  const inTurn: InTurn = async (read) => {
    const turn = Turns.ofPages.take(request, response);
    // Without a wait the read begins at once, so that the other listeners can share it.
    if (turn !== undefined) await turn;
    try {
      return await read();
    } finally {
      endTurn(response);
    }
  };
  // nginx must not buffer events.
  response.setHeader('X-Accel-Buffering', 'no');
  return new TextStream(
    EVENT_STREAM_TYPE,
    keepAlive(open(disconnected.signal, inTurn), getTokenExpiry(response)),
  );
}

/** Beyond the limit, the client with the most streams loses the one that began first. */
function limitStreams(request: Request, response: Response): void {
  if (response.closed) return;
  const holding = streams.hold(getClient(request), () => response.destroy());
  response.once('close', () => holding.end());
  holding.update(1);
}

/**
 * Sends a comment after a long silence.
 *
 * @param expiry when the stream ends, as a time of `Date.now()`
 */
function keepAlive(texts: Items<string>, expiry: number): Items<string> {
  let sentAt = performance.now();
  const readNext = async (): Promise<string | undefined> => {
    for (;;) {
      const { value: text } = await texts.next();
      if (text === undefined || Date.now() >= expiry) return undefined;
      if (text === '' && performance.now() - sentAt < HEARTBEAT_MS) continue;
      sentAt = performance.now();
      return text || COMMENT;
    }
  };
  return iterate(readNext, () => texts.return());
}

export function writeEvent({ id, event, data }: ServerSentEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  // JSON has line breaks only between its tokens.
  const line = data === undefined ? '' : `data: ${data.replace(/[\r\n]+/g, ' ')}\n`;
  return `id: ${id}\n${name}${line}\n`;
}
