import type { FactoryProvider, Type } from '@nestjs/common';

// Settings are declared as classes with one property for each environment variable.

/** How the text of a variable is read. */
export interface Format<Value> {
  /** The rule for the text, which completes the sentence that begins with the variable's name. */
  readonly must: string | ((text: string) => string);
  /** Returns undefined for a text that breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
}

/** A class with rules that concern several of its settings. */
interface WithFaults {
  /**
   * @param isSet whether a variable is set
   * @returns the names of variables that do not fit the others, with their rules
   */
  findFaults(isSet: (name: string) => boolean): [name: string, must: string][];
}

interface DeclaredSetting {
  readonly format: Format<unknown>;
  readonly initial: string | undefined;
  readonly description: string | undefined;
}

/**
 * The environment is not valid. The message has one line for each wrong variable, with its name and
 * its rule, never its value.
 */
export class EnvError extends Error {}

/** The line of `.env.example` after which `npm run openapi` writes the settings of modules. */
export const MODULE_SETTINGS = '# The settings of modules.\n';

const classes = new Map<Type<object>, Map<string, DeclaredSetting>>();

/**
 * Declares a setting. It is checked at start together with all others.
 *
 * @param initial the text for a variable that is not set; without it the property keeps its initial
 *   value
 * @param description describes a setting of a module in `.env.example`
 */
export function Setting(
  format: Format<unknown>,
  initial?: string,
  description?: string,
): PropertyDecorator {
  return (target, name) => {
    const type = target.constructor as Type<object>;
    const settings = classes.get(type) ?? new Map<string, DeclaredSetting>();
    classes.set(type, settings.set(String(name), { format, initial, description }));
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
  const faults = new Map<string, string>();
  for (const one of classes.keys()) readSettings(one, source, faults);
  const lines = [...faults].map(([name, must]) => `${name} ${must}`);
  if (lines.length > 0) throw new EnvError(lines.join('\n'));
  return readSettings(type, source, faults);
}

/** Provides a module with its settings: `providers: [provideSettings(GardensSettings)]`. */
export function provideSettings<Settings extends object>(
  type: Type<Settings>,
): FactoryProvider<Settings> {
  return { provide: type, useFactory: () => loadSettings(type) };
}

/** Lists the variables of a class, with the texts that stand for unset ones. */
export function listDefaults(type: Type<object>): Record<string, string> {
  const settings = [...(classes.get(type) ?? [])];
  return Object.fromEntries(settings.map(([name, { initial = '' }]) => [name, initial]));
}

/** The settings of modules as the end of `.env.example`: each with its description and default. */
export function describeModuleSettings(): string {
  return [...classes.values()]
    .flatMap((settings) => [...settings])
    .map(([name, { initial = '', description }]) =>
      description === undefined ? '' : `\n# ${description}\n${name}=${initial}\n`,
    )
    .join('');
}

/** @param faults collects the rules of variables that break them */
function readSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv,
  faults: Map<string, string>,
): Settings {
  const settings = new type();
  const isSet = (name: string): boolean => (source[name] ?? '') !== '';
  for (const [name, { format, initial }] of classes.get(type) ?? []) {
    const text = isSet(name) ? source[name] : initial;
    if (text === undefined) continue;
    const value = format.parse(text);
    if (value !== undefined) Object.assign(settings, { [name]: value });
    else faults.set(name, typeof format.must === 'string' ? format.must : format.must(text));
  }
  if (hasOwnFaults(settings)) {
    for (const [name, must] of settings.findFaults(isSet)) {
      if (!faults.has(name)) faults.set(name, must);
    }
  }
  return settings;
}

function hasOwnFaults(settings: object): settings is WithFaults {
  return 'findFaults' in settings;
}
