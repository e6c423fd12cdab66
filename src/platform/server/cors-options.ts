import type { CorsOptionsDelegate } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import type { Express, Request } from 'express';
import { listAllowedMethods } from './route-matching.js';

/**
 * Makes options that let pages of these origins call the service, read the headers of its answers,
 * and send their own request ids.
 */
export function createCorsOptions(origins: string[]): CorsOptionsDelegate<Request> {
  const options = {
    origin: origins,
    allowedHeaders: [
      ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'Last-Event-ID'],
      'X-Request-Id',
    ],
    exposedHeaders: [
      ...['Accept-Patch', 'ETag', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy'],
      ...['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    ],
    maxAge: 600,
    // OPTIONS is answered as without CORS: 204 with Allow, or an error.
    preflightContinue: true,
  };
  return ({ app, method, path }, callback) => {
    const isPreflight = method === 'OPTIONS';
    const methods = isPreflight ? listAllowedMethods(app as Express, path) : [];
    callback(null, { ...options, methods });
  };
}
