import { Choices } from './choices.js';
import { spellGap, spellString } from './json-spelling.js';

export interface NewPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** What a body is, known because of how it was written. */
export type Verdict =
  | { readonly kind: 'plant'; readonly plant: NewPlant }
  /** JSON, but not a NewPlant: the members at fault, none when it is not even an object. */
  | { readonly kind: 'invalid'; readonly faults: readonly string[]; readonly repeated: boolean }
  /** Not JSON in UTF-8, or nested too deep. */
  | { readonly kind: 'unreadable' };

export interface Body {
  readonly bytes: Buffer;
  readonly verdict: Verdict;
  /** The verdict on it as the body of a PUT, where the id is a member like any other. */
  readonly putVerdict?: Verdict;
}

/** The text of a JSON value, or of what looks like one, and what it means where it is used. */
export interface Written<T> {
  readonly write: (choices: Choices) => string;
  /** Good, JSON of a wrong type or range, or not JSON. */
  readonly meaning: { readonly value: T } | 'wrong' | 'broken';
}

/** The parts of a body that is, or nearly is, a JSON object. */
export interface Parts {
  readonly id: Written<bigint> | undefined;
  readonly name: Written<string> | undefined;
  readonly tag: Written<string> | undefined;
  readonly extras: readonly Extra[];
  /** A second writing of one of the three. */
  readonly again: { readonly name: MemberName; readonly value: Written<unknown> } | undefined;
  readonly style: number;
}

/** A member of any other name: it changes nothing, as long as it is JSON. */
export interface Extra {
  readonly name: string;
  readonly value: Written<unknown>;
}

export type MemberName = 'id' | 'name' | 'tag';

/** Writes the parts as one text, and knows what it is. */
export function bodyOf(parts: Parts): Body {
  const choices = new Choices(parts.style);
  const members = shuffle(membersOf(parts), choices);
  const gap = (): string => spellGap(choices);
  const texts = members.map(
    ({ name, value }) =>
      `${gap()}${spellString(name, choices)}${gap()}:${gap()}${value.write(choices)}${gap()}`,
  );
  const text = `${gap()}{${texts.join(',') || gap()}}${gap()}`;
  return {
    bytes: Buffer.from(text),
    verdict: verdictOf(parts, members),
    putVerdict: verdictOf(withoutId(parts), members),
  };
}

/** The parts, but for an id that is anything: it is as good as one that is good. */
function withoutId(parts: Parts): Parts {
  const id: Written<bigint> = { write: () => '', meaning: { value: 0n } };
  return { ...parts, id, again: parts.again?.name === 'id' ? undefined : parts.again };
}

function membersOf({ id, name, tag, extras, again }: Parts): Extra[] {
  const members: Extra[] = [];
  if (id) members.push({ name: 'id', value: id });
  if (name) members.push({ name: 'name', value: name });
  if (tag) members.push({ name: 'tag', value: tag });
  if (again) members.push(again);
  return [...members, ...extras];
}

function verdictOf({ id, name, tag, again }: Parts, members: readonly Extra[]): Verdict {
  if (members.some(({ value }) => value.meaning === 'broken')) return { kind: 'unreadable' };
  const repeated = members.filter((member) => member.name === again?.name).length > 1;
  const goodId = goodOf(id ?? (again?.name === 'id' ? again.value : undefined));
  const goodName = goodOf(name ?? (again?.name === 'name' ? again.value : undefined));
  const writtenTag = tag ?? (again?.name === 'tag' ? again.value : undefined);
  const goodTag = goodOf(writtenTag);
  const faults = new Set<string>();
  if (goodId === undefined) faults.add('id');
  if (goodName === undefined) faults.add('name');
  if (writtenTag !== undefined && goodTag === undefined) faults.add('tag');
  if (again && repeated) faults.add(again.name);
  if (goodId === undefined || goodName === undefined || faults.size > 0) {
    return { kind: 'invalid', faults: [...faults], repeated };
  }
  const plant = { id: goodId.value as bigint, name: goodName.value as string };
  const withTag = goodTag && { ...plant, tag: goodTag.value as string };
  return { kind: 'plant', plant: withTag ?? plant };
}

function goodOf(written: Written<unknown> | undefined): { readonly value: unknown } | undefined {
  return typeof written?.meaning === 'object' ? written.meaning : undefined;
}

function shuffle<T>(items: readonly T[], choices: Choices): T[] {
  const shuffled: T[] = [];
  for (const item of items) {
    shuffled.splice(shuffled.length - choices.below(shuffled.length + 1), 0, item);
  }
  return shuffled;
}

/** Adds white space until the body has the wanted length; a longer one stays as it is. */
export function padTo(length: number, { bytes, ...verdicts }: Body): Body {
  const missing = Math.max(0, length - bytes.length);
  return { bytes: Buffer.concat([bytes, Buffer.alloc(missing, ' ')]), ...verdicts };
}
