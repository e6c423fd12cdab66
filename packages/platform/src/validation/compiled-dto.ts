import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { GIVEN_TWICE, JsonNumber, SCALAR, type Shape, WHOLE } from '../json/json.js';
import { PLAIN_NUMBER } from '../json/json-number.js';
import { writeJson } from '../json/json-writer.js';
import type { Check } from './check.js';
import { EXACT_DATE, EXACT_TYPES, type ExactType, readNumber } from './exact-values.js';
import {
  addMissing,
  listElements,
  type MemberRules,
  readRules,
  runRules,
  toDecorator,
} from './rules.js';
import { joinSchemas, type JsonSchema } from './schemas.js';
import {
  assignTransformed,
  getFailures,
  reshape,
  takesText,
  toValue,
  type TransformedMember,
} from './transformed-dto.js';
import {
  type Discriminator,
  listTransformed,
  type MemberTransforms,
  readTransforms,
} from './transforms.js';
import { DATE_TYPE, TEXT_PATTERN, type ValueType, WHOLE_OBJECT_RULE } from './types.decorators.js';

export { Check, joinFaults } from './check.js';

/** A member of a DTO. */
export interface Member extends MemberRules, TransformedMember {
  readonly refused: string[];
  /** Whether it is an array: whether a decorator has `each: true`, or the rules are of an array. */
  readonly isList: boolean;
  /** The JSON Schema of the value, or of the elements of an array. */
  readonly schema: JsonSchema;
  /** What rules of class-validator do not say about values of their type. */
  readonly exactType: ExactType | undefined;
  /** The type of this project of the value, or of the elements of an array. */
  readonly valueType: ValueType | undefined;
  /** Converts a value of JSON, or an element of an array. */
  readonly read: (json: unknown) => unknown;
  /** The class of the value, or of the elements of an array. */
  readonly nested: CompiledDto | undefined;
  /** The classes that the value may have instead, by the word of their discriminator. */
  readonly subTypes: ReadonlyMap<unknown, CompiledDto>;
}

/** The metadata key of @nestjs/swagger for the documentation of a member. */
const API_PROPERTY = 'swagger/apiModelProperties';

