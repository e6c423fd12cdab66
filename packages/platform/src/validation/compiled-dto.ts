import type { Type } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { GIVEN_TWICE, type Shape } from 'durable-store/json';
import {
  documentAsText,
  documentMember,
  listDocumented,
  readApiProperty,
} from './document-member.js';
import {
  acceptsMember,
  explainMember,
  isConverted,
  listMemberClasses,
  type Member,
} from './dto-member.js';
import { readMember } from './member.js';
import { isPatchClass } from './patch-class.js';
import { listElements, type MemberRules, readRules } from './rules.js';
import { countValues, MAX_VALUES, MaxValues } from './max-values.js';
import { createShape, PLAIN, toValueWithoutParts } from './shapes.js';
import { hasFailed, isTooLarge, transformObject } from './transform-object.js';
import { listTransformed, readTransforms } from './transforms.js';
import { validateObject } from './validate-object.js';

/** The class of a body, a query, a path or an answer: its members and their rules. */
export class CompiledDto implements Shape {
  private static readonly compiled = new Map<Type<object>, CompiledDto>();
  readonly members: Member[] = [];
  readonly elements = undefined;
  /** Whether it is a merge patch, whose members are all optional. */
  readonly isPatch: boolean;
  private readonly shapes = new Map<string, Shape>();
  private readonly plainShapes = new Map<string, Shape>();
  /** Reads an object for class-transformer: with all members, those of the class converted. */
  readonly plain: Shape = {
    ...PLAIN,
    getMember: (name) => this.plainShapes.get(name) ?? PLAIN,
  };
  /** The members that a request sets, by their names in JSON. */
  readonly assigned = new Map<string, Member>();
  private readonly maxValues: number;
  private isTransformerNeeded: boolean | undefined;

