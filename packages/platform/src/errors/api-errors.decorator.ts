import { ApiExtension } from '@nestjs/swagger';
import type { ErrorKind } from './error-catalogue.js';

/**
 * Documents the errors that only this operation has. Errors about the token, the parameters or the
 * body of a request are documented without it.
 *
 * @param kinds from {@link defineErrors}, or the errors that all features share
 * @example
 * ```ts
 * @Get(':id')
 * @ApiRepresentation(StoredPlantDto, 'The plant as it is stored')
 * @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
 * read(@Param() { id }: IdDto): Promise<Representation<StoredPlantDto>> {
 *   return this.plants.read(id);
 * }
 * ```
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