/** The metadata key for the class to which a merge patch applies. */
const PATCHED = Symbol('patched class');
const { MAX_SAFE_INTEGER } = Number;
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
  private readonly declared: Type<object>;
  private readonly shapes = new Map<string, Shape>();
  /** The members that a request sets. */
  private readonly assigned: Member[] = [];
  /** Whether code of the class runs when one of them is set. */
  private readonly isTransformed: boolean;

  private constructor(readonly type: Type<object>) {
    // Registered before its members: a DTO may contain itself.
    CompiledDto.compiled.set(type, this);
    this.patched = Reflect.getMetadata(PATCHED, type) as Type<object> | undefined;
    this.declared = this.patched ?? type;
    for (const [name, rules] of readRules(this.declared)) {
      const member = this.explainWhere(name, () => this.createMember(name, rules));
      this.members.push(member);
      if (member.isComputed || member.isExcluded) continue;
      this.assigned.push(member);
      this.shapes.set(member.jsonName, createShape(member, this.patched !== undefined));
    }
    this.isTransformed = this.assigned.some(
      ({ transforms, hasSetter }) => transforms.length > 0 || hasSetter,
    );
    if (this.members.length === 0) {
      throw new TypeError(
        `${this.declared.name} has no member with a rule: decorate each member, such as @IsString() name`,
      );
    }
    this.documentMembers();
  }

  /** @throws TypeError with the reason why no values can be read as this class */
  static compile(type: Type<object>): CompiledDto {
    const known = CompiledDto.compiled.get(type);
    if (known !== undefined) return known;
    const { size } = CompiledDto.compiled;
    try {
      return new CompiledDto(type);
    } catch (error) {
      // The classes of its members may contain it.
      for (const one of [...CompiledDto.compiled.keys()].slice(size)) {
        CompiledDto.compiled.delete(one);
      }
      throw error;
    }
  }

  /** @throws TypeError with the reason why requests cannot be read as this class */
  static forRequests(type: Type<object>): CompiledDto {
    const dto = CompiledDto.compile(type);
    for (const one of dto.listClasses()) {
      for (const member of one.members) {
        one.explainWhere(member.name, () => one.checkForRequests(member));
      }
      one.checkTransformed();
    }
    return dto;
  }

  /** Lists this class and those of its members at any depth. */
  private listClasses(): ReadonlySet<CompiledDto> {
    const all = new Set<CompiledDto>([this]);
    // A loop over a Set also visits what is added meanwhile.
    for (const { members } of all) {
      for (const { nested, subTypes } of members) {
        if (nested !== undefined) all.add(nested);
        for (const dto of subTypes.values()) all.add(dto);
      }
    }
    return all;
  }

  private checkForRequests(member: Member): void {
    const { refused, conditions, isExcluded, discriminator, nested, subTypes } = member;
    const [reason] = refused;
    if (reason !== undefined) throw new TypeError(reason);
    const isRequired = isExcluded && conditions.length === 0 && this.patched === undefined;
    if (isRequired && this.getInitialValue(member.name) === undefined) {
      throw new TypeError(
        '@Exclude() keeps it out of requests, whose rules need it: write @Exclude({ toPlainOnly: true }), or make it optional',
      );
    }
    const { name: documented } = this.readApiProperty(member.name);
    if (typeof documented === 'string' && documented !== member.jsonName) {
      throw new TypeError(
        `@ApiProperty({ name }) documents a name that is not read: write @Expose({ name: '${documented}' }) too`,
      );
    }
    if (discriminator === undefined) return;
    if (this.patched !== undefined) {
      throw new TypeError('a merge patch cannot tell the class of a part from its discriminator');
    }
    const { property, isKept } = discriminator;
    for (const dto of [...(nested ? [nested] : []), ...subTypes.values()]) {
      const named = dto.members.find(({ name }) => name === property);
      if (!isKept && named?.conditions.length === 0) {
        throw new TypeError(
          `${dto.type.name}.${property} has rules, but @Type() removes it: write keepDiscriminatorProperty: true`,
        );
      }
    }
  }

  /** Reads what its author documents about a member. */
  private readApiProperty(name: string, type = this.declared): Record<string, unknown> {
    const prototype = type.prototype as object;
    const documented: unknown = Reflect.getMetadata(API_PROPERTY, prototype, name);
    return (documented ?? {}) as Record<string, unknown>;
  }

  /** A member without a rule is not read, so its decorators would do nothing. */
  private checkTransformed(): void {
    for (const [name, decorator] of listTransformed(this.declared)) {
      if (this.members.some((member) => member.name === name)) continue;
      const { isComputed } = readTransforms(this.declared, name);
      if (isComputed) continue;
      throw new TypeError(
        `${this.declared.name}.${name}: ${decorator} does nothing in a request, since no rule says what its type is; add one, such as @IsText(), or toPlainOnly: true`,
      );
    }
  }

  private explainWhere<Result>(name: string, act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      const { message } = error as Error;
      const isExplained = /^\w+\.\w+: /.test(message);
      throw isExplained
        ? error
        : new TypeError(`${this.declared.name}.${name}: ${message}`, { cause: error });
    }
  }

  private createMember(name: string, memberRules: MemberRules): Member {
    const transforms = readTransforms(this.declared, name);
    const prototype = this.declared.prototype as object;
    const designType: unknown = Reflect.getMetadata('design:type', prototype, name);
    const isArray = designType === Array;
    const hasArrayRule = memberRules.rules.some(
      ({ name: rule, each }) => !each && /^(?:isArray$|array)/.test(rule),
    );
    // As in class-validator, which checks the elements of an array without `each` too.
    const isListOfObjects = memberRules.isNested && (hasArrayRule || isArray);
    const isList = memberRules.isList || isListOfObjects;
    // A patch lacks the other members: its result is checked instead.
    const rules = memberRules.rules
      .filter((rule) => this.patched === undefined || rule.name !== WHOLE_OBJECT_RULE)
      .sort((a, b) => Number(a.isAsynchronous) - Number(b.isAsynchronous));
    const ofValue = rules.filter(({ each = false }) => each === isList);
    // What concerns only requests prevents no answer of this class.
    const refused = [...memberRules.refused, ...transforms.refused];
    if (hasArrayRule || (isArray && !isList)) {
      const [other] = rules.filter(({ each, schema }) => !each && schema.type !== undefined);
      const decorator = other === undefined ? '@IsString(' : toDecorator(other.name).slice(0, -1);
      if (!isList || other !== undefined) {
        refused.push(
          `an array needs a rule for the type of its elements: write ${decorator}{ each: true })`,
        );
      }
    }
    const isTransformed = transforms.transforms.length > 0;
    if (designType === Set && !isTransformed) {
      refused.push('JSON has no Set: write @Transform(({ value }) => new Set(value)), or an array');
    }
    if (designType === Map && (!isTransformed || memberRules.isNested)) {
      refused.push('JSON has no Map: write an array of objects');
    }
    const { valueType: ownType } = ofValue.find((rule) => rule.valueType !== undefined) ?? {};
    const schema = joinSchemas(ofValue.map((rule) => rule.schema));
    const isDate = ofValue.some((rule) => rule.name === 'isDate');
    const makesDate = transforms.type === (Date as unknown);
    if (isDate !== makesDate && (makesDate || !isTransformed)) {
      refused.push(
        'a Date needs both decorators: write @Type(() => Date) @IsDate(), or @IsInstant() for a text',
      );
    }
    const valueType = makesDate ? DATE_TYPE : ownType;
    if (ownType?.scaled !== undefined) {
      for (const rule of ofValue) rule.compareWith(ownType.scaled);
    }
    const isTyped = schema.type !== undefined || schema.oneOf !== undefined;
    if (!memberRules.isNested && valueType === undefined && !isTyped) {
      const [reason] = refused;
      throw new TypeError(
        reason ??
          'no rule says what its type is; add one that does, such as @IsText(), @IsInt64(), @IsBoolean(), @IsIn(), @IsJson(), or @ValidateNested() with @Type(() => AClass)',
      );
    }
    const [nested, subTypes] = memberRules.isNested
      ? this.compileNested(transforms, isList)
      : [undefined, new Map<unknown, CompiledDto>()];
    return {
      ...memberRules,
      ...transforms,
      name,
      isList,
      rules,
      schema,
      valueType,
      refused,
      exactType: findExactType(valueType, schema),
      read: createReader(valueType, transforms.type),
      nested,
      subTypes,
    };
  }

  /** RFC 7396 section 2: an object in a patch is itself a patch, an array is not. */
  private compileNested(
    { type, discriminator, refused: [reason] }: MemberTransforms,
    isList: boolean,
  ): [CompiledDto, ReadonlyMap<unknown, CompiledDto>] {
    if (type === undefined) {
      throw new TypeError(reason ?? '@ValidateNested() needs @Type(() => AClass)');
    }
    const isPatch = this.patched !== undefined && !isList;
    const compile = (one: Type<object>): CompiledDto =>
      CompiledDto.compile(isPatch ? makePatchClass(one) : one);
    const subTypes = discriminator?.subTypes.map(
      ({ name, value }) => [name, compile(value)] as const,
    );
    return [compile(type), new Map(subTypes)];
  }

  private getInitialValue(name: string): unknown {
    return (this.createInstance() as Record<string, unknown>)[name];
  }

  private createInstance(): object {
    try {
      return new this.type();
    } catch (error) {
      const reason = `${this.declared.name} is made without arguments, and its constructor throws`;
      throw new TypeError(reason, { cause: error });
    }
  }

  /**
   * Adds the rules and the initial values of the class to its OpenAPI schema, so that neither is
   * written twice. The rules win over an `@ApiProperty()`, which adds what they do not say, such as a
   * description. With `@Transform()` its type wins, since that is what clients send.
   */
  private documentMembers(): void {
    const { type, patched, members } = this;
    const initial = this.createInstance() as Record<string, unknown>;
    for (const member of members) {
      const { name, conditions } = member;
      const isRead = !member.isExcluded && !member.isComputed;
      const value = isRead ? initial[name] : undefined;
      const aboutNull = conditions.filter((holds) => isAboutNull(holds, name));
      const isOptional = conditions.some(
        (holds) => !aboutNull.includes(holds) || !applies(holds, name, undefined),
      );
      const required = patched === undefined && !isOptional && value === undefined;
      const takesNull = patched === undefined ? aboutNull.length > 0 : conditions.length > 0;
      const own = this.readApiProperty(name);
      // Later parts win.
      const options: Record<string, unknown> = {};
      // A member that a patch lacks stays as it is.
      if (patched !== undefined) Object.assign(options, own, { default: undefined });
      if (member.jsonName !== name) options.name = member.jsonName;
      options.required = required;
      Object.assign(options, describeInitial(value), describeMember(member, own));
      if (patched !== undefined || takesNull) {
        Object.assign(options, describeNull(member.isList ? {} : member.schema, takesNull));
      }
      if (!isRead) options.readOnly = true;
      const ownType = own.type ?? own.oneOf ?? own.anyOf;
      const isSentAsDocumented = member.transforms.length > 0 && ownType !== undefined;
      if (isSentAsDocumented) Object.assign(options, own, { required });
      if (member.subTypes.size > 0) {
        ApiExtraModels(...Array.from(member.subTypes.values(), (dto) => dto.type))(type);
      }
      ApiProperty(options)(type.prototype as object, name);
      // What an author allows beside the rules is refused.
      const documented = this.readApiProperty(name, type);
      for (const key of ['oneOf', 'anyOf', 'items']) {
        if (options[key] === undefined) Reflect.deleteProperty(documented, key);
      }
    }
  }

  /** Documents a list of a query as the text that its transform takes. */
  documentTexts(): void {
    for (const member of this.members) {
      const documented = this.readApiProperty(member.name);
      if (documented.type !== 'array' || !takesText(member)) continue;
      for (const key of ['items', 'minItems', 'maxItems', 'uniqueItems', 'default']) {
        Reflect.deleteProperty(documented, key);
      }
      Object.assign(documented, { type: 'string', pattern: TEXT_PATTERN });
    }
  }

  getMember(name: string): Shape | undefined {
    // A transform may read members that the class does not name.
    return this.shapes.get(name) ?? (this.isTransformed ? WHOLE : undefined);
  }

  /**
   * Makes an instance of an object with converted members. A value of a wrong type is kept too, for
   * {@link check} to reject it.
   */
  convert(value: unknown): unknown {
    if (!(value instanceof Map)) return toPlain(value);
    const object = new this.type() as Record<string, unknown>;
    if (this.isTransformed) {
      assignTransformed(object, this.assigned, value, this.patched !== undefined);
      return object;
    }
    for (const { name, jsonName } of this.assigned) {
      const member: unknown = value.get(jsonName);
      if (member !== undefined) object[name] = member;
    }
    return object;
  }

  /**
   * Checks an instance that was read.
   *
   * @param check collects the faults
   * @param parent the path to the instance, followed by a dot
   */
  check(object: object, check: Check, parent = ''): void {
    if (this.isTransformed) getFailures(object).forEach((error) => check.fail(error));
    for (const member of this.members) {
      if (check.isFull) return;
      try {
        this.checkMember(member, object, check, parent);
      } catch (error) {
        check.fail(error);
      }
    }
  }

  /** @throws what a condition or a getter throws */
  private checkMember(member: Member, object: object, check: Check, parent: string): void {
    const value = (object as Record<string, unknown>)[member.name];
    const path = parent + member.jsonName;
    if (value === GIVEN_TWICE) {
      check.add(`${path} is given more than once`);
    } else if (this.patched !== undefined && (value === undefined || value === null)) {
      if (value === null && member.conditions.length === 0) {
        check.add(`${path} must not be null: it cannot be removed`);
      }
    } else if (member.conditions.every((holds) => holds(object, value))) {
      checkValue(member, object, value, check, path);
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

type Condition = MemberRules['conditions'][number];

/** Whether the rules apply to a value, whatever else its object has. */
function applies(holds: Condition, name: string, value: unknown): boolean {
  try {
    return holds({ [name]: value }, value);
  } catch {
    return false;
  }
}

/** Whether a condition lets null pass, such as that of `@IsOptional()`. */
function isAboutNull(holds: Condition, name: string): boolean {
  return applies(holds, name, true) && !applies(holds, name, null);
}

/** Describes the initial value of a member, unless a double would round it. */
function describeInitial(value: unknown): JsonSchema {
  if (value === undefined) return {};
  const text = writeJson(value);
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '');
  const isExact = !/\d(?:\.?\d){15}/.test(withoutTexts);
  return isExact ? { default: JSON.parse(text) as unknown } : {};
}

/** An author's own description stays in front. */
function joinDescriptions({ description }: JsonSchema, own: JsonSchema): JsonSchema {
  if (description === undefined || own.description === undefined) return {};
  const text = own.description as string;
  const addition = `(${description as string})`;
  return { description: text.endsWith(addition) ? text : `${text} ${addition}` };
}

/** @param isAccepted whether null is a value, or removes the member in a patch */
function describeNull({ oneOf }: JsonSchema, isAccepted: boolean): JsonSchema {
  if (oneOf === undefined) return isAccepted ? { nullable: true } : {};
  // Any JSON, which may be null, or words of several types.
  const types = (oneOf as { readonly type: string }[]).filter(({ type }) => type !== 'null');
  return { oneOf: isAccepted ? [...types, { type: 'null' }] : types };
}

const CHARACTER = String.raw`\\[dsw\-./+*?()[\]{}$^]|[^\\.|^$()\0]`;
/** A pattern for the whole text that names each of its characters, so that U+0000 is none of them. */
const NAMED_CHARACTERS = new RegExp(
  String.raw`^\^(?:${CHARACTER}|\$\|\^|\((?:${CHARACTER}|\|)*\))*\$$`,
);

function isOfNamed({ pattern, allOf = [] }: JsonSchema): boolean {
  const all = [pattern, ...(allOf as JsonSchema[]).map((one) => one.pattern)];
  return all.some((one) => typeof one === 'string' && NAMED_CHARACTERS.test(one));
}

/** What the rules of class-validator leave out: see {@link EXACT_TYPES}. */
function describeExactType(schema: JsonSchema, own: JsonSchema): JsonSchema {
  if (schema.enum !== undefined || schema.format !== undefined) return schema;
  const { pattern, minimum = -MAX_SAFE_INTEGER, maximum = MAX_SAFE_INTEGER } = own;
  if (schema.type === 'string') {
    const described = pattern === undefined ? schema : joinSchemas([{ pattern }, schema]);
    return isOfNamed(described) ? described : joinSchemas([described, { pattern: TEXT_PATTERN }]);
  }
  return schema.type === 'integer' ? { minimum, maximum, ...schema } : schema;
}

/** Describes the values of a member, and the number of them in a list. */
function describeMember(member: Member, own: JsonSchema): object {
  const ofValue = { ...describeType(member, own), ...describeSubTypes(member) };
  if (!member.isList) return ofValue;
  const ofList = member.rules.filter(({ each }) => !each).map((rule) => rule.schema);
  return { ...ofValue, ...joinSchemas(ofList) };
}

function describeType({ schema, nested, isList }: Member, own: JsonSchema): object {
  if (nested !== undefined) return { type: () => nested.type, isArray: isList };
  const exact = describeExactType(schema, own);
  if (isList) return { type: 'array', items: exact };
  // @nestjs/swagger leaves out the type beside oneOf and allOf, but looks for one elsewhere if there
  // is none.
  if (schema.oneOf !== undefined) return { ...schema, type: 'object' };
  const described = { ...exact, ...joinDescriptions(schema, own) };
  if (exact.allOf === undefined) return described;
  return { ...described, allOf: [...(exact.allOf as JsonSchema[]), { type: exact.type }] };
}

function describeSubTypes({ subTypes, discriminator, isList }: Member): object {
  if (discriminator === undefined) return {};
  const paths = Array.from(subTypes, ([name, { type }]) => [name, getSchemaPath(type)] as const);
  const mapping = Object.fromEntries(paths) as Record<string, string>;
  const schema = {
    oneOf: paths.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: discriminator.property, mapping },
  };
  return isList ? { type: 'array', items: schema, isArray: false } : { ...schema, type: 'object' };
}

