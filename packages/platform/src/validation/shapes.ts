import { GIVEN_TWICE, JsonNumber, SCALAR, type Shape, WHOLE } from 'durable-store/json';
import type { CompiledDto } from './compiled-dto.js';
import type { Member } from './dto-member.js';
import { readNumber } from './exact-values.js';
import type { Discriminator } from './transforms.js';

// How the JSON of a request is read as the members of its class.

/** Keeps everything as values of JavaScript. An integer that a double would round is a bigint. */
export const PLAIN: Shape = {
  getMember: () => PLAIN,
  get elements() {
    return PLAIN;
  },
  convert: toPlain,
};

/** Converts JSON whose parts are converted already. */
export function toPlain(value: unknown): unknown {
  return value instanceof Map
    ? Object.fromEntries(value as ReadonlyMap<string, unknown>)
    : readNumber(value);
}

/** Skips the parts of a value. */
const WITHOUT_PARTS: Shape = { ...SCALAR, convert: toValueWithoutParts };

/** Chooses the shape of an object of a class: its instance, or an object for class-transformer. */
type ChooseShape = (dto: CompiledDto) => Shape;

/**
 * Returns how a member is read.
 *
 * @param isPlain whether it is one of an object for class-transformer
 */
export function createShape(member: Member, isPatch: boolean, isPlain: boolean): Shape {
  const { nested, valueType, read, isList, discriminator } = member;
  const choose: ChooseShape = isPlain ? ({ plain }) => plain : ({ part }) => part;
  // The rules refuse a value of a wrong type without its parts. But transforms and pipes may use them, and
  // without a rule that applies, the value is accepted.
  const usesParts = isPlain || member.isTransformed || member.isConditional;
  const other = usesParts ? PLAIN : WITHOUT_PARTS;
  let shape: Shape;
  if (discriminator !== undefined) {
    shape = createDiscriminatedShape(member, discriminator, choose, other);
  } else if (nested !== undefined) {
    shape = createPartShape(nested, choose, other);
  } else {
    const convertValue = (value: unknown): unknown => other.convert(read(value));
    // In a patch null removes a member, even if it is a value of the member's type.
    const convertChange = (value: unknown): unknown =>
      value === null ? null : convertValue(value);
    const convert = isPatch && !isList ? convertChange : convertValue;
    shape = { ...(valueType?.shape ?? other), convert };
  }
  if (!isList) return shape;
  const convert = (value: unknown): unknown =>
    Array.isArray(value) ? value : other.convert(value);
  return { ...other, elements: shape, convert };
}

/**
 * A class may contain itself, so its shape is chosen when it is needed.
 *
 * @param other how a value is read that is not an object
 */
function createPartShape(dto: CompiledDto, choose: ChooseShape, other: Shape): Shape {
  return {
    getMember: (name) => choose(dto).getMember(name),
    elements: other.elements,
    convert: (value) => (value instanceof Map ? choose(dto).convert(value) : other.convert(value)),
  };
}

/**
 * Returns how a value is read by the class that the word in one of its members names.
 *
 * @param other how a value is read that is not an object
 */
function createDiscriminatedShape(
  { nested, subTypes }: Member,
  { property }: Discriminator,
  choose: ChooseShape,
  other: Shape,
): Shape {
  const shapes = new Map<CompiledDto | undefined, Shape>();
  const findShape = (dto: CompiledDto | undefined): Shape => {
    let shape = shapes.get(dto);
    if (shape === undefined) {
      const ofClass = dto && choose(dto);
      const getMember = (name: string): Shape =>
        name === property ? PLAIN : (ofClass?.getMember(name) ?? PLAIN);
      shape = { ...PLAIN, getMember };
      shapes.set(dto, shape);
    }
    return shape;
  };
  const convert = (source: unknown): unknown => {
    const isObject = source instanceof Map;
    const dto = isObject ? (subTypes.get(source.get(property)) ?? nested) : undefined;
    return reshape(source, isObject ? findShape(dto) : other);
  };
  // Its word may be its last member, so it is read as a whole at first.
  return { ...WHOLE, convert };
}

/** Converts JSON that was read as a whole as if it had been read with this shape. */
function reshape(json: unknown, shape: Shape): unknown {
  if (json === GIVEN_TWICE) return json;
  if (Array.isArray(json)) {
    return shape.convert(json.map((element) => reshape(element, shape.elements ?? SCALAR)));
  }
  if (!(json instanceof Map)) return shape.convert(json);
  const members = Array.from(
    json as ReadonlyMap<string, unknown>,
    ([name, value]) => [name, reshape(value, shape.getMember(name) ?? SCALAR)] as const,
  );
  return shape.convert(new Map(members));
}

/**
 * Converts JSON to a value of JavaScript. Reduces a value of a wrong type to what the rules need to
 * refuse it: an object or an array becomes an empty one.
 */
export function toValueWithoutParts(json: unknown): unknown {
  if (json instanceof JsonNumber) return Number(json.source);
  if (json instanceof Map) return {};
  return Array.isArray(json) ? [] : json;
}
