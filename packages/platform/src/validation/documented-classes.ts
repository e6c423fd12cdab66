import type { Type } from '@nestjs/common';
import { CompiledDto } from './compiled-dto.js';
import { listMemberClasses } from './dto-member.js';
import { getDocumentedName } from './patch-class.js';
import { readRules } from './rules.js';

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
  return readRules(type).size > 0;
}

/**
 * Documents the lists of bodies as the texts that their transforms take. An answer has the list
 * itself, so a class that is also one of the answers stays as it is.
 */
export function documentBodies(
  bodies: readonly CompiledDto[],
  answers: readonly Type<object>[],
): void {
  const answered = new Set(
    answers.filter(hasRules).flatMap((type) => [...CompiledDto.compile(type).listClasses()]),
  );
  for (const dto of bodies.flatMap((body) => [...body.listClasses()])) {
    if (!answered.has(dto)) dto.documentTexts();
  }
}
