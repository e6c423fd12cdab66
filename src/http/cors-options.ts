import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';

/** Lets pages of these origins call the service, read its errors and use their own request ids. */
export function corsOptions(origins: string[]): CorsOptions {
  return {
    origin: origins,
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: ['Authorization', 'Content-Type', 'X-Request-Id'],
    exposedHeaders: [
      ...['RateLimit', 'RateLimit-Policy', 'Retry-After'],
      ...['WWW-Authenticate', 'X-Request-Id'],
    ],
    maxAge: 600,
    // OPTIONS is answered like everywhere else: 204 with Allow, or an error.
    preflightContinue: true,
  };
}