function findExactType(
  valueType: ValueType | undefined,
  schema: JsonSchema,
): ExactType | undefined {
  if (valueType === DATE_TYPE) return EXACT_DATE;
  const isExact = valueType !== undefined || schema.enum !== undefined;
  return isExact ? undefined : EXACT_TYPES.get(schema.type);
}

/** Returns how a value of JSON is converted. Of a value of a wrong type, it keeps the JSON. */
function createReader(valueType: ValueType | undefined, target: unknown): Member['read'] {
  if (valueType !== undefined) return (json) => valueType.read(json) ?? json;
  if (target === String) return readAsText;
  if (target !== Number) return readNumber;
  // `@Type(() => Number)` also takes a number in quotes.
  return (json) =>
    readNumber(typeof json === 'string' && PLAIN_NUMBER.test(json) ? new JsonNumber(json) : json);
}

/** Converts for `@Type(() => String)`, as JSON writes a number. */
function readAsText(json: unknown): unknown {
  if (json instanceof JsonNumber) return json.source;
  return typeof json === 'boolean' ? String(json) : json;
}

/** Returns how a member is read. Of a value of a wrong type, only a transform gets the parts. */
function createShape(member: Member, isPatch: boolean): Shape {
  const { nested, valueType, read, isList, discriminator, transforms } = member;
  const isTransformed = transforms.length > 0;
  const parts = isTransformed ? WHOLE : SCALAR;
  const simplify = isTransformed ? toValue : toPlain;
  const convertValue = (value: unknown): unknown => simplify(read(value));
  // In a patch null removes a member, even if it is a value of the member's type.
  const convertChange = (value: unknown): unknown => (value === null ? null : convertValue(value));
  let shape: Shape = nested ?? {
    ...(valueType?.shape ?? parts),
    convert: isPatch && !isList ? convertChange : convertValue,
  };
  if (discriminator !== undefined) {
    shape = { ...WHOLE, convert: (source) => readDiscriminated(member, discriminator, source) };
  }
  if (!isList) return shape;
  const convert = (value: unknown): unknown => (Array.isArray(value) ? value : simplify(value));
  return { ...parts, elements: shape, convert };
}

