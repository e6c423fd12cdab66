import type { Type } from '@nestjs/common';
import {
  GIVEN_TWICE,
  type MemberShape,
  type ObjectShape,
  type ValueShape,
} from '../json/json-reader.js';
import { documentRules } from './openapi-rules.js';
import { getRules, type PropertyRules } from './dto-rules.js';
import { findNestedType, getMemberType } from './member-type.js';
import type { ValidationErrors } from './validation-errors.js';
import type { ValueType } from './value-types.js';

/** A member of a DTO. */
export interface Member {
  readonly name: string;
  /** The class that it is declared as; `Object` if that is unknown. */
  readonly type: unknown;
  /**
   * The type of its values, or of the elements of an array, if a decorator of this project gives
   * it.
   */
  readonly valueType: ValueType | undefined;
  readonly rules: PropertyRules;
  /** The DTO of the value, or of the elements of an array. */
  readonly nested: CompiledDto | undefined;
}

/** The metadata key for the class to which a merge patch applies. */
const PATCHED = Symbol('patched class');

/** Makes the merge patch class of a DTO, which has no members of its own. Each DTO has one. */
export function makePatchClass(base: Type<object>): Type<object> {
  const known = patchClasses.get(base);
  if (known !== undefined) return known;
  const name = `${base.name}Patch`;
  const { [name]: patch } = { [name]: class extends Object {} } as Record<string, Type<object>>;
  if (patch === undefined) throw new TypeError('no class');
  Reflect.defineMetadata(PATCHED, base, patch);
  patchClasses.set(base, patch);
  return patch;
}

const patchClasses = new Map<Type<object>, Type<object>>();

/** Returns the class to which a merge patch applies; undefined if the class is no merge patch. */
export function getPatchedClass(type: Type<object>): Type<object> | undefined {
  return Reflect.getMetadata(PATCHED, type) as Type<object> | undefined;
}

/** The class of a body, a query or a path: its members and their rules. */
export class CompiledDto {
  private static readonly compiled = new Map<Type<object>, CompiledDto>();
  readonly members: Member[] = [];
  /** How an instance is read from JSON. */
  readonly shape: ObjectShape & { readonly members: MemberShape[] };

  /**
   * @param patched for a merge patch, whose members are all optional: the class to which it applies
   */
  private constructor(
    readonly type: Type<object>,
    readonly patched: Type<object> | undefined,
  ) {
    this.shape = { type, members: [] };
  }

  /** @throws TypeError with the reason why no values can be read as this class */
  static compile(type: Type<object>): CompiledDto {
    const known = CompiledDto.compiled.get(type);
    if (known !== undefined) return known;
    const dto = new CompiledDto(type, getPatchedClass(type));
    // Registered before its members: a DTO may contain itself.
    CompiledDto.compiled.set(type, dto);
    try {
      dto.addMembers();
    } catch (error) {
      CompiledDto.compiled.delete(type);
      throw error;
    }
    return dto;
  }

  private addMembers(): void {
    const { type, patched } = this;
    const declared = patched ?? type;
    const rules = getRules(declared, patched !== undefined);
    if (rules.size === 0) throw new TypeError(`${declared.name} has no member with a rule`);
    for (const [name, itsRules] of rules) {
      try {
        this.addMember(declared, name, itsRules);
      } catch (error) {
        const { message } = error as Error;
        throw new TypeError(`${declared.name}.${name}: ${message}`, { cause: error });
      }
    }
    documentRules(type, declared, this.members);
    // The base class may document an answer.
    const base = Object.getPrototypeOf(declared) as Type<object>;
    if (getRules(base).size > 0) CompiledDto.compile(base);
  }

  private addMember(declared: Type<object>, name: string, rules: PropertyRules): void {
    const type = getMemberType(declared, name, rules);
    const nestedType = findNestedType(declared, name);
    if (rules.isNested !== (nestedType !== undefined)) {
      throw new TypeError('@ValidateNested() and @Type(() => AClass) need each other');
    }
    assertDeclared(type, rules);
    const nested = nestedType && this.compileNested(nestedType, type);
    const valueType = rules.valueType?.type;
    this.members.push({ name, type, valueType, rules, nested });
    this.shape.members.push({
      name,
      shape: toShape(type, rules, nested, this.patched !== undefined),
    });
  }

  /** RFC 7396 section 2: an object in a patch is itself a patch, an array is not. */
  private compileNested(nestedType: Type<object>, type: unknown): CompiledDto {
    if (this.patched === undefined || type === Array) return CompiledDto.compile(nestedType);
    return CompiledDto.compile(makePatchClass(nestedType));
  }

