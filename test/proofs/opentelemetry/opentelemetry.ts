import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { after, before, it } from 'node:test';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import { ProgramFolder } from '../../support/program.js';
import { TokenIssuer } from '../../support/token-issuer.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';

// Runs the program with OpenTelemetry's package, and checks the spans that a collector gets. The
// program is stopped before, which also shows that a stop loses none.

const ROOT = new URL('../../../', import.meta.url);
const REGISTER = new URL('deploy/opentelemetry/register.mjs', ROOT).href;
const TOGETHER = Array.from({ length: 500 }, (_, index) => 1_000 + index);

/** A span of OTLP in JSON. Times are in nanoseconds. */
interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

interface ScopeSpans {
  readonly scope: { readonly name: string };
  readonly spans: readonly Span[];
}

/** Everything that the program exports with OTLP as JSON over HTTP. */
const exported: ScopeSpans[] = [];
const collector = createServer((req, res) => {
  void json(req).then((body) => {
    const { resourceSpans } = body as { resourceSpans: { scopeSpans: ScopeSpans[] }[] };
    for (const { scopeSpans } of resourceSpans) exported.push(...scopeSpans);
    res.setHeader('Content-Type', 'application/json').end('{}');
  });
});

let folder: ProgramFolder;
let postgres: PostgresServer;
let issuer: TokenIssuer;

/** The trace and the span of which a request is a part. */
interface Caller {
  readonly traceId: string;
  readonly spanId: string;
}

/** The callers of a create, of a read, and of many creates at once. */
let callers: Caller[];
let log: string;

before(async () => {
  const install = ['--prefix', 'deploy/opentelemetry', 'ci', '--ignore-scripts'];
  execFileSync('npm', install, { cwd: ROOT, stdio: 'ignore' });
  folder = await ProgramFolder.create();
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  postgres = await PostgresServer.start();
  issuer = await TokenIssuer.start();
  const program = folder.serve({
    NODE_OPTIONS: `--import ${REGISTER}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    DATABASE_URL: postgres.url(),
    DATABASE_POOL_SIZE: '1',
    ...issuer.env,
  });
  const url = await program.listening();
  const jwt = await issuer.token();
  callers = [await send(`${url}/plants`, 1, jwt), await send(`${url}/plants/1`)];
  callers.push(...(await Promise.all(TOGETHER.map((id) => send(`${url}/plants`, id)))));
  assert.equal(await program.end(), 0);
  assert.equal(program.errors, '');
  log = program.output;
});

after(async () => {
  collector.closeAllConnections();
  collector.close();
  await issuer.stop();
  await folder.remove();
  await postgres.remove();
});

/** Creates a plant with this id, or else reads one, in the trace of a caller. */
async function send(url: string, id?: number, token = TOKEN): Promise<Caller> {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    traceparent: `00-${traceId}-${spanId}-01`,
  };
  const body = JSON.stringify({ id, name: 'n' });
  const answer = await fetch(
    url,
    id === undefined ? { headers } : { method: 'POST', headers, body },
  );
  assert.equal(answer.status, 200);
  return { traceId, spanId };
}

/** Lists the spans of an instrumentation, such as `http`. */
function spansOf(instrumentation: string): Span[] {
  return exported
    .filter(({ scope }) => scope.name === `@opentelemetry/instrumentation-${instrumentation}`)
    .flatMap(({ spans }) => spans);
}

function getAttribute({ attributes }: Span, name: string): string {
  const found = attributes.find(({ key }) => key === name);
  return String(Object.values(found?.value ?? {})[0]);
}

/** Finds the span of a caller's request. */
function findServerSpan({ traceId, spanId }: Caller): Span {
  const spans = spansOf('http').filter((span) => span.parentSpanId === spanId);
  assert.equal(spans.length, 1);
  const [span] = spans as [Span];
  assert.equal(span.traceId, traceId);
  return span;
}

it('a request has a span, named by its route, in the trace of its caller, and in its log line', () => {
  const [created, read] = callers.map(findServerSpan) as [Span, Span];
  assert.deepEqual([created.name, read.name], ['POST /plants', 'GET /plants/:id']);
  assert.equal(getAttribute(created, 'http.route'), '/plants');
  assert.equal(getAttribute(created, 'http.response.status_code'), '200');
  for (const { traceId, spanId } of [created, read]) {
    assert.match(log, new RegExp(`"trace_id":"${traceId}","span_id":"${spanId}"`));
  }
  // The first token makes the keys of the identity provider be fetched.
  const [fetched, ...others] = spansOf('undici');
  assert.equal(fetched?.parentSpanId, created.spanId);
  assert.equal(issuer.lastHeaders.traceparent, `00-${fetched.traceId}-${fetched.spanId}-01`);
  assert.deepEqual(others, []);
});

it('a query on PostgreSQL has a span below that of its request, or of one of its requests', () => {
  const requests = callers.map(findServerSpan);
  const inserts = spansOf('pg').filter((span) =>
    getAttribute(span, 'db.query.text').startsWith('INSERT INTO "plants"'),
  );
  assert.ok(inserts.length > 2 && inserts.length < requests.length, `${inserts.length} statements`);
  assert.ok(inserts.some((insert) => insert.parentSpanId === requests[0]?.spanId));
  for (const insert of inserts) {
    const request = requests.find(({ spanId }) => spanId === insert.parentSpanId);
    assert.equal(request?.traceId, insert.traceId);
    assert.ok(BigInt(insert.startTimeUnixNano) < BigInt(request.endTimeUnixNano));
  }
});
