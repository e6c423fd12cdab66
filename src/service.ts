import { readFileSync } from 'node:fs';
import { Env, type Service, setDefault } from 'durable-rest/program';

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string };

setDefault(Env, 'DATABASE_URL', 'sqlite:data/plants.db');

/** The name, the version and the interface of the program. */
export const service: Service = {
  name: 'plant-store',
  title: 'Plant Store',
  version,
  interface: {
    version: '1.0.0',
    description: `A plant store over HTTP with JSON bodies.

A string has neither U+0000 nor unpaired surrogates. An \`int64\` is a JSON number with all its digits, never a string.

The [OpenAPI document](/openapi.json) of this page. \`GET /health/ready\` says whether the service can store plants, and \`GET /metrics\`, with a token, is for Prometheus.`,
    license: 'MIT',
  },
  example: { path: '/plants', body: { id: Date.now(), name: 'Monstera', tag: 'indoor' } },
};
