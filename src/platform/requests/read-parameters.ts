import { GIVEN_TWICE } from '../json/json-reader.js';
import { INTEGER, parseInt64 } from '../json/json-number.js';
import type { Faults } from '../validation/validation-errors.js';
import type { Member, RequestClass } from '../validation/compiled-dto.js';

/** No number has an exponent. */
const NUMBER = /^(?:0|-?(?:0\.[0-9]+|[1-9][0-9]*(?:\.[0-9]+)?))$/;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);

/** How text is read as what a member is declared as; undefined where it is not spelled so. */
const CONVERSIONS = new Map<unknown, (text: string) => unknown>([
  [String, (text) => text],
  [BigInt, (text) => (INTEGER.test(text) ? parseInt64(text) : undefined)],
  [Number, toNumber],
  [Boolean, (text) => BOOLEANS.get(text)],
]);

/** An integer is exact or none at all. */
function toNumber(text: string): number | undefined {
  const value = Number(text);
  const isExact = INTEGER.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return NUMBER.test(text) && isExact ? value : undefined;
}

/** @returns undefined for text that is not spelled as the member is declared */
function read(text: string, { type, rules }: Member): unknown {
  const isInteger = rules.rules.some(({ name }) => name === 'isInt');
  return isInteger && !INTEGER.test(text) ? undefined : CONVERSIONS.get(type)?.(text);
}

/** @throws TypeError when a member of the class cannot be a parameter */
export function checkParameterClass({ type, members }: RequestClass): void {
  for (const member of members) {
    if (!CONVERSIONS.has(member.type)) {
      throw new TypeError(
        `${type.name}.${member.name}: a parameter is declared as string, number, boolean or bigint`,
      );
    }
  }
}

/**
 * Reads parameters as an instance of a class, and finds what is wrong with them. Text that is not
 * spelled as its member is declared stays text, which the rules of the member refuse.
 *
 * @param onUnknown is called with the name of a parameter that the class does not have
 */
export function readParameters(
  parameters: Iterable<readonly [name: string, value: string]>,
  requestClass: RequestClass,
  faults: Faults,
  onUnknown: (name: string) => void,
): object {
  const instance = new requestClass.type() as Record<string, unknown>;
  const given = new Set<string>();
  for (const [name, text] of parameters) {
    const member = requestClass.members.find((one) => one.name === name);
    if (member === undefined) {
      onUnknown(name);
    } else {
      instance[name] = given.has(name) ? GIVEN_TWICE : (read(text, member) ?? text);
      given.add(name);
      // No engine stores it, so nothing can be meant by it.
      if (text.includes('\0')) {
        faults.add(`${name} must not contain U+0000 or an unpaired surrogate`);
      }
    }
  }
  if (!requestClass.accepts(instance)) requestClass.findFaults(instance, faults);
  return instance;
}