  private constructor(readonly type: Type<object>) {
    // Registered before its members: a DTO may contain itself.
    CompiledDto.compiled.set(type, this);
    this.isPatch = isPatchClass(type);
    const maxValues = Reflect.getMetadata(MaxValues.KEY, type) as number | undefined;
    this.maxValues = maxValues ?? MAX_VALUES;
    for (const [name, rules] of readRules(type)) {
      const member = this.explainWhere(name, () => this.createMember(name, rules));
      this.members.push(member);
      if (member.isComputed || member.isExcluded) continue;
      this.assigned.set(member.jsonName, member);
      this.shapes.set(member.jsonName, createShape(member, this.isPatch, false));
      this.plainShapes.set(member.jsonName, createShape(member, this.isPatch, true));
    }
    if (this.members.length === 0) {
      throw new TypeError(
        `${this.type.name} has no member with a rule: decorate each member, such as @IsString() name`,
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
      // This call has compiled the classes of the members too, which may contain this one.
      for (const one of [...CompiledDto.compiled.keys()].slice(size)) {
        CompiledDto.compiled.delete(one);
      }
      throw error;
    }
  }

  /** @throws TypeError with the reason why requests cannot be read as this class */
  static forRequests(type: Type<object>): CompiledDto {
    const dto = CompiledDto.compile(type);
    const classes = [...dto.listClasses()];
    const members = classes.flatMap((one) => one.members);
    const discriminators = new Set(members.map(({ discriminator }) => discriminator?.property));
    for (const one of classes) {
      for (const member of one.members) {
        one.explainWhere(member.name, () => one.checkForRequests(member));
      }
      one.checkUnread(discriminators);
    }
    return dto;
  }

  /** Lists this class and those of its members at any depth. */
  listClasses(): ReadonlySet<CompiledDto> {
    const all = new Set<CompiledDto>([this]);
    // A loop over a Set also visits what is added meanwhile.
    for (const { members } of all) {
      for (const dto of members.flatMap(listMemberClasses)) all.add(dto);
    }
    return all;
  }

  /** @throws TypeError with the reason why requests cannot have a member */
  private checkForRequests({ name, jsonName, isNested, designType }: Member): void {
    if (isNested && designType === Map) {
      throw new TypeError('a Map of objects cannot be read: write an array of objects');
    }
    const { name: documented = jsonName } = readApiProperty(this.type, name);
    if (documented === jsonName) return;
    throw new TypeError(
      `@ApiProperty({ name }) documents a name that is not read: write @Expose({ name: '${String(documented)}' }) too`,
    );
  }

  /**
   * Checks that each decorated member is read, as one without a rule is not.
   *
   * @param discriminators the members that choose a class, which need no rule
   */
  private checkUnread(discriminators: ReadonlySet<string | undefined>): void {
    const { type } = this;
    for (const [name, decorator] of [...listDocumented(type), ...listTransformed(type)]) {
      const isRead = this.members.some((member) => member.name === name);
      if (isRead || discriminators.has(name)) continue;
      if (readTransforms(type, name).isComputed) continue;
      throw new TypeError(
        `${type.name}.${name}: ${decorator} does nothing in a request, since no rule says what its type is; add one, such as @IsText(), or say that it is only in answers: @Expose({ toPlainOnly: true }), @ApiProperty({ readOnly: true })`,
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
        : new TypeError(`${this.type.name}.${name}: ${message}`, { cause: error });
    }
  }

  private createMember(name: string, rules: MemberRules): Member {
    const member = readMember(this.type, name, rules, this.isPatch);
    const { type, discriminator } = member;
    if (!member.isNested) return { ...member, name, nested: undefined, subTypes: new Map() };
    if (type === undefined) throw new TypeError('@ValidateNested() needs @Type(() => AClass)');
    const nested = CompiledDto.compile(type);
    const subTypes = discriminator?.subTypes.map(
      (subType) => [subType.name, CompiledDto.compile(subType.value)] as const,
    );
    return { ...member, name, nested, subTypes: new Map(subTypes) };
  }

  private createInstance(): Record<string, unknown> {
    try {
      return new this.type() as Record<string, unknown>;
    } catch (error) {
      const reason = `${this.type.name} is made without arguments, and its constructor throws`;
      throw new TypeError(reason, { cause: error });
    }
  }

  private documentMembers(): void {
    const { type, isPatch } = this;
    const instance = this.createInstance();
    for (const member of this.members) {
      const own = readApiProperty(type, member.name);
      documentMember(type, member, own, instance, isPatch);
      for (const subType of member.subTypes.values()) ApiExtraModels(subType.type)(type);
    }
  }

  /** Documents the lists of a query or a body as the texts that their transforms take. */
  documentTexts(): void {
    for (const member of this.members) {
      if (this.takesText(member)) documentAsText(this.type, member.name);
    }
  }

  /** Whether the transform of a list takes a text such as "a,b", and no array. */
  private takesText({ name, jsonName, isTransformed }: Member): boolean {
    if (!isTransformed) return false;
    const makesList = (value: unknown): boolean => {
      const object = this.createInstance();
      this.assign(object, new Map([[jsonName, value]]));
      return !hasFailed(object) && listElements(object[name]) !== undefined;
    };
    return makesList('a') && !makesList(['a']);
  }

  /** Whether class-transformer makes the object, or a part of it. */
  private get usesTransformer(): boolean {
    this.isTransformerNeeded ??= [...this.listClasses()].some(({ assigned }) =>
      [...assigned.values()].some(isConverted),
    );
    return this.isTransformerNeeded;
  }

  getMember(name: string): Shape | undefined {
    // A transform may read members that the class does not name.
    return this.shapes.get(name) ?? (this.usesTransformer ? PLAIN : undefined);
  }

  /**
   * Makes an instance of an object with converted members. A value of a wrong type is kept too, for
   * {@link check} to reject it.
   */
  convert(value: unknown): unknown {
    if (!(value instanceof Map)) return toValueWithoutParts(value);
    const object = new this.type();
    this.assign(object, value as ReadonlyMap<string, unknown>);
    return object;
  }

  /** Reads an object that is a part of another one. class-transformer makes instances itself. */
  get part(): Shape {
    return this.usesTransformer ? this.plain : this;
  }

  /** Sets the members of an instance to converted values, by their names in JSON. */
  assign(object: object, values: ReadonlyMap<string, unknown>): void {
    if (this.usesTransformer) {
      transformObject(object, Object.fromEntries(values), this.maxValues, listNames);
      return;
    }
    for (const [jsonName, { name }] of this.assigned) {
      const value = values.get(jsonName);
      if (value !== undefined) (object as Record<string, unknown>)[name] = value;
    }
  }

  /**
   * Checks an instance that was read. Returns a promise if there are asynchronous rules. A valid instance
   * is accepted without class-validator, which only decides about the others.
   *
   * @param known faults of the request that were found before
   * @returns all faults
   * @throws what the code of a class has thrown for a request without faults
   */
  check(
    object: object,
    known: readonly string[] = [],
  ): readonly string[] | Promise<readonly string[]> {
    return this.accepts(object) ? known : this.validate(object, known, false);
  }

  /** Checks an instance as {@link check} does, by the rules that are not asynchronous. */
  checkSynchronously(object: object): readonly string[] {
    if (this.accepts(object)) return [];
    return this.validate(object, [], true) as readonly string[];
  }

  private validate(
    object: object,
    known: readonly string[],
    isSynchronous: boolean,
  ): readonly string[] | Promise<readonly string[]> {
    const excess = isTooLarge(object) ? this.excess : this.explainSize(object);
    if (excess !== undefined) return [...known, excess];
    return validateObject(object, { explain, listGetters }, known, isSynchronous);
  }

  /**
   * Checks an object that was read with {@link plain}, as {@link check} checks an instance. It is for
   * an object that a pipe failed to check.
   */
  checkPlain(plain: object): readonly string[] | Promise<readonly string[]> {
    const object = new this.type();
    transformObject(object, plain, this.maxValues, listNames);
    return this.check(object);
  }

  /** Explains why an object has too many values for the libraries; undefined if it has not. */
  explainSize(object: object): string | undefined {
    const { maxValues } = this;
    return countValues(object, maxValues) > maxValues ? this.excess : undefined;
  }

  private get excess(): string {
    return `it has more than ${this.maxValues} values: too many to be transformed or checked`;
  }

  /** Whether an instance is valid. class-validator may also accept what this does not. */
  private accepts(object: object): boolean {
    try {
      return !hasFailed(object) && this.members.every((member) => acceptsMember(member, object));
    } catch {
      return false;
    }
  }

  /** Whether a value is a valid instance of this class, and of none that extends it. */
  acceptsInstance(value: unknown): boolean {
    return value instanceof this.type && value.constructor === this.type && this.accepts(value);
  }

  /** Finds what was compiled of a class; undefined if it was not. */
  static find(type: unknown): CompiledDto | undefined {
    return CompiledDto.compiled.get(type as Type<object>);
  }
}

/** The names that the members of a class have in requests; undefined for other classes. */
function listNames(type: unknown): ReadonlyMap<string, unknown> | undefined {
  return CompiledDto.find(type)?.assigned;
}

/** Explains why no rule can judge a value; undefined if they can. */
function explain(object: object, name: string, value: unknown): string | undefined {
  // class-validator takes an array for an object without members.
  if (Array.isArray(object)) return Array.isArray(value) ? 'must be an object' : undefined;
  const dto = CompiledDto.find(object.constructor);
  const member = dto?.members.find((one) => one.name === name);
  if (member === undefined) return undefined;
  if (value === GIVEN_TWICE) return 'is given more than once';
  const applies = member.conditions.every((holds) => holds(object, value));
  return applies ? explainMember(member, value) : undefined;
}

function listGetters(object: object): readonly string[] {
  const { members = [] } = CompiledDto.find(object.constructor) ?? {};
  return members.filter(({ isComputed }) => isComputed).map(({ name }) => name);
}
