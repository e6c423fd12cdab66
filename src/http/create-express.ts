import express, { type Express } from 'express';

/**
 * Express for an API: paths are exact, and nothing is added to answers. The router reads these
 * settings when the first route is added, so they must be set before Nest is given the instance.
 */
export function createExpress(): Express {
  return express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag');
}
