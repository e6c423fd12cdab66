import type { Type } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { GIVEN_TWICE, JsonNumber, SCALAR, type Shape, WHOLE } from 'durable-store/json';
import type { Check } from './check.js';
import { documentMember, documentText, readApiProperty } from './document-member.js';
import { type DeclaredMember, declareMember } from './member.js';
import { addMissing, listElements, type MemberRules, readRules, runRules } from './rules.js';
import { assignTransformed, reportFailure, reshape, toValue } from './transformed-dto.js';
import { type Discriminator, listTransformed, readTransforms } from './transforms.js';

export { Check, joinFaults } from './check.js';

/** A member of a DTO. */
export interface Member extends DeclaredMember {
  readonly name: string;
  /** The class of the value, or of the elements of an array. */
  readonly nested: CompiledDto | undefined;
  /** The classes that the value may have instead, by the word of their discriminator. */
  readonly subTypes: ReadonlyMap<unknown, CompiledDto>;
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

/** The class to which a merge patch class applies; undefined for other classes. */
function getPatched(type: Type<object>): Type<object> | undefined {
  return Reflect.getMetadata(PATCHED, type) as Type<object> | undefined;
}

/** The class of a body, a query, a path or an answer: its members and their rules. */
export class CompiledDto implements Shape {
  private static readonly compiled = new Map<Type<object>, CompiledDto>();
  readonly members: Member[] = [];
  readonly elements = undefined;
  /** Whether it is a merge patch, whose members are all optional. */
  readonly isPatch: boolean;
  /** The class that declares the members: for a merge patch, that to which it applies. */
  private readonly declared: Type<object>;
  private readonly shapes = new Map<string, Shape>();
  /** The members that a request sets. */
  private readonly assigned: Member[] = [];
  /** Whether code of the class runs when one of them is set. */
  private readonly isTransformed: boolean;

  private constructor(readonly type: Type<object>) {
    // Registered before its members: a DTO may contain itself.
    CompiledDto.compiled.set(type, this);
    const patched = getPatched(type);
    this.isPatch = patched !== undefined;
    this.declared = patched ?? type;
    for (const [name, rules] of readRules(this.declared)) {
      const member = this.explainWhere(name, () => this.createMember(name, rules));
      this.members.push(member);
      if (member.isComputed || member.isExcluded) continue;
      this.assigned.push(member);
      this.shapes.set(member.jsonName, createShape(member, this.isPatch));
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
      for (const dto of members.flatMap(listMemberClasses)) all.add(dto);
    }
    return all;
  }

  /** @throws TypeError with the reason why requests cannot have a member */
  private checkForRequests(member: Member): void {
    const { name, jsonName, refused, conditions, isExcluded, discriminator } = member;
    if (refused !== undefined) throw new TypeError(refused);
    const isOptional = this.isPatch || conditions.length > 0;
    if (isExcluded && !isOptional && this.createInstance()[name] === undefined) {
      throw new TypeError(
        '@Exclude() keeps it out of requests, whose rules need it: write @Exclude({ toPlainOnly: true }), or make it optional',
      );
    }
    const { name: documented = jsonName } = readApiProperty(this.declared, name);
    if (documented !== jsonName) {
      throw new TypeError(
        `@ApiProperty({ name }) documents a name that is not read: write @Expose({ name: '${String(documented)}' }) too`,
      );
    }
    if (discriminator !== undefined) this.checkDiscriminator(discriminator, member);
  }

