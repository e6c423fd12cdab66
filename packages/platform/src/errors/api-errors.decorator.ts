import { ApiExtension } from '@nestjs/swagger';
import type { ErrorKind } from './error-catalogue.js';

/**
 * Documents the errors of an operation's own. Errors about the token, the parameters or the body of
 * a request are documented without it.
 */
export function ApiErrors(...kinds: ErrorKind[]): MethodDecorator {
  return (target, name, descriptor) => {
    const known = Reflect.getMetadata('swagger/apiExtension', descriptor.value as object) as
      { readonly 'x-errors'?: ErrorKind[] } | undefined;
    const others = known?.['x-errors'];
    // A second extension of one name would be ignored.
    if (others === undefined) ApiExtension('x-errors', kinds)(target, name, descriptor);
    else others.push(...kinds);
  };
}
