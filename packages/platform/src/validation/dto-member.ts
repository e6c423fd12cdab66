import { GIVEN_TWICE } from 'durable-store/json';
import type { CompiledDto } from './compiled-dto.js';
import type { DeclaredMember } from './member.js';
import { listElements } from './rules.js';

/** A member of a DTO. */
export interface Member extends DeclaredMember {
  readonly name: string;
  /** The class of the value, or of the elements of an array. */
  readonly nested: CompiledDto | undefined;
  /** The classes that the value may have instead, by the word of their discriminator. */
  readonly subTypes: ReadonlyMap<unknown, CompiledDto>;
}

/** @throws what a condition or a getter throws */
export function acceptsMember(member: Member, object: object): boolean {
  const { name, conditions, rules, nested, isList } = member;
  const value = (object as Record<string, unknown>)[name];
  if (value === GIVEN_TWICE) return false;
  if (!conditions.every((holds) => holds(object, value))) return true;
  if (explainMember(member, value) !== undefined) return false;
  if (!rules.every((rule) => rule.accepts(object, value))) return false;
  if (nested === undefined) return true;
  const elements = isList ? listElements(value) : [value];
  const classes = listMemberClasses(member);
  return elements?.every((one) => classes.some((dto) => dto.acceptsInstance(one))) ?? false;
}

/** Explains why no rule can judge the value of a member; undefined if they can. */
export function explainMember(member: Member, value: unknown): string | undefined {
  const { rules, isList, nested, exactType } = member;
  if (value === undefined)
    return rules.some(({ hasOwnText }) => hasOwnText) ? undefined : 'is missing';
  const elements = isList ? listElements(value) : [value];
  if (elements === undefined) return 'must be an array';
  if (nested !== undefined) {
    if (!isList && listElements(value) !== undefined) return 'must be an object';
    return elements.every((part) => isOfKnownClass(member, part)) ? undefined : explainWord(member);
  }
  return exactType === undefined || elements.every(exactType.isExact)
    ? undefined
    : exactType.reason;
}

/** Whether a part has a class that the discriminator names, if there is one. */
function isOfKnownClass({ subTypes, nested }: Member, part: unknown): boolean {
  const isUnknown = subTypes.size > 0 && nested !== undefined && part instanceof nested.type;
  return !isUnknown || [...subTypes.values()].some(({ type }) => part.constructor === type);
}

function explainWord({ subTypes, discriminator }: Member): string {
  const words = [...subTypes.keys()].join(', ');
  return `must have one of the following values as ${discriminator?.property}: ${words}`;
}

/** The classes that a value of a member may have. */
export function listMemberClasses({ nested, subTypes }: Member): CompiledDto[] {
  return nested === undefined ? [] : [nested, ...subTypes.values()];
}

/** Whether class-transformer sets a member otherwise than as it was read. */
export function isConverted({ name, jsonName, nested, ...member }: Member): boolean {
  const isOfOtherType = member.type !== undefined && nested === undefined;
  const isNamedOtherwise = jsonName !== name;
  const isRead = isOfOtherType || isNamedOtherwise || member.discriminator !== undefined;
  return isRead || member.isTransformed || member.hasSetter;
}
