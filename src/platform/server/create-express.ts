import express, { type Express, type Response } from 'express';
import { writeJson } from '../json/json-writer.js';

/**
 * Express for an API: paths are exact, nothing is added to answers, and a bigint in one is an exact
 * integer. The router reads the settings once, when the first route is made, so they belong on the
 * instance Nest is given.
 */
export function createExpress(): Express {
  const app = express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag');
  app.response.json = function json(this: Response, body: unknown): Response {
    if (!this.hasHeader('Content-Type')) this.type('json');
    return this.send(writeJson(body));
  };
  return app;
}
