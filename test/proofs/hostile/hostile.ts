import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { HttpClient } from '../../support/http/client.js';
import type { HttpRequest } from '../../support/http/request.js';
import { freePort } from '../../support/free-port.js';
import { inNewFolder } from '../../support/new-folder.js';
import { makeCreateRequest, makeRequest } from '../../support/plant-requests.js';
import { Program } from '../../support/program.js';
import { AUDIENCE, ISSUER } from '../../support/token-issuer.js';
import { TOKEN } from '../../support/token.js';
import { parseNumber, type Proof } from '../proof.js';

const ATTACK = fileURLToPath(new URL('attack.ts', import.meta.url));
const CLIENTS = 32;
/** The longest pause of an honest client between an answer and its next request, in milliseconds. */
const LONGEST_PAUSE = 60;
/** How long the honest clients run alone before the attack, in milliseconds. */
const ALONE_MS = 15_000;
const WINDOWS = 3;
const MAX_MEMORY_MIB = 400;
/** How long the program has to recover, in milliseconds. */
const RECOVERY_MS = 60_000;
/** How much more memory than before is allowed, in MiB, since V8 keeps some for later. */
const MEMORY_SLACK_MIB = 64;
const DESCRIPTOR_SLACK = 5;

const WRITER = 'token-of-an-attacker-who-writes';
const READER = 'token-of-an-attacker-who-reads';
/** The plant of the attacker, and the long plants of its pages. */
const ATTACKED = 9_000_000n;
const LONG_PLANTS = 100;

/**
 * Attacks the program beside 32 honest clients, who must all be served, and prints how fast.
 */
