import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Faults, TOKEN } from 'durable-rest/testing';
import { ClientConnection, isListening } from '../../support/http/connection.js';
import { LARGE, writeCreateRequest } from '../../support/plant-requests.js';
import { preload, type Program, ProgramFolder } from '../../support/program.js';

const READY = 'GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n';

let folder: ProgramFolder;
let program: Program;
let port: number;

beforeEach(async () => {
  folder = await ProgramFolder.create();
});
afterEach(() => folder.remove());

async function start(env: Record<string, string>): Promise<void> {
  program = folder.serve(env);
  port = Number(new URL(await program.listening()).port);
}

async function create(client: ClientConnection): Promise<void> {
  await client.write(writeCreateRequest(TOKEN));
}

/** Opens connections that have got an answer. */
async function openIdle(count: number): Promise<ClientConnection[]> {
  const idle = Array.from({ length: count }, () => new ClientConnection(port));
  for (const client of idle) await create(client);
  for (const client of idle) expect(await client.next()).toMatchObject({ status: 200 });
  return idle;
}

/** Resolves when the program has stopped listening. */
async function refusesConnections(): Promise<void> {
  while (await isListening(port));
}

describe('the program, when it stops', () => {
  it('answers on connections that were idle, also after several signals', async () => {
    // However slow this machine is, the clients ask within this time.
    await start({ SHUTDOWN_GRACE_MS: '60000' });
    const [probe, ...asking] = await openIdle(6);
    // Ctrl-C may reach the program several times.
    for (let round = 0; round < 3; round++) program.kill('SIGTERM');
    await refusesConnections();
    await probe?.write(READY);
    const closing = { headers: { connection: 'close' } };
    expect(await probe?.next()).toMatchObject({ status: 503, ...closing });
    for (const client of asking) await create(client);
    for (const client of asking) {
      expect(await client.next()).toMatchObject({ status: 200, ...closing });
    }
    expect(await program.exited()).toBe(0);
  });

  it('closes connections that stay idle', async () => {
    await start({ SHUTDOWN_GRACE_MS: '' });
    const idle = await openIdle(5);
    expect(await program.end()).toBe(0);
    await Promise.all(idle.map(({ closed }) => closed));
  });

  it('does not wait for ever for clients that send half a request, or do not read', async () => {
    await start({ SHUTDOWN_GRACE_MS: '' });
    const silent = new ClientConnection(port);
    const halfHead = new ClientConnection(port);
    const halfBody = new ClientConnection(port);
    const deaf = new ClientConnection(port);
    await halfHead.write('POST /plants HTTP/1.1\r\nHost:');
    await halfBody.write(writeCreateRequest(TOKEN).slice(0, -1));
    deaf.socket.pause();
    await deaf.write(LARGE);
    // An answer on a further connection shows that these have been accepted.
    await program.send('GET', '/health/live');
    expect(await program.end()).toBe(0);
    await Promise.all([silent, halfHead, halfBody].map(({ closed }) => closed));
    deaf.socket.resetAndDestroy();
  });

  it('waits only briefly for other work of the process', async () => {
    await start(preload('setInterval(()=>0,1e3)'));
    expect(await program.end()).toBe(0);
    expect(program.output).toContain('"msg":"Stopped"');
  });
});

/** Makes the environment with which a program has these classes among its modules. */
function withModules(classes: string): Record<string, string> {
  const modules = new URL('../../../dist/app.module.js', import.meta.url).href;
  const nest = new URL('../../../node_modules/@nestjs/', import.meta.url).href;
  return preload(`
    import { Module } from '${nest}common/index.js';
    import { WebSocketGateway } from '${nest}websockets/index.js';
    const { AppModule } = await import('${modules}');
    ${classes}
    class Beds {}
    Module({ providers })(Beds);
    const create = AppModule.create;
    AppModule.create = (features) => create.call(AppModule, [...features, Beds]);`);
}

describe('a module of the program', () => {
  it('gets the signal in its hooks', async () => {
    await start(
      withModules(`
        class Shed {
          beforeApplicationShutdown(signal) { console.log('before ' + signal); }
          onApplicationShutdown(signal) { console.log('after ' + signal); }
        }
        const providers = [Shed];`),
    );
    expect(await program.end()).toBe(0);
    expect(program.output).toContain('before SIGTERM');
    expect(program.output).toContain('after SIGTERM');
  });

  it('that fails at the start is shown with its stack', async () => {
    program = folder.serve(
      withModules(`
        class Shed { onModuleInit() { throw new TypeError('no tools'); } }
        const providers = [Shed];`),
    );
    expect(await program.exited()).toBe(1);
    const first = /^The service cannot start: TypeError: no tools\n +at Shed\.onModuleInit /;
    expect(program.errors).toMatch(first);
  });

  it('whose hook takes too long is named in the log', async () => {
    await start(
      withModules(`
        class Bed { onModuleDestroy() { throw new Error('no water'); } }
        class Shed {
          beforeApplicationShutdown() { return new Promise(() => setInterval(() => 0, 1e3)); }
        }
        const providers = [Bed, Shed];`),
    );
    program.kill('SIGTERM');
    await program.exited();
    expect(program.output).toMatch(/"level":50.*no water/);
    const forced = 'The stop is forced: Shed.beforeApplicationShutdown() took too long';
    expect(program.output).toContain(forced);
  });
});

it('a package of Nest that is missing is named before the program exits', async () => {
  const gateway = `
    class Shed {}
    WebSocketGateway()(Shed);
    const providers = [Shed];`;
  program = folder.serve(withModules(gateway));
  expect(await program.exited()).toBe(1);
  expect(program.output).toMatch(/install the .*@nestjs\/platform-socket.io.* package/);
});

const itWithFaults = Faults.areSupported ? it : it.skip;

itWithFaults('errors that nothing caught are logged, all are answered, it exits 1', async () => {
  // However slow this machine is, no request waits too long by the clock of the program.
  const bugs =
    'performance.now=()=>0;process.on("SIGUSR2",()=>{Promise.reject(new Error("lost"));throw new Error("boom")})';
  const faults = new Faults(folder.path, 'plants.db-wal');
  await start({ ...preload(bugs), ...faults.env });
  // Requests are being handled when the program begins to stop.
  const busy = Array.from({ length: 8 }, () => new ClientConnection(port));
  faults.set({ flushHang: 1 });
  await Promise.all(busy.map(create));
  await faults.hang();
  program.kill('SIGUSR2');
  await refusesConnections();
  faults.set({ flushHang: 0 });
  expect(await program.exited()).toBe(1);
  for (const client of busy) {
    expect(await client.next()).toMatchObject({ status: 200, headers: { connection: 'close' } });
  }
  expect(program.output).toMatch(/"level":60.*boom/);
  expect(program.output).toMatch(/"level":60.*lost/);
  expect(program.output).toContain('Stopped');
});
