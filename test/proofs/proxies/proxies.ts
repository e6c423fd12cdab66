import { parseArgs } from 'node:util';
import { PROXIES } from '../../support/proxies.js';
import { proveHttp2 } from './http2.js';
import { proveProgram } from './program.js';
import { proveReplicas } from './replicas.js';

// Runs each proxy with its shipped configuration, or those that --proxy names. --part has only some of
// the parts.

const PARTS = { program: proveProgram, http2: proveHttp2, replicas: proveReplicas };
const ALL = Object.keys(PARTS) as (keyof typeof PARTS)[];

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    proxy: { type: 'string', default: PROXIES.join() },
    part: { type: 'string', default: ALL.join() },
  },
});
const [proxies, parts] = [values.proxy.split(','), values.part.split(',')];

for (const proxy of PROXIES.filter((name) => proxies.includes(name))) {
  for (const part of ALL.filter((name) => parts.includes(name))) PARTS[part](proxy);
}