/** Finds the class of a value by the word in one of its members. */
function readDiscriminated(
  { nested, subTypes }: Member,
  { property, isKept }: Discriminator,
  source: unknown,
): unknown {
  const sent = new Map(source instanceof Map ? (source as ReadonlyMap<string, unknown>) : []);
  const dto = subTypes.get(sent.get(property)) ?? nested;
  if (dto === undefined || !(source instanceof Map)) return toPlain(source);
  if (!isKept) sent.delete(property);
  return reshape(sent, dto);
}

/** Only the type of an object or an array matters. */
function toPlain(json: unknown): unknown {
  if (json instanceof JsonNumber) return Number(json.source);
  if (json instanceof Map) return {};
  return Array.isArray(json) ? [] : json;
}

function checkValue(
  member: Member,
  object: object,
  value: unknown,
  check: Check,
  path: string,
): void {
  const { rules, isList, nested, exactType } = member;
  if (value === undefined) {
    addMissing(rules, object, path, check);
    return;
  }
  const elements = isList ? listElements(value) : undefined;
  if (isList && elements === undefined) {
    check.add(`${path} must be an array`);
    return;
  }
  if (exactType !== undefined) {
    const isExact = elements?.every(exactType.isExact) ?? exactType.isExact(value);
    if (!isExact) {
      check.add(`${path} ${exactType.reason}`);
      return;
    }
  }
  runRules(rules, object, value, path, check);
  if (nested === undefined) return;
  if (elements === undefined) checkNested(member, nested, value, check, path);
  else {
    for (const [index, element] of elements.entries()) {
      if (check.isFull) return;
      checkNested(member, nested, element, check, `${path}.${index}`);
    }
  }
}

function checkNested(
  { subTypes, discriminator }: Member,
  base: CompiledDto,
  value: unknown,
  check: Check,
  path: string,
): void {
  if (!(value instanceof base.type)) {
    check.add(`${path} must be an object`);
    return;
  }
  if (discriminator === undefined) {
    base.check(value, check, `${path}.`);
    return;
  }
  const dto = [...subTypes.values()].find(({ type }) => value.constructor === type);
  if (dto !== undefined) dto.check(value, check, `${path}.`);
  else {
    const words = [...subTypes.keys()].join(', ');
    check.add(`${path}.${discriminator.property} must be one of the following values: ${words}`);
  }
}
