import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { discardBody } from '../requests/discard-body.js';
import { breakOff } from './break-off.js';

const logger = new Logger('Http');

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The methods whose answers depend on `Accept`. */
const READING = new Set<string | undefined>(['GET', 'HEAD']);

/** Answers with an error as JSON, also before the body of the request has arrived. */
export function sendError(
  req: IncomingMessage,
  res: Response,
  status: number,
  headers: OutgoingHttpHeaders,
  body: object,
): void {
  const text = JSON.stringify(body);
  const allHeaders = {
    ...headers,
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(text),
  };
  const send = (): void => {
    try {
      // The path may have several representations, and this answer takes the place of any.
      if (!res.headersSent && READING.has(req.method)) res.vary('Accept');
      if (res.headersSent) {
        breakOff(res);
      } else if (req.complete) {
        res.writeHead(status, allHeaders).end(text);
      } else {
        res.writeHead(status, { ...allHeaders, Connection: 'close' }).write(text);
        // Nothing reads them any more, and discarding the body may take seconds.
        req.headers = {};
        req.rawHeaders = [];
        discardBody(req, () => res.end());
      }
    } catch (error) {
      // Only a bug can cause an answer that cannot be written.
      logger.error(error);
      breakOff(res);
    }
  };
  // Node marks a request that arrived together with its headers as complete only after this turn.
  if (req.complete) send();
  else setImmediate(send);
}
