import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../../support/free-port.js';
import { HttpClient, type HttpRequest } from '../../support/http/request.js';
import { makeCreateRequest, makeEmptyRequest, makeRequest } from '../../support/plant-requests.js';
import { preload, type Program, ProgramFolder } from '../../support/program.js';
import { AUDIENCE, ISSUER } from '../../support/token-issuer.js';
import { TOKEN } from '../../support/token.js';
import { parseNumber, type Proof } from '../proof.js';

const ATTACK = fileURLToPath(new URL('attack.ts', import.meta.url));
const CLIENTS = 32;
/** The longest pause of an honest client between an answer and its next request, in milliseconds. */
const LONGEST_PAUSE = 60;
/** How long the honest clients run alone before the attack at most, in milliseconds. */
const ALONE_MS = 15_000;
const MAX_MEMORY_MIB = 400;
/** How long the program has to recover, in milliseconds. */
const RECOVERY_MS = 60_000;
/** How much more than before may be held after the attack, in MiB. */
const HELD_SLACK_MIB = 16;
const DESCRIPTOR_SLACK = 5;

const WRITER = 'token-of-an-attacker-who-writes';
const READER = 'token-of-an-attacker-who-reads';
/** The plant of the attacker, and the long plants of its pages. */
const ATTACKED = 9_000_000n;
const LONG_PLANTS = 100;

/**
 * Prints what the program still holds after a collection, in MiB, for each SIGUSR2. Its resident
 * memory says less: V8 and the C library keep freed memory for later.
 */
const COLLECT = `import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
process.on('SIGUSR2', () => {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  console.log('held', ((heapUsed + external) / 2 ** 20).toFixed(1));
});`;

const OPTIONS = { minutes: { type: 'string', default: '10' } } as const;

/** Attacks the program beside 32 honest clients, who must all be served, and prints how fast. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const attackMs = parseNumber(values.minutes) * 60_000;
  // An identity provider that never answers.
  const provider = createServer().listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const folder = await ProgramFolder.create();
  const port = await freePort();
  const program = folder.start({
    PORT: String(port),
    ACCESS_TOKENS: `${TOKEN},${WRITER}`,
    READ_ACCESS_TOKENS: READER,
    AUTH_JWKS_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`,
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    // This process would have to read a line for each request.
    LOG_LEVEL: 'error',
    ...preload(COLLECT),
  });
  try {
    const honest = new HonestClients(await program.ready(port));
    await honest.fill();
    const aloneMs = Math.min(ALONE_MS, attackMs);
    await honest.run(aloneMs);
    const alone = await honest.run(aloneMs);
    const before = await measure(program);

    let memory = 0;
    const sampling = setInterval(() => {
      void program.residentMemory().then((now) => (memory = Math.max(memory, now)));
    }, 500);
    // The honest clients are connected when the attack begins.
    const running = honest.run(attackMs);
    const attack = spawn(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), ATTACK, port, WRITER, READER, ATTACKED].map(String),
      { stdio: 'inherit' },
    );
    const attacked = await running.finally(() => attack.kill('SIGKILL'));
    clearInterval(sampling);

    const end = performance.now() + RECOVERY_MS;
    let after: Usage;
    let isBack: boolean;
    do {
      await honest.run(1_000);
      after = await measure(program);
      isBack =
        after.held <= before.held + HELD_SLACK_MIB &&
        !(after.descriptors > before.descriptors + DESCRIPTOR_SLACK);
    } while (!isBack && performance.now() < end);

    console.log(`honest requests: ${honest.answers}, not answered as they should be: ${honest.faults.length}
p99: ${alone.toFixed(1)} ms alone, ${attacked.toFixed(1)} ms under attack
memory: ${memory.toFixed(0)} MiB at most
before the attack: ${describeUsage(before)}; after it: ${describeUsage(after)}`);
    const faults = [...honest.faults];
    if (memory > MAX_MEMORY_MIB) faults.push(`the program took ${memory.toFixed(0)} MiB`);
    if (!isBack) faults.push('memory or descriptors are not back after a minute');
    return faults;
  } finally {
    provider.close();
    await folder.remove();
  }
}) satisfies Proof;

interface Usage {
  /** What the program holds, in MiB. */
  readonly held: number;
  /** What it takes of the machine, in MiB. */
  readonly resident: number;
  readonly descriptors: number;
}

async function measure(program: Program): Promise<Usage> {
  const printed = program.output.length;
  program.kill('SIGUSR2');
  const [, held] = await program.printed(new RegExp(`^[^]{${printed}}held (.*)\\n`));
  const resident = await program.residentMemory();
  return { held: Number(held), resident, descriptors: program.openDescriptors() };
}

function describeUsage({ held, resident, descriptors }: Usage): string {
  return `${held} MiB held, ${resident.toFixed(0)} MiB resident, ${descriptors} descriptors`;
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
    for (let index = 0; index <= LONG_PLANTS; index++) {
      const name = index === 0 ? 'attacked' : 'x'.repeat(100_000);
      const request = makeCreateRequest({ id: ATTACKED + BigInt(index), name });
      await this.expect(client, request, `"name":"${name}"`);
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
      const page = `/plants?limit=10&after=${id - 1}`;
      const put = makeRequest(`{"name":"again ${id}"}`, { method: 'PUT', target });
      const asked: [HttpRequest, string][] = [
        [makeCreateRequest({ id: BigInt(id), name: `plant ${id}` }), `{"name":"plant ${id}"}`],
        [makeEmptyRequest('GET', target), `{"id":${id},"name":"plant ${id}"}`],
        [put, `{"name":"again ${id}"}`],
        [makeEmptyRequest('GET', page), `[{"id":${id},"name":"again ${id}"}`],
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
