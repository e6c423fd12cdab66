import type { FactoryProvider, Type } from '@nestjs/common';

// Settings are declared as classes with one property for each environment variable.

/** How the text of a variable is read. */
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
 * The environment is not valid. The message has one line for each wrong variable, with its name and
 * its rule, never its value.
 */
export class EnvError extends Error {}

const classes = new Map<Type<object>, DeclaredSetting[]>();

/**
 * Declares a setting. It is checked at start together with all others.
 *
 * @param initial the text for a variable that is not set; without it the property keeps its initial
 *   value
 */
export function Setting(format: Format<unknown>, initial?: string): PropertyDecorator {
  return ({ constructor }, name) => {
    const type = constructor as Type<object>;
    classes.set(type, [...(classes.get(type) ?? []), { name: String(name), format, initial }]);
  };
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

/** Provides a module with its settings: `providers: [provideSettings(GardensSettings)]`. */
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
    else Object.assign(settings, { [name]: value });
  }
  return settings;
}
