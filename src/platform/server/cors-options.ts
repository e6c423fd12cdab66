import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';

/**
 * Makes options that let pages of these origins call the service, read the headers of its answers,
 * and send their own request ids.
 */
export function createCorsOptions(origins: string[]): CorsOptions {
  return {
    origin: origins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match'],
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
}