  private checkDiscriminator({ property, isKept }: Discriminator, member: Member): void {
    if (this.isPatch) {
      throw new TypeError('a merge patch cannot tell the class of a part from its discriminator');
    }
    if (isKept) return;
    for (const { type, members } of listMemberClasses(member)) {
      const named = members.find(({ name }) => name === property);
      if (named?.conditions.length === 0) {
        throw new TypeError(
          `${type.name}.${property} has rules, but @Type() removes it: write keepDiscriminatorProperty: true`,
        );
      }
    }
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

  private createMember(name: string, rules: MemberRules): Member {
    const member = declareMember(this.declared, name, rules, this.isPatch);
    const { type, discriminator, isList } = member;
    if (!member.isNested) return { ...member, name, nested: undefined, subTypes: new Map() };
    if (type === undefined) {
      throw new TypeError(member.refused ?? '@ValidateNested() needs @Type(() => AClass)');
    }
    // RFC 7396 section 2: an object in a patch is itself a patch, an array is not.
    const compile = (one: Type<object>): CompiledDto =>
      CompiledDto.compile(this.isPatch && !isList ? makePatchClass(one) : one);
    const nested = compile(type);
    const subTypes = discriminator?.subTypes.map(
      (subType) => [subType.name, compile(subType.value)] as const,
    );
    return { ...member, name, nested, subTypes: new Map(subTypes) };
  }

  private createInstance(): Record<string, unknown> {
    try {
      return new this.type() as Record<string, unknown>;
    } catch (error) {
      const reason = `${this.declared.name} is made without arguments, and its constructor throws`;
      throw new TypeError(reason, { cause: error });
    }
  }

  private documentMembers(): void {
    const { type, declared, isPatch } = this;
    const instance = this.createInstance();
    for (const member of this.members) {
      const own = readApiProperty(declared, member.name);
      documentMember(type, member, own, instance, isPatch);
      for (const subType of member.subTypes.values()) ApiExtraModels(subType.type)(type);
    }
  }

  /** Documents the lists of a query or a body as the texts that their transforms take. */
  documentTexts(): void {
    for (const member of this.members) documentText(this.type, member);
  }

  /**
   * Documents the lists of bodies as the texts that their transforms take. An answer has the list
   * itself, so a class that is also one of the answers stays as it is.
   */
  static documentBodies(bodies: readonly CompiledDto[], answers: readonly Type<object>[]): void {
    const answered = new Set(
      answers.filter(hasRules).flatMap((type) => [...CompiledDto.compile(type).listClasses()]),
    );
    for (const dto of bodies.flatMap((body) => [...body.listClasses()])) {
      if (!answered.has(dto)) dto.documentTexts();
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
    if (!(value instanceof Map)) return toValueWithoutParts(value);
    const object = new this.type() as Record<string, unknown>;
    if (this.isTransformed) {
      assignTransformed(object, this.assigned, value, this.isPatch);
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
    if (this.isTransformed) reportFailure(object, check);
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
    } else if (this.isPatch && (value === undefined || value === null)) {
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
    if (hasRules(type)) {
      const { members } = CompiledDto.compile(type);
      const memberTypes = members.flatMap(listMemberClasses).map((dto) => dto.type);
      compileDocumented(memberTypes, known);
    }
  }
}

/** Whether a class has members with rules, as the class of an answer need not. */
function hasRules(type: Type<object>): boolean {
  return readRules(getPatched(type) ?? type).size > 0;
}

function getDocumentedName(type: Type<object>): string {
  const schemas = Reflect.getOwnMetadata('swagger/apiSchema', type) as
    { readonly name?: string }[] | undefined;
  return schemas?.at(-1)?.name ?? type.name;
}

/** The classes that a value of a member may have. */
function listMemberClasses({ nested, subTypes }: Member): CompiledDto[] {
  return nested === undefined ? [] : [nested, ...subTypes.values()];
}

/** Returns how a member is read. */
function createShape(member: Member, isPatch: boolean): Shape {
  const { nested, valueType, read, isList, discriminator, transforms } = member;
  const isTransformed = transforms.length > 0;
  // A value of a wrong type is refused later, so its members are skipped while it is read, unless a
  // transform may use them.
  const parts = isTransformed ? WHOLE : SCALAR;
  const simplify = isTransformed ? toValue : toValueWithoutParts;
  let shape: Shape;
  if (discriminator !== undefined) {
    shape = { ...WHOLE, convert: (source) => readDiscriminated(member, discriminator, source) };
  } else if (nested !== undefined) {
    shape = nested;
  } else {
    const convertValue = (value: unknown): unknown => simplify(read(value));
    // In a patch null removes a member, even if it is a value of the member's type.
    const convertChange = (value: unknown): unknown =>
      value === null ? null : convertValue(value);
    const convert = isPatch && !isList ? convertChange : convertValue;
    shape = { ...(valueType?.shape ?? parts), convert };
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
  if (dto === undefined || !(source instanceof Map)) return toValueWithoutParts(source);
  if (!isKept) sent.delete(property);
  return reshape(sent, dto);
}

/**
 * Converts JSON to a value of JavaScript. Reduces a value of a wrong type to what the rules need to
 * refuse it: an object or an array becomes an empty one.
 */
function toValueWithoutParts(json: unknown): unknown {
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
