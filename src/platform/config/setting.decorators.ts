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

/**
 * Reads the settings of a class, and checks those of all classes. An empty value counts as unset.
 *
 * @throws EnvError
 */
export function loadSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv = process.env,
): Settings {
  const faults: string[] = [];
  for (const one of classes.keys()) readSettings(one, source, faults);
  if (faults.length > 0) throw new EnvError(faults.join('\n'));
  return readSettings(type, source, faults);
}

/** Provides a module with its settings: `providers: [provideSettings(GardensSettings)]`. */
export function provideSettings<Settings extends object>(
  type: Type<Settings>,
): FactoryProvider<Settings> {
  return { provide: type, useFactory: () => loadSettings(type) };
}

/** @param faults collects the rules of variables that break them */
function readSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv,
  faults: string[],
): Settings {
  const settings = new type();
  for (const { name, format, initial } of classes.get(type) ?? []) {
    const text = source[name] === '' ? initial : (source[name] ?? initial);
    if (text === undefined) continue;
    const value = format.parse(text);
    if (value === undefined) faults.push(`${name} ${format.must}`);
    else Object.assign(settings, { [name]: value });
  }
  return settings;
}
