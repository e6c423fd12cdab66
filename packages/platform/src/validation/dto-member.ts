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

/**
 * Whether the value of a member is valid. If not, class-validator decides, and says what is wrong.
 *
 * @throws what a condition or a getter throws
 */
export function acceptsMember(member: Member, object: object): boolean {
  const { name, conditions, rules, nested, isList } = member;
  const value = (object as Record<string, unknown>)[name];
  if (value === GIVEN_TWICE) return false;
  const hasRules = conditions.every((holds) => holds(object, value));
  if (!hasRules) return true;
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

/** Whether the discriminator names the class of a part. The rules refuse what is not an object. */
function isOfKnownClass({ subTypes, nested }: Member, part: unknown): boolean {
  if (subTypes.size === 0 || nested === undefined) return true;
  if (!(part instanceof nested.type)) return true;
  return [...subTypes.values()].some(({ type }) => part.constructor === type);
}

function explainWord({ subTypes, discriminator }: Member): string {
  const words = [...subTypes.keys()].join(', ');
  return `must have one of the following values as ${discriminator?.property}: ${words}`;
}

/** The classes that a value of a member may have. */
export function listMemberClasses({ nested, subTypes }: Member): CompiledDto[] {
  return nested === undefined ? [] : [nested, ...subTypes.values()];
}

/** Whether class-transformer has to set a member, since it is not set to the value that was read. */
export function isConverted(member: Member): boolean {
  if (member.isTransformed || member.hasSetter) return true;
  if (member.jsonName !== member.name || member.discriminator !== undefined) return true;
  return member.type !== undefined && member.nested === undefined;
}
