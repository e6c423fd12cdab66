import { afterAll, describe, expect, it } from '@jest/globals';
import { Faults } from '../../support/faults.js';
import { ClientConnection } from '../../support/http/connection.js';
import { LARGE, writeCreateRequest } from '../../support/plant-requests.js';
import { LOG_OF_STORE, Scene, STEP } from '../../support/scene.js';
import { TOKEN } from '../../support/token.js';

const READY = 'GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n';
/** How long an idle connection is kept, and a client may take to send or to read, in milliseconds. */
const GRACE_MS = 2_000;

afterAll(() => Scene.close());

/** A client of a program, and requests of its own. */
class Client extends ClientConnection {
  constructor(url: string) {
    super(Number(new URL(url).port));
  }

  async create(): Promise<void> {
    await this.write(writeCreateRequest(TOKEN), 1);
  }
}

function clients(url: string, count: number): Client[] {
  return Array.from({ length: count }, () => new Client(url));
}

/** Starts clients that keep the connection on which their request was answered. */
async function idleClients(url: string, count: number): Promise<Client[]> {
  const idle = clients(url, count);
  for (const client of idle) await client.create();
  for (const client of idle) expect(await client.next()).toMatchObject({ status: 200 });
  return idle;
}

/** Resolves when the program has stopped listening. */
async function refusesConnections(url: string): Promise<void> {
  for (;;) {
    const client = new Client(url);
    if (!(await client.opened)) return;
    client.reset();
  }
}

(Faults.areSupported ? describe : describe.skip)('the program, when it stops', () => {
  it('answers on connections that were idle, and keeps others for a grace time', () =>
    Scene.play(
      async ({ faults, program, passTime, passTimeUntil }) => {
        const url = await program.listening();
        const [probe, ...idle] = await idleClients(url, 25);
        const [asking, keeping] = [idle.slice(0, 16), idle.slice(16)];
        const [silent, halfHead, halfBody, deaf] = clients(url, 4) as [
          Client,
          Client,
          Client,
          Client,
        ];
        await halfHead.write('POST /plants HTTP/1.1\r\nHost:');
        await halfBody.write(writeCreateRequest(TOKEN).slice(0, -1));
        deaf.pause();
        await deaf.write(LARGE.repeat(20));
        // An answer on a further connection shows that these have been accepted.
        await fetch(`${url}/health/live`);
        faults.stopTime();
        // Ctrl-C may reach the program several times.
        for (let round = 0; round < 3; round++) program.kill('SIGTERM');
        await refusesConnections(url);
        await probe?.write(READY);
        const closing = { headers: { connection: 'close' } };
        expect(await probe?.next()).toMatchObject({ status: 503, ...closing });
        for (const client of asking) await client.create();
        for (const client of asking) {
          expect(await client.next()).toMatchObject({ status: 200, ...closing });
        }
        expect([silent, ...keeping].map(({ isOpen }) => isOpen)).not.toContain(false);
        await passTime(GRACE_MS - STEP);
        expect([silent, ...keeping].map(({ isOpen }) => isOpen)).not.toContain(false);
        await passTimeUntil(Promise.all([silent, ...keeping].map(({ closed }) => closed)));
        expect(await passTimeUntil(program.exited())).toBeLessThanOrEqual(GRACE_MS);
        expect(await program.exited()).toBe(0);
        deaf.reset();
      },
      { env: { SHUTDOWN_GRACE_MS: '' } },
    ));

  it.each([
    [
      'lets other work of the process finish, such as an export of traces',
      "process.once('beforeExit',()=>console.log('finished'))",
      /^finished$/m,
    ],
    ['waits for it only briefly', 'setInterval(()=>0,1e3)', /"msg":"Stopped"/],
  ])('%s', (_, script, output) =>
    Scene.play(
      async ({ program }) => {
        await program.listening();
        program.kill('SIGTERM');
        expect(await program.exited()).toBe(0);
        expect(program.output).toMatch(output);
      },
      { env: { NODE_OPTIONS: `--import data:text/javascript,${script}` } },
    ),
  );

  it('by errors that nothing caught, logs them, answers and exits 1', () => {
    const bugs =
      'process.on("SIGUSR2",()=>{Promise.reject(new Error("lost"));throw new Error("boom")})';
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(bugs)}`;
    return Scene.play(
      async ({ faults, program }) => {
        const url = await program.listening();
        const busy = clients(url, 8);
        const sent = busy.map(async (client) => {
          do await client.create();
          while ((await client.next())?.headers.connection === 'keep-alive');
        });
        await fetch(`${url}/health/ready`);
        // Requests are being handled when the program begins to stop.
        faults.set({ flushHang: 1 });
        await faults.hang();
        program.kill('SIGUSR2');
        await refusesConnections(url);
        faults.set({ flushHang: 0 });
        expect(await program.exited()).toBe(1);
        await Promise.all(sent);
        const answers = busy.flatMap((client) => client.answers);
        expect(answers.every(({ status }) => status === 200)).toBe(true);
        expect(answers.some(({ headers }) => headers.connection === 'close')).toBe(true);
        expect(program.output).toMatch(/"level":60.*boom/);
        expect(program.output).toMatch(/"level":60.*lost/);
        expect(program.output).toContain('Stopped');
      },
      { ...LOG_OF_STORE, env: { NODE_OPTIONS } },
    );
  });
});
