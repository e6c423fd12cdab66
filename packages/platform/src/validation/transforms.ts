import type { Type } from '@nestjs/common';
import { type ExcludeOptions, TransformationType } from 'class-transformer';
import { defaultMetadataStorage as storage } from 'class-transformer/cjs/storage.js';

// This file depends on an internal of class-transformer: where it keeps what its decorators say.

/** What the decorators of class-transformer say about a member of a request. */
export interface MemberTransforms {
  /** The name of the member in JSON. */
  readonly jsonName: string;
  /** Whether `@Exclude()` keeps it out of requests. */
  readonly isExcluded: boolean;
  /** Whether it is a method, or a getter without a setter. */
  readonly isComputed: boolean;
  /** Whether it has `@Transform()`. */
  readonly isTransformed: boolean;
  readonly hasSetter: boolean;
  /** The class that `@Type()` names. */
  readonly type: Type<object> | undefined;
  /** The classes of the value by the word in one of its members. */
  readonly discriminator: Discriminator | undefined;
}

export interface Discriminator {
  readonly property: string;
  readonly subTypes: readonly { readonly name: string; readonly value: Type<object> }[];
}

/** Whether a decorator with these options concerns requests. */
function concernsRequests({ toClassOnly = false, toPlainOnly = false }: ExcludeOptions): boolean {
  return toClassOnly || !toPlainOnly;
}

/** Reads what the decorators of class-transformer say about a member. */
export function readTransforms(type: Type<object>, name: string): MemberTransforms {
  const expose = storage.findExposeMetadata(type, name);
  const exclude = storage.findExcludeMetadata(type, name);
  const isExposed = expose !== undefined && concernsRequests(expose.options);
  const isHidden = exclude !== undefined && concernsRequests(exclude.options);
  const hidesAll = storage.getStrategy(type) === 'excludeAll';
  const transforms = storage.findTransformMetadatas(type, name, TransformationType.PLAIN_TO_CLASS);
  const inherited = findInherited(type.prototype as object, name);
  return {
    jsonName: (isExposed ? expose.options.name : undefined) ?? name,
    isExcluded: isHidden || (hidesAll && !isExposed),
    isComputed: inherited !== undefined && inherited.set === undefined,
    isTransformed: transforms.length > 0,
    hasSetter: inherited?.set !== undefined,
    ...readType(type, name),
  };
}

/** Reads what `@Type()` says about a member. */
function readType(
  type: Type<object>,
  name: string,
): Pick<MemberTransforms, 'type' | 'discriminator'> {
  const metadata = storage.findTypeMetadata(type, name);
  // A function with parameters chooses the class by the object, which is not read yet.
  if (metadata === undefined || metadata.typeFunction.length > 0) {
    return { type: undefined, discriminator: undefined };
  }
  const { discriminator } = metadata.options;
  return {
    type: metadata.typeFunction() as Type<object>,
    discriminator: discriminator && {
      property: discriminator.property,
      subTypes: discriminator.subTypes,
    },
  };
}

/** Finds a getter, a setter or a method. */
function findInherited(prototype: object, name: string): PropertyDescriptor | undefined {
  let one: object | null = prototype;
  while (one !== null && one !== Object.prototype) {
    const descriptor = Object.getOwnPropertyDescriptor(one, name);
    if (descriptor !== undefined) return descriptor;
    one = Reflect.getPrototypeOf(one);
  }
  return undefined;
}

/** The decorators whose members a request would lose silently if they had no rule. */
const DECORATORS = [
  ['@Expose()', storage._exposeMetadatas],
  ['@Transform()', storage._transformMetadatas],
  ['@Type()', storage._typeMetadatas],
] as const;

/** Lists the members of a class that have a decorator for requests, with the decorator. */
export function listTransformed(type: Type<object>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [decorator, recorded] of DECORATORS) {
    for (let one: object | null = type; one !== null; one = Reflect.getPrototypeOf(one)) {
      for (const [name, metadata] of recorded.get(one) ?? []) {
        const isInRequests = [metadata].flat().some(({ options }) => concernsRequests(options));
        if (name !== undefined && isInRequests) found.set(name, decorator);
      }
    }
  }
  return found;
}
