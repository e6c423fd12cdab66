import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { GIVEN_TWICE, JsonNumber, SCALAR, type Shape } from '../json/json.js';
import { explainFaults, type MemberRules, readRules, type Rule, type Schema } from './rules.js';
import { type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

/** A member of a DTO. */
export interface Member extends MemberRules {
  readonly name: string;
  /** The JSON Schema of the value, or of the elements of an array. */
  readonly schema: Schema;
  /** The type of this project of the value, or of the elements of an array. */
  readonly valueType: ValueType | undefined;
  /** The class of the value, or of the elements of an array. */
  readonly nested: CompiledDto | undefined;
}

/** The metadata key of @nestjs/swagger for the documentation of a member. */
const API_PROPERTY = 'swagger/apiModelProperties';

/** How many faults of one request are named. */
const MAX_FAULTS = 100;

/** Lists the faults of a request in one text, each once. */
export function joinFaults(faults: readonly string[]): string {
  const text = [...new Set(faults.slice(0, MAX_FAULTS))].join('; ');
  return faults.length > MAX_FAULTS ? `${text}; and more` : text;
}

/** The metadata key for the class to which a merge patch applies. */
const PATCHED = Symbol('patched class');
const patchClasses = new Map<Type<object>, Type<object>>();

/** Makes the merge patch class of a DTO, which has no members of its own. Each DTO has one. */
export function makePatchClass(base: Type<object>): Type<object> {
  const known = patchClasses.get(base);
  if (known !== undefined) return known;
  const patch = class extends Object {};
  Object.defineProperty(patch, 'name', { value: `${getDocumentedName(base)}Patch` });
  Reflect.defineMetadata(PATCHED, base, patch);
  patchClasses.set(base, patch);
  return patch;
}

/** The class of a body, a query, a path or an answer: its members and their rules. */
export class CompiledDto implements Shape {
  private static readonly compiled = new Map<Type<object>, CompiledDto>();
  readonly members: Member[] = [];
  /** For a merge patch, whose members are all optional: the class to which it applies. */
  readonly patched: Type<object> | undefined;
  readonly elements = undefined;
  private readonly shapes = new Map<string, Shape>();

  private constructor(readonly type: Type<object>) {
    // Registered before its members: a DTO may contain itself.
    CompiledDto.compiled.set(type, this);
    this.patched = Reflect.getMetadata(PATCHED, type) as Type<object> | undefined;
    const declared = this.patched ?? type;
    for (const [name, rules] of readRules(declared)) {
      const member = this.createMember(declared, name, rules);
      this.members.push(member);
      this.shapes.set(name, createShape(member, this.patched !== undefined));
    }
    if (this.members.length === 0)
      throw new TypeError(`${declared.name} has no member with a rule`);
    this.documentMembers();
  }

  /** @throws TypeError with the reason why no values can be read as this class */
  static compile(type: Type<object>): CompiledDto {
    return CompiledDto.compiled.get(type) ?? new CompiledDto(type);
  }

  private createMember(declared: Type<object>, name: string, memberRules: MemberRules): Member {
    const { isNested, isList } = memberRules;
    // A patch lacks the other members: its result is checked instead.
    const rules = memberRules.rules.filter(
      (rule) => this.patched === undefined || rule.name !== WHOLE_OBJECT_RULE,
    );
    const ofValue = rules.filter(({ each = false }) => each === isList);
    const schema = joinSchemas(ofValue);
    const { valueType } = ofValue.find((rule) => rule.valueType !== undefined) ?? {};
    if (!isNested && valueType === undefined && schema.type === undefined) {
      throw new TypeError(
        `${declared.name}.${name}: no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean(), @IsIn(), @IsJson(), or @ValidateNested() with @Type(() => AClass)`,
      );
    }
    const nested = isNested ? this.compileNested(declared, name, isList) : undefined;
    return { ...memberRules, name, rules, schema, valueType, nested };
  }

  /**
   * Adds the rules and the initial values of the class to its OpenAPI schema, so that neither is
   * written twice. `@ApiProperty()` adds only a description or an example.
   */
  private documentMembers(): void {
    const { type, patched, members } = this;
    const initial = new type() as Record<string, unknown>;
    for (const { name, rules, conditions, isList, schema, nested } of members) {
      const value = initial[name];
      const isOptional = conditions.length > 0;
      const options = {
        ...(patched &&
          (Reflect.getMetadata(API_PROPERTY, patched.prototype as object, name) as object)),
        required: patched === undefined && !isOptional && value === undefined,
        ...(value !== undefined && typeof value !== 'bigint' && { default: value }),
        ...describeType(schema, nested?.type, isList),
        ...(isList && joinSchemas(rules.filter(({ each }) => !each))),
        // In a patch, null removes an optional member.
        ...(patched !== undefined && !isList && describeNull(schema, isOptional)),
      };
      ApiProperty(options)(type.prototype as object, name);
    }
  }

  /** RFC 7396 section 2: an object in a patch is itself a patch, an array is not. */
  private compileNested(declared: Type<object>, name: string, isList: boolean): CompiledDto {
    const type = findNestedType(declared, name);
    const isPatch = this.patched !== undefined && !isList;
    return CompiledDto.compile(isPatch ? makePatchClass(type) : type);
  }

  getMember(name: string): Shape | undefined {
    return this.shapes.get(name);
  }

  /**
   * Makes an instance of an object with converted members. A value of a wrong type is kept too, for
   * {@link check} to reject it.
   */
  convert(value: unknown): unknown {
    if (!(value instanceof Map)) return toPlain(value);
    const object = new this.type() as Record<string, unknown>;
    for (const { name } of this.members) {
      const member: unknown = value.get(name);
      if (member !== undefined) object[name] = member;
    }
    return object;
  }

  /**
   * Checks an instance that was read.
   *
   * @param faults collects the faults
   * @param parent the path to the instance, followed by a dot
   */
  check(object: object, faults: string[], parent = ''): void {
    for (const member of this.members) {
      if (faults.length > MAX_FAULTS) return;
      const value = (object as Record<string, unknown>)[member.name];
      if (value === GIVEN_TWICE) {
        faults.push(`${parent}${member.name} is given more than once`);
      } else if (this.patched !== undefined && (value === undefined || value === null)) {
        if (value === null && member.conditions.length === 0) {
          faults.push(`${parent}${member.name} must not be null: it cannot be removed`);
        }
      } else if (member.conditions.every((holds) => holds(object, value))) {
        checkMember(member, object, value, faults, parent);
      }
    }
  }
}

/** Lists the classes that a handler answers with. */
export function listAnswers(handler: object): Type<object>[] {
  const responses = Reflect.getMetadata('swagger/apiResponse', handler) as
    Record<string, { readonly type?: unknown }> | undefined;
  const models = Reflect.getMetadata('swagger/apiExtraModels', handler) as unknown[] | undefined;
  const types = [...Object.values(responses ?? {}).map(({ type }) => type), ...(models ?? [])];
  return types.filter(
    (type): type is Type<object> => typeof type === 'function' && type.prototype !== undefined,
  );
}

/**
 * Compiles the classes of bodies and answers, so that their rules are documented. They and the
 * classes of their members must have different names: @nestjs/swagger documents only the last one of
 * a name.
 *
 * @throws TypeError when two have one name, or a member has no type
 */
export function compileDocumented(
  types: readonly Type<object>[],
  known = new Map<string, Type<object>>(),
): void {
  for (const type of types) {
    const name = getDocumentedName(type);
    const other = known.get(name);
    if (other === type) continue;
    if (other !== undefined) {
      throw new TypeError(
        `${other.name} and ${type.name} are both documented as ${name}: give one of them another name with @ApiSchema({ name })`,
      );
    }
    known.set(name, type);
    const declared = (Reflect.getMetadata(PATCHED, type) as Type<object> | undefined) ?? type;
    if (readRules(declared).size > 0) {
      const { members } = CompiledDto.compile(type);
      compileDocumented(
        members.flatMap(({ nested }) => nested?.type ?? []),
        known,
      );
    }
  }
}

function getDocumentedName(type: Type<object>): string {
  const schemas = Reflect.getOwnMetadata('swagger/apiSchema', type) as
    { readonly name?: string }[] | undefined;
  return schemas?.at(-1)?.name ?? type.name;
}

/** Finds the class that `@Type()` gives to a member: class-transformer does not expose it. */
function findNestedType(type: Type<object>, name: string): Type<object> {
  const { [name]: value } = plainToInstance(type, { [name]: {} }) as Record<string, object>;
  const nested = value?.constructor as Type<object> | undefined;
  if (nested !== undefined && nested !== Object) return nested;
  throw new TypeError(`${type.name}.${name}: @ValidateNested() needs @Type(() => AClass)`);
}

function joinSchemas(rules: readonly Rule[]): Schema {
  return Object.assign({}, ...rules.map(({ schema }) => schema)) as Schema;
}

/** @param isRemovable whether null removes the member */
function describeNull({ oneOf }: Schema, isRemovable: boolean): Schema {
  if (oneOf === undefined) return isRemovable ? { nullable: true } : {};
  // Any JSON, which may be null.
  const types = oneOf as { readonly type: string }[];
  return isRemovable ? {} : { oneOf: types.filter(({ type }) => type !== 'null') };
}

function describeType(schema: Schema, nested: Type<object> | undefined, isList: boolean): object {
  if (nested !== undefined) return { type: () => nested, isArray: isList };
  if (isList) return { type: 'array', items: schema };
  // @nestjs/swagger leaves out the type beside oneOf, but looks for one elsewhere if there is none.
  return schema.oneOf === undefined ? schema : { ...schema, type: 'object' };
}

/** Returns how a member is read. Of a value of a wrong type, only the type is kept. */
function createShape({ nested, valueType, isList }: Member, isPatch: boolean): Shape {
  const { read = toPlain, shape: parts = SCALAR } = valueType ?? {};
  const convertValue = (value: unknown): unknown => read(value) ?? toPlain(value);
  // In a patch null removes a member, even if it is a value of the member's type.
  const convertChange = (value: unknown): unknown => (value === null ? null : convertValue(value));
  const shape = nested ?? { ...parts, convert: isPatch && !isList ? convertChange : convertValue };
  if (!isList) return shape;
  const convert = (value: unknown): unknown => (Array.isArray(value) ? value : toPlain(value));
  return { ...SCALAR, elements: shape, convert };
}

/** Only the type of an object or an array matters. */
function toPlain(json: unknown): unknown {
  if (json instanceof JsonNumber) return Number(json.source);
  if (json instanceof Map) return {};
  return Array.isArray(json) ? [] : json;
}

function checkMember(
  { name, rules, isList, nested }: Member,
  object: object,
  value: unknown,
  faults: string[],
  parent: string,
): void {
  const path = parent + name;
  if (value === undefined) {
    faults.push(`${path} is missing`);
    return;
  }
  if (isList && !Array.isArray(value)) {
    faults.push(`${path} must be an array`);
    return;
  }
  if (!rules.every((rule) => rule.passes(object, value))) {
    faults.push(...explainFaults(rules, object, value, path));
  }
  if (nested === undefined) return;
  if (!isList) checkNested(nested, value, faults, path);
  else {
    for (const [index, element] of (value as unknown[]).entries()) {
      if (faults.length > MAX_FAULTS) return;
      checkNested(nested, element, faults, `${path}.${index}`);
    }
  }
}

function checkNested(nested: CompiledDto, value: unknown, faults: string[], path: string): void {
  if (value instanceof nested.type) nested.check(value, faults, `${path}.`);
  else faults.push(`${path} must be an object`);
}
