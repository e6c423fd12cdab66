import { applyDecorators, type Type } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { Request } from 'express';
import type { JsonPage } from 'durable-store';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { getClient } from '../limits/client.js';
import { TakesTurns, takeTurn } from '../limits/request-limits.js';
import { endTurn } from '../limits/request-turns.js';
import { ConvertResult } from '../requests/request-binding.js';
import { describeHeader } from './api.decorators.js';
import { setNextLink } from './page.js';

/**
 * Lets a GET request wait until something happens. The request gives up its turn while it waits, and
 * takes a turn for a page before this function returns. If too many requests wait, the oldest one of
 * the client with the most gets 50300. A HEAD request does not wait.
 *
 * @param milliseconds how long it waits at most
 * @param wait resolves when something has happened, or when its signal aborts because the time is
 *   over, the client has left, or too many requests wait
 * @throws ApiError 50300 when too many requests wait, or there is no turn in time
 * @throws RequestAbortedError when the client has left
 */
export async function waitInRequest(
  request: Request,
  milliseconds: number,
  wait: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (request.method !== 'GET') return;
  const { socket, res: response } = request;
  // Express sets it for each request, although the type leaves it optional.
  if (response === undefined) return;
  const controller = new AbortController();
  const { signal } = controller;
  const stopWaiting = (): void => controller.abort();
  const timer = setTimeout(stopWaiting, milliseconds);
  response.once('close', stopWaiting);
  // When a client is killed, its system ends its direction of the connection (FIN). The server keeps
  // the other direction open, so there is no 'close' yet.
  socket.once('end', stopWaiting);
  // Both events may have come before their listeners.
  if (response.closed || socket.readableEnded) stopWaiting();
  const slot = request.state.limits.waiting.hold(getClient(request), () => {
    // Too many requests wait, and this one is dropped. The reason is thrown below.
    controller.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
  });
  slot.update(1);
  try {
    endTurn(response);
    await wait(signal);
    if (signal.reason instanceof ApiError) throw signal.reason;
    await takeTurn(response, 'pages');
  } finally {
    slot.end();
    clearTimeout(timer);
    response.off('close', stopWaiting);
    socket.off('end', stopWaiting);
  }
}

/**
 * Answers with a page of a sequence that never ends, such as the feed of changes. So each page has a
 * `Link` to what follows. The handler returns a `JsonPage` with instances of a class.
 */
export function ApiEndlessPage(type: Type, description: string): MethodDecorator {
  const Link = describeHeader('What follows this page, with rel="next"');
  return applyDecorators(
    TakesTurns('pages'),
    ConvertResult(({ json, next }: JsonPage, response) => {
      setNextLink(response, next);
      return json;
    }),
    ApiOkResponse({ description, type, isArray: true, headers: { Link } }),
  );
}
