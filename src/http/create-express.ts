import express, { type Express } from 'express';

/**
 * Express for an API: paths are exact, nothing is added to answers. The router reads these
 * settings once, when the first route is made, so they belong on the instance Nest is given.
 */
export function createExpress(): Express {
  return express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag');
}
