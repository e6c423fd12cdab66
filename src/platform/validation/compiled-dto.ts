import type { Type } from '@nestjs/common';
import {
  GIVEN_TWICE,
  type MemberShape,
  type ObjectShape,
  type ValueShape,
} from '../json/json-reader.js';
import { documentRules } from './document-rules.js';
import type { Faults } from './validation-errors.js';
import { IS_INT64 } from './is-int64.decorator.js';
import { isScalar, type Kind, kindOf, typeOfMember } from './member-type.js';
import { nestedTypeOf } from './nested-type.js';
import { type PropertyRules, rulesOf } from './rules.js';

export interface Member {
  readonly name: string;
  /** The class that it is declared as, `Object` where it cannot be known. */
  readonly type: unknown;
  readonly kind: Kind;
  readonly rules: PropertyRules;
  /** The class of the value, or of the elements of an array. */
  readonly nested: RequestClass | undefined;
}

/** A class that a body, a query or a path is read as: its members, and the rules that they keep. */
export class RequestClass {
  private static readonly known = new Map<Type<object>, RequestClass>();
  readonly members: Member[] = [];
  /** How an instance is read from JSON. */
  readonly shape: ObjectShape & { readonly members: MemberShape[] };

  private constructor(readonly type: Type<object>) {
    this.shape = { type, members: [] };
  }

  /** @throws TypeError when nothing can be read as this class; says why */
  static of(type: Type<object>): RequestClass {
    const known = RequestClass.known.get(type);
    if (known !== undefined) return known;
    const made = new RequestClass(type);
    // Before its members are: one may be of this very class.
    RequestClass.known.set(type, made);
    try {
      made.addMembers();
    } catch (error) {
      RequestClass.known.delete(type);
      throw error;
    }
    return made;
  }

  private addMembers(): void {
    const rules = rulesOf(this.type);
    if (rules.size === 0) throw new TypeError(`${this.type.name} has no member with a rule`);
    for (const [name, itsRules] of rules) {
      try {
        this.addMember(name, itsRules);
      } catch (error) {
        const { message } = error as Error;
        throw new TypeError(`${this.type.name}.${name}: ${message}`, { cause: error });
      }
    }
    documentRules(this.type, this.members);
    // Also an answer may be documented as the class that this one extends.
    const base = Object.getPrototypeOf(this.type) as Type<object>;
    if (rulesOf(base).size > 0) RequestClass.of(base);
  }

  private addMember(name: string, rules: PropertyRules): void {
    const type = typeOfMember(this.type, name, rules);
    const nestedType = nestedTypeOf(this.type, name);
    if (rules.isNested !== (nestedType !== undefined)) {
      throw new TypeError('@ValidateNested() and @Type(() => AClass) need each other');
    }
    checkInt64(type, rules);
    const nested = nestedType && RequestClass.of(nestedType);
    this.members.push({ name, type, kind: kindOf(type, nestedType), rules, nested });
    this.shape.members.push({ name, shape: shapeOf(type, rules, nested) });
  }

  /** Whether an instance that was read keeps all rules. */
  accepts(object: object): boolean {
    return this.members.every((member) => {
      const value = valueOf(object, member);
      if (value === GIVEN_TWICE) return false;
      const { rules, kind, nested } = member;
      if (!rules.apply(object, value)) return true;
      if (!kind.has(value) || !rules.areKept(object, value)) return false;
      return nested === undefined || objectsIn(value).every((one) => nested.has(one));
    });
  }

  private has(value: unknown): boolean {
    return value instanceof this.type && this.accepts(value);
  }

  /**
   * Finds what is wrong with an instance that was read.
   *
   * @param parent the path to the instance, with a dot behind it
   */
  findFaults(object: object, faults: Faults, parent = ''): void {
    for (const member of this.members) {
      if (faults.isFull) return;
      const value = valueOf(object, member);
      const path = parent + member.name;
      if (value === GIVEN_TWICE) faults.add(`${path} is given more than once`);
      else if (member.rules.apply(object, value)) findFaultsOf(member, object, path, faults);
    }
  }
}

function valueOf(object: object, { name }: { readonly name: string }): unknown {
  return (object as Record<string, unknown>)[name];
}

/** The one nested object, or each of an array of them. */
function objectsIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function findFaultsOf(member: Member, object: object, path: string, faults: Faults): void {
  const { kind, rules, type, nested } = member;
  const value = valueOf(object, member);
  const isOfKind = kind.has(value);
  if (value === undefined) {
    faults.add(`${path} is missing`);
  } else if (!isOfKind && !isScalar(type)) {
    faults.add(`${path} must be ${kind.text}`);
  } else {
    const texts = rules.messages(object, value, path);
    if (texts.length === 0 && !isOfKind) texts.push(`${path} must be ${kind.text}`);
    texts.forEach((text) => faults.add(text));
    if (nested !== undefined) findNestedFaults(nested, value, path, faults);
  }
}

function findNestedFaults(
  nested: RequestClass,
  value: unknown,
  path: string,
  faults: Faults,
): void {
  for (const [index, one] of objectsIn(value).entries()) {
    if (faults.isFull) return;
    const itsPath = Array.isArray(value) ? `${path}.${index}` : path;
    if (one instanceof nested.type) nested.findFaults(one, faults, `${itsPath}.`);
    else faults.add(`${itsPath} must be an object`);
  }
}

/** What is read as an int64 is a bigint, and nothing else is. */
function checkInt64(type: unknown, { rules }: PropertyRules): void {
  const rule = rules.find(({ name }) => name === IS_INT64);
  const needed = rule?.each === true ? Array : BigInt;
  if (rule === undefined ? type === BigInt : type !== needed) {
    throw new TypeError('a bigint and @IsInt64() need each other');
  }
}

function shapeOf(
  type: unknown,
  { rules }: PropertyRules,
  nested: RequestClass | undefined,
): ValueShape {
  if (nested !== undefined) return type === Array ? { items: nested.shape } : nested.shape;
  if (type === BigInt) return 'int64';
  if (rules.some(({ name }) => name === IS_INT64)) return { items: 'int64' };
  return isScalar(type) ? 'scalar' : 'json';
}
