import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { PostgresServer } from '../../support/postgres-server.js';
import type { Program } from '../../support/program.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { TokenIssuer } from '../../support/token-issuer.js';
import { TOKEN } from '../../support/token.js';
import { Collector, type Span } from './collector.js';

// Runs the program with OpenTelemetry's package, and checks the spans that a collector gets.
// Every test stops the program before it checks the spans, which also shows that a stop loses none.

const ROOT = new URL('../../../', import.meta.url);
const REGISTER = new URL('opentelemetry/register.mjs', ROOT).href;

let postgres: PostgresServer;
let folder: ProgramFolder;
let collector: Collector;
let program: Program;
let url: string;

before(async () => {
  const install = ['--prefix', 'opentelemetry', 'ci', '--ignore-scripts'];
  execFileSync('npm', install, { cwd: ROOT, stdio: 'ignore' });
  postgres = await PostgresServer.start();
});

after(() => postgres.remove());

beforeEach(async () => {
  folder = await ProgramFolder.create();
  collector = await Collector.start();
});

afterEach(async () => {
  collector.stop();
  await folder.remove();
});

async function start(env: Record<string, string>): Promise<void> {
  program = folder.serve({
    NODE_OPTIONS: `--import ${REGISTER}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...env,
  });
  url = await program.listening();
}

async function stop(): Promise<void> {
  assert.equal(await program.end(), 0);
  assert.equal(program.errors, '');
}

interface Caller {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceparent: string;
}

function makeCaller(): Caller {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
}

/** Sends a request in the trace of a caller: a create of a plant with this id, or else a read. */
async function send(caller: Caller, id?: number, token = TOKEN): Promise<void> {
  const { traceparent } = caller;
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    traceparent,
  };
  const body = JSON.stringify({ id, name: 'n' });
  const answer = await (id === undefined
    ? fetch(`${url}/plants/1`, { headers })
    : fetch(`${url}/plants`, { method: 'POST', headers, body }));
  assert.equal(answer.status, 200);
}

/** Finds the span of a caller's request. */
function findServerSpan({ traceId, spanId }: Caller): Span {
  const spans = collector.of('http').filter((span) => span.parentSpanId === spanId);
  assert.equal(spans.length, 1);
  const [span] = spans as [Span];
  assert.equal(span.traceId, traceId);
  return span;
}

/** Lists the spans of the statements that create plants. */
function insertSpans(): Span[] {
  const isInsert = ({ attributes }: Span): boolean =>
    String(attributes['db.query.text']).startsWith('INSERT INTO "plants"');
  return collector.of('pg').filter(isInsert);
}

describe('a request', () => {
  it('has a span, named by its route, in the trace of its caller, and in its log line', async () => {
    await start({ DATABASE_URL: 'sqlite::memory:' });
    const callers = [makeCaller(), makeCaller()] as const;
    await send(callers[0], 1);
    await send(callers[1]);
    await stop();
    const [created, read] = callers.map(findServerSpan) as [Span, Span];
    assert.deepEqual([created.name, read.name], ['POST /plants', 'GET /plants/:id']);
    assert.equal(created.attributes['http.route'], '/plants');
    assert.equal(Number(created.attributes['http.response.status_code']), 200);
    for (const { traceId, spanId } of [created, read]) {
      assert.match(program.output, new RegExp(`"trace_id":"${traceId}","span_id":"${spanId}"`));
    }
  });

  it('that makes the keys of an identity provider be fetched has a span for that', async () => {
    const issuer = await TokenIssuer.start();
    await start({ DATABASE_URL: 'sqlite::memory:', ...issuer.env });
    const caller = makeCaller();
    await send(caller, 1, await issuer.token());
    await issuer.stop();
    await stop();
    const fetches = collector.of('undici');
    assert.equal(fetches.length, 1);
    const [{ traceId, spanId, parentSpanId }] = fetches as [Span];
    assert.equal(parentSpanId, findServerSpan(caller).spanId);
    assert.equal(issuer.lastHeaders.traceparent, `00-${traceId}-${spanId}-01`);
  });
});

describe('a query on PostgreSQL', () => {
  it('has a span below that of its request', async () => {
    await start({ DATABASE_URL: postgres.url() });
    const caller = makeCaller();
    await send(caller, 1);
    await stop();
    const request = findServerSpan(caller);
    const [insert] = insertSpans();
    assert.equal(insert?.traceId, caller.traceId);
    assert.equal(insert.parentSpanId, request.spanId);
  });

  it('that serves many requests belongs to the trace of one of them', async () => {
    await start({ DATABASE_URL: postgres.url(), DATABASE_POOL_SIZE: '1' });
    const ids = Array.from({ length: 500 }, (_, index) => 1_000 + index);
    await Promise.all(ids.map((id) => send(makeCaller(), id)));
    await stop();
    const requests = new Map(collector.of('http').map((span) => [span.spanId, span]));
    const inserts = insertSpans();
    assert.ok(inserts.length > 1 && inserts.length < ids.length, `${inserts.length} statements`);
    for (const insert of inserts) {
      const request = requests.get(String(insert.parentSpanId));
      assert.ok(request !== undefined);
      assert.ok(BigInt(insert.startTimeUnixNano) < BigInt(request.endTimeUnixNano));
    }
  });
});
