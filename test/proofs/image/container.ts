import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.js';

const run = promisify(execFile);

/** The options of a container in docs/container.md. */
export const AS_DOCUMENTED = [
  '--read-only',
  ...['--cap-drop', 'ALL'],
  ...['--security-opt', 'no-new-privileges'],
];
/** The options with which podman works without a network, systemd and the right to raise limits. */
const FOR_A_SANDBOX = [
  ...['--network', 'host'],
  ...['--cgroups', 'no-conmon'],
  ...['--ulimit', 'nofile=10000:10000'],
  ...['--ulimit', 'nproc=10000:10000'],
];

/** Runs podman, and resolves with its output. */
export async function podman(...args: string[]): Promise<string> {
  const { stdout } = await run('podman', ['--runtime', 'runc', ...args]);
  return stdout.trim();
}

/** A container of the image, run as in docs/container.md. */
export class Container {
  private constructor(
    readonly name: string,
    readonly url: string,
  ) {}

  static async start(volume: string, env: Record<string, string> = {}): Promise<Container> {
    const port = await freePort();
    const name = `plant-store-${port}`;
    const container = new Container(name, `http://127.0.0.1:${port}`);
    await podman(
      ...['run', '--detach', '--name', name, ...AS_DOCUMENTED, ...FOR_A_SANDBOX],
      ...['--volume', `${volume}:/data`],
      ...Object.entries({ ...env, PORT: String(port) }).flatMap((pair) => [
        '--env',
        pair.join('='),
      ]),
      'plant-store',
    );
    return container;
  }

  /** Runs only a command of the image, and resolves with its output. */
  static async command(
    volume: string,
    env: Record<string, string>,
    ...command: string[]
  ): Promise<string> {
    return await podman(
      ...['run', '--rm', ...AS_DOCUMENTED, ...FOR_A_SANDBOX, '--volume', `${volume}:/data`],
      ...Object.entries(env).flatMap((pair) => ['--env', pair.join('=')]),
      ...['plant-store', ...command],
    );
  }

  /** Resolves once the image's own health check finds it healthy. */
  async healthy(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await podman('healthcheck', 'run', this.name);
        return;
      } catch (error) {
        if (attempt === 100) throw error;
        await sleep(100);
      }
    }
  }

  /** Runs a command beside the program, and resolves with its output. */
  async exec(...command: string[]): Promise<string> {
    return await podman('exec', this.name, ...command);
  }

  /** Stops it with SIGTERM, and resolves with its exit code. */
  async stop(): Promise<number> {
    await podman('stop', '--time', '10', this.name);
    return Number(await podman('inspect', '--format', '{{.State.ExitCode}}', this.name));
  }

  async logs(): Promise<string> {
    return await podman('logs', this.name);
  }

  async remove(): Promise<void> {
    await podman('rm', '--force', this.name);
  }
}
