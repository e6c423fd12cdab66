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
  /** The rule for the text, as a sentence without its subject, which is the name of the variable. */
  readonly must: string;
  /** Returns undefined for a text that breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

interface DeclaredSetting {
  readonly name: string;
  readonly format: Format<unknown>;
  /** The text for a variable that is not set. */
  readonly defaultText: string | undefined;
}

/**
 * Settings of the environment, `.env` or the arguments are wrong. The message has the name of each
 * wrong variable and its rule, never its value.
 */
export class EnvError extends OperatorError {}

/** The settings of each class, which `@Setting()` adds when the class is loaded. */
const settingsByClass = new Map<Type<object>, DeclaredSetting[]>();

/**
 * Compiles only on a property whose type has every value of the format. The brackets make TypeScript
 * check a union as a whole.
 */
type SettingDecorator<Value> = <Settings extends object, Name extends string & keyof Settings>(
  target: Settings,
  name: [Value] extends [Settings[Name]] ? Name : never,
) => void;

/**
 * Declares a setting: the environment variable with the name of the property. It is checked at the
 * start together with all others. An empty variable counts as not set.
 *
 * @param format how its text is read, such as {@link wholeNumber}
 * @param defaultText the text for a variable that is not set; without it the property is undefined
 * @example
 * ```ts
 * class BedsSettings {
 *   @Setting(wholeNumber(1, 1_000), '20')
 *   readonly BEDS_MAX_PLANTS!: number;
 * }
 * ```
 */
export function Setting<Value>(format: Format<Value>, defaultText: string): SettingDecorator<Value>;
export function Setting<Value>(format: Format<Value>): SettingDecorator<Value | undefined>;
export function Setting<Value>(
  format: Format<Value>,
  defaultText?: string,
): SettingDecorator<Value | undefined> {
  return ({ constructor }, name) => {
    const type = constructor as Type<object>;
    const settings = settingsByClass.get(type) ?? [];
    settingsByClass.set(type, [...settings, { name, format, defaultText }]);
  };
}

/**
 * Changes the default of a setting for this program. Call it before the settings are read, such as in
 * the file that starts the program.
 *
 * @param defaultText the text for a variable that is not set
 * @example
 * ```ts
 * setDefault(Env, 'PORT', '8080');
 * ```
 */
export function setDefault<Settings extends object>(
  type: Type<Settings>,
  name: keyof Settings & string,
  defaultText: string,
): void {
  const settings = settingsByClass.get(type) ?? [];
  const changed = settings.map((setting) =>
    setting.name === name ? { ...setting, defaultText } : setting,
  );
  settingsByClass.set(type, changed);
}

/** The rule that each wrong variable breaks, by the name of the variable. */
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
  // One start reports the faults of all classes.
  for (const otherType of settingsByClass.keys()) readSettings(otherType, source, faults);
  const settings = readSettings(type, source, faults);
  check(settings, faults);
  if (faults.size === 0) return settings;
  throw new EnvError(Array.from(faults, ([name, must]) => `${name} ${must}`).join('\n'));
}

/** Lists the settings of all loaded modules, each as lines of a `.env` file with its default. */
export function describeSettings(): string {
  const settings = [...settingsByClass.values()].flat();
  return settings
    .map(
      ({ name, format, defaultText = '' }) => `# ${name} ${format.must}\n${name}=${defaultText}\n`,
    )
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

/** Reads the settings of a class, and adds the wrong ones to the faults. */
function readSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv,
  faults: Faults,
): Settings {
  const settings = new type();
  for (const { name, format, defaultText } of settingsByClass.get(type) ?? []) {
    const isSet = source[name] !== undefined && source[name] !== '';
    const text = isSet ? source[name] : defaultText;
    if (text === undefined) continue;
    let value = format.parse(text);
    if (value === undefined) {
      faults.set(name, format.must);
      // With the default, the rules about several settings can still be checked.
      value = format.parse(defaultText ?? '');
    }
    Object.assign(settings, { [name]: value });
  }
  return settings;
}
