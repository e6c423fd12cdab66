import type { Type } from '@nestjs/common';
import { PartialType, PickType } from '@nestjs/swagger';
import { Type as TypeOf } from 'class-transformer';
import { getMetadataStorage, IsOptional, ValidationTypes } from 'class-validator';
import { readTransforms } from './transforms.js';

const patchClasses = new Map<Type<object>, Type<object>>();
const patched = new WeakSet<object>();

/** Whether a class, or one that it extends, is that of a merge patch. */
export function isPatchClass(type: object): boolean {
  for (let one: object | null = type; one !== null; one = Reflect.getPrototypeOf(one)) {
    if (patched.has(one)) return true;
  }
  return false;
}

/**
 * Makes the class of the merge patches of a DTO by Nest's mapped types. Each member may be left out.
 * null removes a member, and is refused for one that the DTO requires. Each DTO has one such class.
 */
export function makePatchClass(base: Type<object>): Type<object> {
  const known = patchClasses.get(base);
  if (known !== undefined) return known;
  const all = getMetadataStorage().getTargetValidationMetadatas(base, '', false, false);
  const conditional = all.filter(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION);
  const optional = new Set(conditional.map(({ propertyName }) => propertyName));
  const names = [...new Set(all.map(({ propertyName }) => propertyName))].filter(
    (name) => !readTransforms(base, name).isComputed,
  );
  const Base = PartialType(PickType(base, names as never[]), { skipNullProperties: false });
  for (const name of optional) IsOptional()(Base.prototype as object, name);
  class Patch extends (Base as Type<object>) {
    constructor() {
      super();
      // A member that a patch lacks stays as it is, and does not get its initial value.
      for (const name of Object.keys(this)) Reflect.deleteProperty(this, name);
    }
  }
  Object.defineProperty(Patch, 'name', { value: `${getDocumentedName(base)}Patch` });
  patchClasses.set(base, Patch);
  patched.add(Patch);
  for (const { propertyName: name, type } of all) {
    const { type: part } = readTransforms(base, name);
    if (type !== ValidationTypes.NESTED_VALIDATION || part === undefined) continue;
    // RFC 7396 section 2: an object in a patch is itself a patch, an array is not.
    const isList = all.some((one) => one.propertyName === name && isOfList(one));
    if (!isList) TypeOf(() => makePatchClass(part))(Patch.prototype, name);
  }
  return Patch;
}

function isOfList({ each, name = '' }: { each?: boolean; name?: string }): boolean {
  return each === true || name.startsWith('array') || name === 'isArray';
}

/** The name that the document has for a class. */
export function getDocumentedName(type: Type<object>): string {
  const schemas = Reflect.getOwnMetadata('swagger/apiSchema', type) as
    { readonly name?: string }[] | undefined;
  return schemas?.at(-1)?.name ?? type.name;
}
