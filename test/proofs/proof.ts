import { randomInt } from 'node:crypto';
import { parseArgs, type ParseArgsConfig } from 'node:util';

/** An option of a proof, written as `--name value`. */
export interface ProofOption {
  readonly summary: string;
  /** Undefined if the option has no default. */
  readonly default?: string;
  /** Whether the option is a switch without a value. */
  readonly isSwitch?: true;
}

/**
 * A program that proves one promise and takes too long for `npm test`: the default export of
 * `test/proofs/<name>/<name>.ts`, which `npm run prove -- <name>` runs.
 */
export interface Proof {
  /** What the proof does and what must hold, in one line. */
  readonly summary: string;
  /** How long it takes on two cores with the default options. */
  readonly takes: string;
  /** The requirements besides those that `npm ci` installs. */
  readonly needs?: string;
  readonly options?: Readonly<Record<string, ProofOption>>;
  /** The arguments that may follow the options. */
  readonly rest?: string;
  /** Shell commands that must succeed before the proof, such as {@link BUILD}. */
  readonly before?: readonly string[];
  /**
   * Resolves with the faults that were found. A proof that is a suite of node:test reports them
   * itself.
   */
  readonly run: (options: ProofOptions) => Promise<readonly string[]>;
}

/** An option is not what it must be; the message is for the reader. */
export class OptionError extends Error {}

export const BUILD = ['node scripts/build.mjs --if-changed'];

/** The option `seed`, by default a different one each time. */
export const SEED: Readonly<Record<'seed', ProofOption>> = {
  seed: { summary: 'makes the same choices again', default: 'random' },
};

export const ENGINE: Readonly<Record<'engine', ProofOption>> = {
  engine: { summary: 'sqlite or postgres', default: 'sqlite' },
};

/** The options and arguments of a proof on the command line. */
export class ProofOptions {
  private constructor(
    private readonly values: Readonly<Record<string, string | boolean | undefined>>,
    /** The arguments after the options. */
    readonly rest: readonly string[],
  ) {}

  /** @throws OptionError */
  static parse({ options = {}, rest }: Proof, args: readonly string[]): ProofOptions {
    const known: NonNullable<ParseArgsConfig['options']> = {};
    for (const [name, { default: value, isSwitch }] of Object.entries(options)) {
      if (isSwitch) known[name] = { type: 'boolean' };
      else known[name] = { type: 'string', ...(value !== undefined && { default: value }) };
    }
    try {
      const allowPositionals = rest !== undefined;
      const given = parseArgs({ args: [...args], options: known, allowPositionals });
      const values = given.values as Record<string, string | boolean | undefined>;
      if (values.seed === 'random') values.seed = String(randomInt(1, 2 ** 31));
      return new ProofOptions(values, given.positionals);
    } catch (error) {
      throw new OptionError((error as Error).message);
    }
  }

  isOn(name: string): boolean {
    return this.values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** @throws OptionError when it is no whole number from 0 to 2^31 - 1 */
  number(name: string): number {
    const text = this.text(name) ?? '';
    if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
    throw new OptionError(`--${name} must be a whole number from 0 to ${2 ** 31 - 1}`);
  }

  /** @throws OptionError */
  get engine(): 'sqlite' | 'postgres' {
    const engine = this.text('engine');
    if (engine === 'sqlite' || engine === 'postgres') return engine;
    throw new OptionError('--engine must be sqlite or postgres');
  }
}
