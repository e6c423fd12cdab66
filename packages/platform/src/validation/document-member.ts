import type { Type } from '@nestjs/common';
import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { writeJson } from 'durable-store/json';
import type { DeclaredMember } from './member.js';
import type { MemberRules } from './rules.js';
import { joinSchemas, type JsonSchema } from './schemas.js';
import { TEXT_PATTERN } from './types.decorators.js';

const { MAX_SAFE_INTEGER } = Number;

/** The keywords of JSON Schema for the elements of an array. */
const LIST_KEYWORDS = ['items', 'minItems', 'maxItems', 'uniqueItems'];

/** The metadata key of @nestjs/swagger for the documentation of a member. */
const API_PROPERTY = 'swagger/apiModelProperties';

interface Documented {
  readonly type: Type<object>;
}

/** A member of a documented class. */
export interface DocumentedMember extends DeclaredMember {
  readonly name: string;
  /** The class of the value, or of the elements of an array. */
  readonly nested: Documented | undefined;
  /** The classes that the value may have instead, by the word of their discriminator. */
  readonly subTypes: ReadonlyMap<unknown, Documented>;
}

/** Reads how a member is documented: at first, what its author says. */
export function readApiProperty(type: Type<object>, name: string): Record<string, unknown> {
  const documented: unknown = Reflect.getMetadata(API_PROPERTY, type.prototype as object, name);
  return (documented ?? {}) as Record<string, unknown>;
}

/** Lists the members of a request that `@ApiProperty()` documents, with the decorator. */
export function listDocumented(type: Type<object>): [name: string, decorator: string][] {
  const names = (Reflect.getMetadata(`${API_PROPERTY}Array`, type.prototype as object) ??
    []) as string[];
  return names
    .map((name) => name.replace(/^:/, ''))
    .filter((name) => readApiProperty(type, name).readOnly !== true)
    .map((name) => [name, '@ApiProperty()']);
}

/**
 * Adds the rules and the initial value of a member to the OpenAPI schema of its class, so that
 * neither is written twice. They win over an `@ApiProperty()`, which adds what they do not say, such
 * as a description. With `@Transform()` its type wins, since that is what clients send.
 *
 * @param type the class, or its merge patch
 * @param own what its author documents about it
 * @param instance a new one of the class
 */
export function documentMember(
  type: Type<object>,
  member: DocumentedMember,
  own: JsonSchema,
  instance: object,
  isPatch: boolean,
): void {
  const { name, jsonName, conditions } = member;
  const isRead = !member.isExcluded && !member.isComputed;
  const initial = isRead ? (instance as Record<string, unknown>)[name] : undefined;
  const mayBeMissing = conditions.some((holds) => !letsOnlyNullPass(holds, name));
  const mayBeNull = conditions.some((holds) => letsNullPass(holds, name));
  const ownType = own.type ?? own.oneOf ?? own.anyOf;
  const isSentAsDocumented = member.isTransformed && ownType !== undefined;
  const isSentAsOne = isSentAsDocumented && own.type !== 'array' && own.isArray !== true;
  // Later parts win.
  const options: Record<string, unknown> = {
    ...(jsonName !== name && { name: jsonName }),
    ...describeInitial(initial),
    ...describeMember(member, own),
    ...((isPatch || mayBeNull) && describeNull(member, mayBeNull)),
    ...(!isRead && { readOnly: true }),
    ...(isSentAsDocumented && own),
    required: !mayBeMissing && initial === undefined,
    // A member that a patch lacks stays as it is.
    ...(isPatch && { default: undefined }),
  };
  ApiProperty(options)(type.prototype as object, name);
  // What an author allows beside the rules is refused.
  const documented = readApiProperty(type, name);
  for (const key of ['oneOf', 'anyOf', 'items']) {
    if (options[key] === undefined) Reflect.deleteProperty(documented, key);
  }
  if (!isSentAsOne) return;
  for (const key of LIST_KEYWORDS) Reflect.deleteProperty(documented, key);
}

/** Documents a list as the text that its transform takes. */
export function documentAsText(type: Type<object>, name: string): void {
  const documented = readApiProperty(type, name);
  if (documented.type !== 'array') return;
  for (const key of [...LIST_KEYWORDS, 'default']) Reflect.deleteProperty(documented, key);
  Object.assign(documented, { type: 'string', pattern: TEXT_PATTERN });
}

type Condition = MemberRules['conditions'][number];

/**
 * Whether the rules apply to a value in an object without other members. If the condition throws,
 * such as for want of these, they count as not applying.
 */
function applies(holds: Condition, name: string, value: unknown): boolean {
  try {
    return holds({ [name]: value }, value);
  } catch {
    return false;
  }
}

/** Whether a condition lets null pass, such as that of `@IsOptional()`. */
function letsNullPass(holds: Condition, name: string): boolean {
  return applies(holds, name, true) && !applies(holds, name, null);
}

/** Whether a condition lets null pass, but not a missing member. */
function letsOnlyNullPass(holds: Condition, name: string): boolean {
  return letsNullPass(holds, name) && applies(holds, name, undefined);
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
function describeNull({ isList, schema }: DeclaredMember, isAccepted: boolean): JsonSchema {
  const { oneOf } = schema;
  if (isList || oneOf === undefined) return isAccepted ? { nullable: true } : {};
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
function describeMember(member: DocumentedMember, own: JsonSchema): object {
  const ofValue = { ...describeType(member, own), ...describeSubTypes(member) };
  if (!member.isList) return ofValue;
  const ofList = member.rules.filter(({ each }) => !each).map((rule) => rule.schema);
  return { ...ofValue, ...joinSchemas(ofList) };
}

function describeType({ schema, nested, isList }: DocumentedMember, own: JsonSchema): object {
  if (nested !== undefined) return { type: () => nested.type, isArray: isList };
  const exact = describeExactType(schema, own);
  if (isList) return describeList(exact, own);
  // @nestjs/swagger leaves out the type beside oneOf and allOf, but looks for one elsewhere if there
  // is none.
  if (schema.oneOf !== undefined) return { ...schema, type: 'object' };
  const described = { ...exact, ...joinDescriptions(schema, own) };
  if (exact.allOf === undefined) return described;
  return { ...described, allOf: [...(exact.allOf as JsonSchema[]), { type: exact.type }] };
}

/** @param own may name words that the rules do not, and a schema of its own for the words */
function describeList(element: JsonSchema, { items, enumName }: JsonSchema): object {
  const { enum: words } = (items ?? {}) as JsonSchema;
  const described = words === undefined ? element : { enum: words, ...element };
  const list = { type: 'array', items: described };
  // @nestjs/swagger looks for the words of a name where isArray says.
  return enumName === undefined ? list : { ...list, isArray: true };
}

function describeSubTypes({ subTypes, discriminator, isList }: DocumentedMember): object {
  if (discriminator === undefined) return {};
  const paths = Array.from(subTypes, ([name, { type }]) => [name, getSchemaPath(type)] as const);
  const mapping = Object.fromEntries(paths) as Record<string, string>;
  const schema = {
    oneOf: paths.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: discriminator.property, mapping },
  };
  return isList ? { type: 'array', items: schema, isArray: false } : { ...schema, type: 'object' };
}
