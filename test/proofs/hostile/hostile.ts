import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { HttpClient, type HttpRequest } from '../../support/http/request.js';
import { PROXIES, Proxy, type ProxyName } from '../../support/proxies.js';
import { makeCreateRequest, makeEmptyRequest, makeRequest } from '../../support/plant-requests.js';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import { preload, type Program, ProgramFolder } from '../../support/program.js';
import { AUDIENCE, ISSUER } from '../../support/token-issuer.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { parseNumber, type Proof } from '../proof.js';

const ATTACK = fileURLToPath(new URL('attack.ts', import.meta.url));
/** Proxies limit the requests of each address, and the attackers have others. */
const HONEST_ADDRESS = '127.0.0.2';
const CLIENTS = 32;
/** One of so many honest clients opens a connection for each request. */
const CLIENTS_PER_FRESH_ONE = 4;
/** The longest pause of an honest client between an answer and its next request, in milliseconds. */
const LONGEST_PAUSE = 60;
/** How long the honest clients run alone before the attack, in milliseconds. */
const ALONE_MS = 5_000;
/** How much memory each program may take, in MiB. */
const MAX_MEMORY_MIB = 500;
/** How long the programs have to recover, in milliseconds. */
const RECOVERY_MS = 60_000;
/** How much more than before each program may hold after the attack, in MiB. */
const HELD_SLACK_MIB = 16;
const DESCRIPTOR_SLACK = 5;
/** How many idle connections to the programs a proxy keeps. */
const KEPT_BY_PROXY = 64 * availableParallelism();

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

const OPTIONS = {
  minutes: { type: 'string', default: '10' },
  proxy: { type: 'string' },
  attack: { type: 'string', multiple: true },
} as const;