  /**
   * Checks an instance that was read.
   *
   * @param errors collects the errors
   * @param parent the path to the instance, followed by a dot
   */
  check(object: object, errors: ValidationErrors, parent = ''): void {
    for (const member of this.members) {
      if (errors.isFull) return;
      const value = (object as Record<string, unknown>)[member.name];
      if (value === GIVEN_TWICE) {
        errors.add(`${parent}${member.name} is given more than once`);
      } else if (this.patched !== undefined && (value === undefined || value === null)) {
        if (value === null && !member.rules.isConditional) {
          errors.add(`${parent}${member.name} must not be null: it cannot be removed`);
        }
      } else if (member.rules.applies(object, value)) {
        checkMember(member, object, value, errors, parent);
      }
    }
  }
}

function checkMember(
  { name, type, rules, nested }: Member,
  object: object,
  value: unknown,
  errors: ValidationErrors,
  parent: string,
): void {
  const isOfType = hasType(value, type, nested);
  if (!isOfType || !rules.pass(object, value)) {
    const path = parent + name;
    if (value === undefined) {
      errors.add(`${path} is missing`);
      return;
    }
    const texts = isOfType || isScalar(type) ? rules.describe(object, value, path) : [];
    // The rules may have no message about a value of another type.
    if (texts.length === 0) texts.push(`${path} must be ${describeType(type, nested)}`);
    for (const text of texts) errors.add(text);
  }
  if (nested === undefined || !isOfType) return;
  if (!Array.isArray(value)) {
    nested.check(value as object, errors, `${parent}${name}.`);
    return;
  }
  for (const [index, element] of (value as unknown[]).entries()) {
    if (errors.isFull) return;
    if (element instanceof nested.type) {
      nested.check(element, errors, `${parent}${name}.${index}.`);
    } else {
      errors.add(`${parent}${name}.${index} must be an object`);
    }
  }
}

/** The types of JSON's own scalars, with texts that complete the sentence "it must be ...". */
const SCALARS = new Map<unknown, { readonly name: string; readonly text: string }>([
  [String, { name: 'string', text: 'a string' }],
  [Number, { name: 'number', text: 'a number' }],
  [Boolean, { name: 'boolean', text: 'a boolean' }],
  [BigInt, { name: 'bigint', text: 'an integer' }],
]);

export function isScalar(type: unknown): boolean {
  return SCALARS.has(type);
}

function hasType(value: unknown, type: unknown, nested: CompiledDto | undefined): boolean {
  if (type === Array) return Array.isArray(value);
  if (nested !== undefined) return value instanceof nested.type;
  const scalar = SCALARS.get(type);
  return scalar === undefined ? value !== undefined : typeof value === scalar.name;
}

function describeType(type: unknown, nested: CompiledDto | undefined): string {
  if (type === Array) return 'an array';
  return nested === undefined ? (SCALARS.get(type)?.text ?? 'given') : 'an object';
}

/** @throws TypeError when the declared class of a member is not that of its decorator */
function assertDeclared(type: unknown, { valueType, declared }: PropertyRules): void {
  if (valueType === undefined) {
    if (type === BigInt) throw new TypeError('a bigint and @IsInt64() need each other');
    return;
  }
  const wanted = valueType.each ? Array : valueType.type.valueClass;
  if (declared === undefined || declared === Object || declared === wanted) return;
  const name = (wanted as Type).name;
  const noun = name === 'BigInt' ? 'bigint' : name;
  throw new TypeError(`a ${noun} and @${valueType.decorator}() need each other`);
}

function toShape(
  type: unknown,
  { valueType }: PropertyRules,
  nested: CompiledDto | undefined,
  isOfPatch: boolean,
): ValueShape {
  if (nested !== undefined) return type === Array ? { items: nested.shape } : nested.shape;
  if (valueType !== undefined) {
    const shape = isOfPatch ? readNull(valueType.type) : valueType.type;
    return valueType.each ? { items: valueType.type } : shape;
  }
  return isScalar(type) ? 'scalar' : 'json';
}

/** Reads null as itself, which removes a member in a patch, even if null is a value of the type. */
function readNull(type: ValueType): ValueType {
  const { readJson } = type;
  if (readJson === undefined) return type;
  return { ...type, readJson: (source) => (source === 'null' ? null : readJson(source)) };
}
