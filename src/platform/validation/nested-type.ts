import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';

/** Values that class-transformer must not change. */
const SCALARS = ['', '0', 'true', ' Aa 1 ', 0, -1.5, true, false, null];

/**
 * Finds the class that `@Type()` gives to a member; undefined without one. class-transformer does
 * not expose its decorators, so this transforms sample values and compares the results.
 *
 * @throws TypeError when it changes a value in another way, which requests do not support
 */
export function findNestedType(type: Type<object>, member: string): Type<object> | undefined {
  const transform = (value: unknown): unknown =>
    (plainToInstance(type, { [member]: value }) as Record<string, unknown>)[member];
  try {
    const nested = transform({});
    const [element] = transform([{}]) as unknown[];
    const found = (nested as object).constructor as Type<object>;
    const isSame = element instanceof found && element.constructor === found;
    if (isSame && SCALARS.every((value) => Object.is(transform(value), value))) {
      return found === Object ? undefined : found;
    }
  } catch {
    // class-transformer fails for one of the values, so it does not leave it unchanged.
  }
  throw new TypeError(
    `of class-transformer only @Type(() => AClass) counts here, with @ValidateNested(): values are not converted`,
  );
}
