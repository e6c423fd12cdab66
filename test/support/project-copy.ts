import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Ended } from './program.js';

const ROOT = new URL('../../', import.meta.url).pathname;

/** What TypeORM's command line needs besides `src`. */
const FILES = ['package.json', 'ormconfig.ts', 'scripts'];

/** A project with the service of `test/fixtures`, to which tests add entities and migrations. */
export class ProjectCopy {
  private constructor(private readonly path: string) {}

  static async create(): Promise<ProjectCopy> {
    const path = await mkdtemp(join(tmpdir(), 'plant-store-project-'));
    for (const file of FILES) await cp(join(ROOT, file), join(path, file), { recursive: true });
    await cp(join(ROOT, 'test/fixtures'), join(path, 'src'), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    return new ProjectCopy(path);
  }

  /** Writes a file that exports a class, and lists the class in src/schema.ts. */
  async add(kind: 'entities' | 'migrations', file: string, code: string): Promise<void> {
    await writeFile(join(this.path, file), code);
    await this.list(kind, file, /^export class (\w+)/m.exec(code)?.[1] ?? '');
  }

  /** Lists the migration of this name that a command has written. */
  async listMigration(name: string): Promise<string> {
    const folder = join(this.path, dirname(name));
    const written = (await readdir(folder)).find((file) => file.endsWith(`-${basename(name)}.ts`));
    const file = join(dirname(name), written ?? '');
    const code = await this.read(file);
    await this.list('migrations', file, /^export class (\w+)/m.exec(code)?.[1] ?? '');
    return code;
  }

  private async list(kind: string, file: string, name: string): Promise<void> {
    const schema = await this.read('src/schema.ts');
    const path = file.replace('src/', './').replace(/ts$/, 'js');
    const listed = schema.replace(new RegExp(`(${kind}: \\[[^\\]]*?),?\\s*\\]`), `$1, ${name}]`);
    const code = `import { ${name} } from '${path}';\n${listed}`;
    await writeFile(join(this.path, 'src/schema.ts'), code);
  }

  async read(file: string): Promise<string> {
    return await readFile(join(this.path, file), 'utf8');
  }

  /** Runs `npm run typeorm -- ...` with only this environment. */
  async typeorm(env: Record<string, string>, ...args: readonly string[]): Promise<Ended> {
    return await this.execute(env, 'scripts/typeorm.mjs', ...args);
  }

  /** Runs TypeORM's own command with the data source of the project, and only this environment. */
  async plainTypeorm(env: Record<string, string>, ...args: readonly string[]): Promise<Ended> {
    const command = ['--import', './scripts/load-typescript.mjs', 'node_modules/typeorm/cli.js'];
    return await this.execute(env, ...command, ...args, '-d', 'ormconfig.ts');
  }

  /** Runs the program, which is expected not to start, with only this environment. */
  async start(env: Record<string, string>): Promise<Ended> {
    const hooks = `import { register } from 'node:module'; register('./load-typescript.mjs', import.meta.url);`;
    await writeFile(join(this.path, 'scripts/hooks.mjs'), hooks);
    return await this.execute(env, '--import', './scripts/hooks.mjs', 'src/main.ts');
  }

  private async execute(env: Record<string, string>, ...args: readonly string[]): Promise<Ended> {
    return await new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        args,
        { cwd: this.path, env: { PATH: process.env.PATH, ...env } },
        (_, output, errors) => resolve({ exitCode: child.exitCode ?? -1, output, errors }),
      );
    });
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true });
  }
}
