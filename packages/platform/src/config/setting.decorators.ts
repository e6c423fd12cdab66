import type { FactoryProvider, Type } from '@nestjs/common';
import { OperatorError } from '../errors/operator.error.js';

// Settings are declared as classes with one property for each environment variable.

/**
 * How the text of a variable is read. A module may have formats of its own.
 *
 * @example
 * ```ts
 * const percentage: Format<number> = {
 *   must: 'must be a number and %, such as 20%',
 *   parse: (text) => (/^\d+%$/.test(text) ? parseInt(text) : undefined),
 * };
 * ```
 */
export interface Format<Value> {
  /** The rule for the text, which completes the sentence that begins with the variable's name. */
  readonly must: string;
  /** Returns undefined for a text that breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

interface DeclaredSetting {
  readonly name: string;
  readonly format: Format<unknown>;
  readonly initial: string | undefined;
}

/**
 * The settings cannot be used, from the environment, `.env` or the arguments. The message has the name
 * of each wrong variable and its rule, never its value.
 */
export class EnvError extends OperatorError {}

const classes = new Map<Type<object>, DeclaredSetting[]>();

/** Compiles only on a property that may have each of the values. */
type SettingDecorator<Value> = <Settings extends object, Name extends string & keyof Settings>(
  target: Settings,
  name: [Value] extends [Settings[Name]] ? Name : never,
) => void;

/**
 * Declares a setting: the environment variable with the name of the property. It is checked at the
 * start together with all others. An empty variable counts as not set.
 *
 * @param format how its text is read, such as {@link wholeNumber}
 * @param initial the text for a variable that is not set; without it the property is undefined
 * @example
 * ```ts
 * class BedsSettings {
 *   @Setting(wholeNumber(1, 1_000), '20')
 *   readonly BEDS_MAX_PLANTS!: number;
 * }
 * ```
 */
export function Setting<Value>(format: Format<Value>, initial: string): SettingDecorator<Value>;
export function Setting<Value>(format: Format<Value>): SettingDecorator<Value | undefined>;
export function Setting<Value>(
  format: Format<Value>,
  initial?: string,
): SettingDecorator<Value | undefined> {
  return ({ constructor }, name) => {
    const type = constructor as Type<object>;
    classes.set(type, [...(classes.get(type) ?? []), { name, format, initial }]);
  };
}

/**
 * Changes the default of a setting for this program.
 *
 * @param initial the text for a variable that is not set
 * @example
 * ```ts
 * setDefault(Env, 'PORT', '8080');
 * ```
 */
export function setDefault<Settings extends object>(
  type: Type<Settings>,
  name: keyof Settings & string,
  initial: string,
): void {
  const declared = classes.get(type) ?? [];
  classes.set(
    type,
    declared.map((one) => (one.name === name ? { ...one, initial } : one)),
  );
}

/** The rules that variables break, by their names. */
type Faults = Map<string, string>;

/**
 * Reads the settings of a class, and checks those of all classes. An empty value counts as unset.
 *
 * @param check adds the faults of settings that do not fit together
 * @throws EnvError
 */
export function loadSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv = process.env,
  check: (settings: Settings, faults: Faults) => void = () => undefined,
): Settings {
  const faults: Faults = new Map();
  for (const one of classes.keys()) readSettings(one, source, faults);
  const settings = readSettings(type, source, faults);
  check(settings, faults);
  if (faults.size === 0) return settings;
  throw new EnvError(Array.from(faults, ([name, must]) => `${name} ${must}`).join('\n'));
}

/** Lists the settings of all loaded modules, each as lines of a `.env` file with its default. */
export function describeSettings(): string {
  const settings = [...classes.values()].flat();
  return settings
    .map(({ name, format, initial = '' }) => `# ${format.must}\n${name}=${initial}\n`)
    .join('\n');
}

/**
 * Provides a module with its settings, read from the environment.
 *
 * @throws EnvError at the start, with a line for each variable that breaks its rule
 * @example
 * ```ts
 * @Module({ providers: [SalesService, provideSettings(SalesSettings)] })
 * class SalesModule {}
 * ```
 */
export function provideSettings<Settings extends object>(
  type: Type<Settings>,
): FactoryProvider<Settings> {
  return { provide: type, useFactory: () => loadSettings(type) };
}

/** @param faults collects the faults */
function readSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv,
  faults: Faults,
): Settings {
  const settings = new type();
  for (const { name, format, initial } of classes.get(type) ?? []) {
    const text = source[name] === '' ? initial : (source[name] ?? initial);
    if (text === undefined) continue;
    const value = format.parse(text);
    if (value === undefined) faults.set(name, format.must);
    // The rules about several settings are checked with the default.
    Object.assign(settings, { [name]: value ?? format.parse(initial ?? '') });
  }
  return settings;
}
