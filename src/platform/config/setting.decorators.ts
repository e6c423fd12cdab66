import { applyDecorators, type FactoryProvider, type Type } from '@nestjs/common';
import { plainToInstance, Transform } from 'class-transformer';
import { IsInt, Max, Min, ValidateBy, validateSync } from 'class-validator';

// Settings are declared as classes with one property for each environment variable, whose initial
// value is the default.

/**
 * The environment is not valid. The message has one line for each wrong variable, with its name and
 * its rule, never its value.
 */
export class EnvError extends Error {}

/** The line of `.env.example` after which `npm run openapi` writes the settings of modules. */
export const MODULE_SETTINGS = '# The settings of modules.\n';

const settingClasses = new Set<Type<object>>();
const DESCRIPTION = Symbol('description');

/** Describes a setting of a module for `.env.example`, and has its class checked at start. */
export function Setting(description: string): PropertyDecorator {
  return (target, name) => {
    registerSettings(target.constructor as Type<object>);
    Reflect.defineMetadata(DESCRIPTION, description, target, name);
  };
}

/** Has the settings of a class checked at start. */
export function registerSettings(type: Type<object>): void {
  settingClasses.add(type);
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
  const faults = [...new Set([...settingClasses, type])].flatMap((one) =>
    validateSync(readSettings(one, source), { stopAtFirstError: true }).map(
      ({ property, constraints = {} }) => `${property} ${Object.values(constraints).join(', ')}`,
    ),
  );
  if (faults.length > 0) throw new EnvError(faults.join('\n'));
  return readSettings(type, source);
}

/** Provides a module with its settings: `providers: [provideSettings(GardensSettings)]`. */
export function provideSettings<Settings extends object>(
  type: Type<Settings>,
): FactoryProvider<Settings> {
  return { provide: type, useFactory: () => loadSettings(type) };
}

/** The names of the variables of all classes. */
export function listSettings(): string[] {
  return [...settingClasses].flatMap((type) => Object.keys(new type()));
}

/** The settings of modules as the end of `.env.example`: each with its description and default. */
export function describeModuleSettings(): string {
  const texts = [...settingClasses].flatMap((type) => {
    const defaults = new type() as Record<string, unknown>;
    return Object.entries(defaults).flatMap(([name, value]) => {
      const text = Reflect.getMetadata(DESCRIPTION, defaults, name) as string | undefined;
      return text === undefined ? [] : [`\n# ${text}\n${name}=${String(value)}\n`];
    });
  });
  return texts.join('');
}

function readSettings<Settings extends object>(
  type: Type<Settings>,
  source: NodeJS.ProcessEnv,
): Settings {
  const given = Object.keys(new type())
    .map((name) => [name, source[name]] as const)
    .filter(([, value]) => value !== undefined && value !== '');
  return plainToInstance(type, Object.fromEntries(given), { exposeDefaultValues: true });
}

/**
 * Checks a setting that is text.
 *
 * @param message completes the sentence that begins with its name: "must be ..."
 * @param holds gets the value, and the settings of its class
 */
export function Rule(
  message: string,
  holds: (value: string, settings: never) => boolean,
): PropertyDecorator {
  return ValidateBy(
    {
      name: message,
      validator: { validate: (value, args) => holds(value as string, args?.object as never) },
    },
    { message },
  );
}

/** Reads and checks a setting that is a whole number. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  const options = { message: `must be a whole number from ${min} to ${max}` };
  return applyDecorators(
    Transform(({ value }) => toNumber(value)),
    IsInt(options),
    Min(min, options),
    Max(max, options),
  );
}

function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
}
