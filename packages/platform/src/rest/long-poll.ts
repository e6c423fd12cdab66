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
 * Lets a GET request wait, without a turn; it has a turn for a page again afterwards. Beyond the
 * limit, the client with the most waiting requests loses the one that began first. HEAD does not
 * wait.
 *
 * @param milliseconds how long it waits at most
 * @param wait resolves when something has happened, or when its signal aborts because the time is
 *   over or the client has left
 * @throws ApiError 50300 when too many requests wait, or there is no turn in time
 */
export async function waitInRequest(
  request: Request,
  milliseconds: number,
  wait: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { socket, res: response } = request;
  if (request.method !== 'GET' || response === undefined) return;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const holding = request.state.limits.waiting.hold(getClient(request), () => {
    ending.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
  });
  const timer = setTimeout(end, milliseconds);
  response.once('close', end);
  // The system closes the connections of a killed client in this way.
  socket.once('end', end);
  if (response.closed || socket.readableEnded) end();
  try {
    endTurn(response);
    holding.update(1);
    const { signal } = ending;
    await wait(signal);
    if (signal.reason instanceof ApiError) throw signal.reason;
    await takeTurn(response, 'pages');
  } finally {
    holding.end();
    clearTimeout(timer);
    response.off('close', end);
    socket.off('end', end);
  }
}

/**
 * Answers with a page of instances of a class, and always with a `Link` to what follows. The
 * handler returns a `JsonPage`.
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
