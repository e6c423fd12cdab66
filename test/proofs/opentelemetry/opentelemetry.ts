import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterEach, before, beforeEach, it } from 'node:test';
import { PostgresServer } from '../../support/postgres-server.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { TokenIssuer } from '../../support/token-issuer.js';
import { TOKEN } from '../../support/token.js';
import { Collector, getAttribute, type Span } from './collector.js';

// Runs the program with OpenTelemetry's package, and checks the spans that a collector gets.
// Every test stops the program before it checks the spans, which also shows that a stop loses none.

const ROOT = new URL('../../../', import.meta.url);
const REGISTER = new URL('opentelemetry/register.mjs', ROOT).href;

let folder: ProgramFolder;
let collector: Collector;

before(() => {
  const install = ['--prefix', 'opentelemetry', 'ci', '--ignore-scripts'];
  execFileSync('npm', install, { cwd: ROOT, stdio: 'ignore' });
});

beforeEach(async () => {
  folder = await ProgramFolder.create();
  collector = await Collector.start();
});

afterEach(async () => {
  collector.stop();
  await folder.remove();
});

interface Caller {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * Runs the program while requests are sent, each in the trace of a caller: a create of a plant with
 * this id, or else a read. Resolves with the log.
 */
async function trace(
  env: Record<string, string>,
  work: (send: (id?: number, token?: string) => Promise<Caller>) => Promise<void>,
): Promise<string> {
  const program = folder.serve({
    NODE_OPTIONS: `--import ${REGISTER}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...env,
  });
  const url = await program.listening();
  await work(async (id, token = TOKEN) => {
    const [traceId, spanId] = [16, 8].map((size) => randomBytes(size).toString('hex')) as [
      string,
      string,
    ];
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      traceparent: `00-${traceId}-${spanId}-01`,
    };
    const body = JSON.stringify({ id, name: 'n' });
    const answer = await (id === undefined
      ? fetch(`${url}/plants/1`, { headers })
      : fetch(`${url}/plants`, { method: 'POST', headers, body }));
    assert.equal(answer.status, 200);
    return { traceId, spanId };
  });
  assert.equal(await program.end(), 0);
  assert.equal(program.errors, '');
  return program.output;
}

/** Finds the span of a caller's request. */
function findServerSpan({ traceId, spanId }: Caller): Span {
  const spans = collector.of('http').filter((span) => span.parentSpanId === spanId);
  assert.equal(spans.length, 1);
  const [span] = spans as [Span];
  assert.equal(span.traceId, traceId);
  return span;
}

it('a request has a span, named by its route, in the trace of its caller, and in its log line', async () => {
  const issuer = await TokenIssuer.start();
  const callers: Caller[] = [];
  const log = await trace({ DATABASE_URL: 'sqlite::memory:', ...issuer.env }, async (send) => {
    callers.push(await send(1, await issuer.token()), await send());
  });
  await issuer.stop();
  const [created, read] = callers.map(findServerSpan) as [Span, Span];
  assert.deepEqual([created.name, read.name], ['POST /plants', 'GET /plants/:id']);
  assert.equal(getAttribute(created, 'http.route'), '/plants');
  assert.equal(getAttribute(created, 'http.response.status_code'), '200');
  for (const { traceId, spanId } of [created, read]) {
    assert.match(log, new RegExp(`"trace_id":"${traceId}","span_id":"${spanId}"`));
  }
  // The first token makes the keys of the identity provider be fetched.
  const [fetched, ...others] = collector.of('undici');
  assert.equal(fetched?.parentSpanId, created.spanId);
  assert.equal(issuer.lastHeaders.traceparent, `00-${fetched.traceId}-${fetched.spanId}-01`);
  assert.deepEqual(others, []);
});

it('a query on PostgreSQL has a span below that of its request, or of one of its requests', async () => {
  const postgres = await PostgresServer.start();
  const callers: Caller[] = [];
  const env = { DATABASE_URL: postgres.url(), DATABASE_POOL_SIZE: '1' };
  await trace(env, async (send) => {
    callers.push(await send(1));
    const ids = Array.from({ length: 500 }, (_, index) => 1_000 + index);
    callers.push(...(await Promise.all(ids.map((id) => send(id)))));
  });
  await postgres.remove();
  const requests = callers.map(findServerSpan);
  const inserts = collector
    .of('pg')
    .filter((span) => getAttribute(span, 'db.query.text').startsWith('INSERT INTO "plants"'));
  assert.ok(inserts.length > 2 && inserts.length < requests.length, `${inserts.length} statements`);
  assert.ok(inserts.some((insert) => insert.parentSpanId === requests[0]?.spanId));
  for (const insert of inserts) {
    const request = requests.find(({ spanId }) => spanId === insert.parentSpanId);
    assert.equal(request?.traceId, insert.traceId);
    assert.ok(BigInt(insert.startTimeUnixNano) < BigInt(request.endTimeUnixNano));
  }
});