/** What is attacked. */
interface Target {
  /** Where the clients connect to. */
  readonly port: number;
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

async function startAlone(folder: ProgramFolder, env: Record<string, string>): Promise<Target> {
  const port = await freePort();
  const program = folder.start({ ...env, PORT: String(port) });
  await program.ready(port);
  return { port, programs: [program], stop: () => folder.remove() };
}

/** Starts two replicas on PostgreSQL behind a proxy with its shipped configuration. */
async function startBehind(
  name: ProxyName,
  folder: ProgramFolder,
  env: Record<string, string>,
): Promise<Target> {
  const postgres = await PostgresServer.start();
  const ports = [await freePort(), await freePort()];
  const programs: Program[] = [];
  for (const port of ports) {
    const settings = { PORT: String(port), DATABASE_URL: postgres.url(), TRUST_PROXY: '1' };
    const program = folder.start({ ...env, ...settings });
    programs.push(program);
    // The first one makes the tables.
    await program.ready(port);
  }
  const proxy = await Proxy.start(name, folder, ports);
  const stop = async (): Promise<void> => {
    await proxy.stop();
    await folder.remove();
    await postgres.remove();
  };
  return { port: proxy.port, programs, stop };
}

/** Attacks programs beside 32 honest clients, who must all be served, and prints how fast. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const attackMs = parseNumber(values.minutes) * 60_000;
  // An identity provider that never answers.
  const provider = createServer().listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const folder = await ProgramFolder.create();
  const env = {
    ACCESS_TOKENS: `${TOKEN},${WRITER}`,
    READ_ACCESS_TOKENS: READER,
    AUTH_JWKS_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`,
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    // This process would have to read a line for each request.
    LOG_LEVEL: 'error',
    ...preload(COLLECT),
  };
  const proxy = PROXIES.find((name) => name === values.proxy);
  if (proxy === undefined && values.proxy !== undefined) {
    throw new RangeError(`--proxy must be one of ${PROXIES.join()}`);
  }
  const target =
    proxy === undefined ? await startAlone(folder, env) : await startBehind(proxy, folder, env);
  const { port, programs } = target;
  try {
    const honest = new HonestClients(new URL(`http://127.0.0.1:${port}`));
    await honest.fill();
    // The first run warms up.
    await honest.run(ALONE_MS);
    const alone = await honest.run(ALONE_MS);
    const before = await measure(programs);

    let memory = 0;
    const sampling = setInterval(() => {
      for (const program of programs) {
        void program.residentMemory().then((now) => (memory = Math.max(memory, now)));
      }
    }, 500);
    // The honest clients are connected when the attack begins.
    const running = honest.run(attackMs);
    const settings = [port, WRITER, READER, ATTACKED, ...(values.attack ?? [])].map(String);
    const attack = spawn(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), ATTACK, ...settings],
      { stdio: 'inherit' },
    );
    const attacked = await running.finally(() => attack.kill('SIGKILL'));
    clearInterval(sampling);

    const maxHeld = before.held + HELD_SLACK_MIB * programs.length;
    const slack = DESCRIPTOR_SLACK + (proxy === undefined ? 0 : KEPT_BY_PROXY);
    const end = performance.now() + RECOVERY_MS;
    let after: Usage;
    let isBack: boolean;
    do {
      await honest.run(1_000);
      after = await measure(programs);
      isBack = after.held <= maxHeld && !(after.descriptors > before.descriptors + slack);
    } while (!isBack && performance.now() < end);

    console.log(`honest requests: ${honest.answers}, not answered as they should be: ${honest.faults.length}
alone: ${describeTimes(alone)}
under attack: ${describeTimes(attacked)}
memory: ${memory.toFixed(0)} MiB at most
before the attack: ${describeUsage(before)}; after it: ${describeUsage(after)}`);
    const faults = [...honest.faults];
    if (memory > MAX_MEMORY_MIB) faults.push(`a program took ${memory.toFixed(0)} MiB`);
    if (!isBack) faults.push('memory or descriptors are not back after a minute');
    if (attack.exitCode !== null) faults.push('the attack has ended by itself');
    return faults;
  } finally {
    provider.close();
    await target.stop();
  }
}) satisfies Proof;

/** Of all programs together. */
interface Usage {
  /** What they hold, in MiB. */
  readonly held: number;
  /** What they take of the machine, in MiB. */
  readonly resident: number;
  readonly descriptors: number;
}

async function measure(programs: readonly Program[]): Promise<Usage> {
  const usage = { held: 0, resident: 0, descriptors: 0 };
  for (const program of programs) {
    const printed = program.output.length;
    program.kill('SIGUSR2');
    const [, held] = await program.printed(new RegExp(`^[^]{${printed}}held (.*)\\n`));
    usage.held += Number(held);
    usage.resident += await program.residentMemory();
    usage.descriptors += program.openDescriptors();
  }
  return usage;
}

function describeUsage({ held, resident, descriptors }: Usage): string {
  return `${held.toFixed(1)} MiB held, ${resident.toFixed(0)} MiB resident, ${descriptors} descriptors`;
}

/** How long requests took, in milliseconds. */
interface Times {
  /** On connections that were open. */
  readonly kept: number[];
  /** On a new connection each. */
  readonly fresh: number[];
}

function describeTimes({ kept, fresh }: Times): string {
  return `${describe([...kept, ...fresh])}; of them on new connections: ${describe(fresh)}`;
}

function describe(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const [p50, p99] = [0.5, 0.99].map((share) => sorted[Math.floor(times.length * share)] ?? NaN);
  return `p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, ${times.length} requests`;
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

  async run(ms: number): Promise<Times> {
    const end = performance.now() + ms;
    const times: Times = { kept: [], fresh: [] };
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) => {
        const isFresh = index % CLIENTS_PER_FRESH_ONE === 0;
        return this.ask(!isFresh, end, isFresh ? times.fresh : times.kept);
      }),
    );
    return times;
  }

  private async ask(keepAlive: boolean, end: number, times: number[]): Promise<void> {
    const client = new HttpClient(() => this.url, { keepAlive, localAddress: HONEST_ADDRESS });
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