export default (async (args) => {
  const options = {
    minutes: { type: 'string', default: '10' },
    // How many times longer than alone the p99 of honest clients may be. Only an idle machine with
    // more cores than the program and the attack need can tell, so there is no default.
    slowdown: { type: 'string', default: 'Infinity' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [minutes, slowdown] = [parseNumber(values.minutes), parseNumber(values.slowdown)];
  return await inNewFolder((folder) => prove(folder, minutes * 60_000, slowdown));
}) satisfies Proof;

async function prove(folder: string, attackMs: number, slowdown: number): Promise<string[]> {
  const attack = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), ATTACK, WRITER, READER, String(ATTACKED)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const [line] = (await once(attack.stdout, 'data')) as [Buffer];
  const port = await freePort();
  const program = Program.start(folder, {
    PORT: String(port),
    ACCESS_TOKENS: `${TOKEN},${WRITER}`,
    READ_ACCESS_TOKENS: READER,
    AUTH_JWKS_URL: `http://127.0.0.1:${line.toString().split(' ')[1]?.trim() ?? ''}/jwks`,
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    LOG_LEVEL: 'error',
  });
  try {
    const url = new URL(`http://127.0.0.1:${port}`);
    await untilReady(url);
    return await measure(program, url, attack, attackMs, slowdown);
  } finally {
    attack.kill('SIGKILL');
    program.kill('SIGKILL');
    await program.exited();
  }
}

/**
 * Waits for an answer. The log is off, since this process would have to read a line for each
 * request.
 */
async function untilReady(url: URL): Promise<void> {
  while (!(await fetch(`${url.origin}/health/ready`).catch(() => undefined))?.ok) await sleep(50);
}

async function measure(
  program: Program,
  url: URL,
  attack: ChildProcess,
  attackMs: number,
  slowdown: number,
): Promise<string[]> {
  const honest = new HonestClients(url);
  await honest.fill();
  await honest.run(ALONE_MS);
  const alone = await honest.run(ALONE_MS);
  console.log(`p99 alone: ${alone.toFixed(1)} ms`);
  const memoryBefore = await program.residentMemory();
  const descriptorsBefore = program.openDescriptors();

  let memory = 0;
  const sampling = setInterval(() => {
    void program.residentMemory().then((now) => (memory = Math.max(memory, now)));
  }, 500);
  attack.stdin?.write(url.port);
  const windows: number[] = [];
  for (let window = 0; window < WINDOWS; window++) {
    windows.push(await honest.run(attackMs / WINDOWS));
    console.log(`p99 under attack: ${windows.at(-1)?.toFixed(1)} ms`);
  }
  clearInterval(sampling);
  attack.kill('SIGKILL');
  const attacked = [...windows].sort((one, other) => one - other)[Math.floor(WINDOWS / 2)] ?? NaN;

  const end = performance.now() + RECOVERY_MS;
  let memoryAfter: number;
  let descriptorsAfter: number;
  let isBack: boolean;
  do {
    await honest.run(1_000);
    memoryAfter = await program.residentMemory();
    descriptorsAfter = program.openDescriptors();
    isBack =
      memoryAfter <= memoryBefore + MEMORY_SLACK_MIB &&
      !(descriptorsAfter > descriptorsBefore + DESCRIPTOR_SLACK);
  } while (!isBack && performance.now() < end);

  console.log(`honest requests: ${honest.answers}, not answered as they should be: ${honest.faults.length}
p99: ${alone.toFixed(1)} ms alone, ${attacked.toFixed(1)} ms under attack
memory: ${memoryBefore.toFixed(0)} MiB before, ${memory.toFixed(0)} at most, ${memoryAfter.toFixed(0)} after
descriptors: ${descriptorsBefore} before, ${descriptorsAfter} after`);
  const faults = [...honest.faults];
  if (attacked > slowdown * alone) faults.push(`p99 is ${(attacked / alone).toFixed(1)} times`);
  if (memory > MAX_MEMORY_MIB) faults.push(`the program took ${memory.toFixed(0)} MiB`);
  if (!isBack) faults.push('memory or descriptors are not back after a minute');
  return faults;
}

/** Clients that create, read, list and replace their own plants, and check the answers. */
class HonestClients {
  answers = 0;
  readonly faults: string[] = [];
  private lastId = 0;

  constructor(private readonly url: URL) {}

  /** Stores the plants for the attack. */
  async fill(): Promise<void> {
    const client = new HttpClient(() => this.url);
    await this.expect(
      client,
      makeCreateRequest({ id: ATTACKED, name: 'attacked' }),
      '"name":"attacked"',
    );
    for (let index = 1; index <= LONG_PLANTS; index++) {
      const plant = { id: ATTACKED + BigInt(index), name: 'x'.repeat(100_000) };
      await this.expect(client, makeCreateRequest(plant), 'xxx');
    }
    client.close();
  }

  /** Resolves with the 99th percentile of the latencies, in milliseconds. */
  async run(ms: number): Promise<number> {
    const end = performance.now() + ms;
    const times: number[] = [];
    await Promise.all(Array.from({ length: CLIENTS }, () => this.ask(end, times)));
    times.sort((one, other) => one - other);
    return times[Math.floor(times.length * 0.99)] ?? NaN;
  }

  private async ask(end: number, times: number[]): Promise<void> {
    const client = new HttpClient(() => this.url);
    while (performance.now() < end) {
      const id = ++this.lastId;
      const target = `/plants/${id}`;
      const get = (path: string): HttpRequest =>
        makeRequest('', { method: 'GET', target: path, framing: 'none' });
      const put = makeRequest(`{"name":"again ${id}"}`, { method: 'PUT', target });
      const asked: [HttpRequest, string][] = [
        [makeCreateRequest({ id: BigInt(id), name: `plant ${id}` }), `{"name":"plant ${id}"}`],
        [get(target), `{"id":${id},"name":"plant ${id}"}`],
        [put, `{"name":"again ${id}"}`],
        [get(`/plants?limit=10&after=${id - 1}`), `[{"id":${id},"name":"again ${id}"}`],
      ];
      for (const [request, expected] of asked) {
        const began = performance.now();
        await this.expect(client, request, expected);
        times.push(performance.now() - began);
        await sleep(Math.random() * LONGEST_PAUSE);
      }
    }
    client.close();
  }

  private async expect(client: HttpClient, request: HttpRequest, expected: string): Promise<void> {
    const answer = await client.send(request).catch((error: unknown) => error as Error);
    this.answers++;
    if (!(answer instanceof Error) && answer.status === 200 && answer.body.includes(expected))
      return;
    const what = answer instanceof Error ? answer.message : `${answer.status} ${answer.body}`;
    this.faults.push(`${request.method} ${request.target}: ${what.slice(0, 100)}`);
  }
}
