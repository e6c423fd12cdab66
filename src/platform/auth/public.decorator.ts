import { SetMetadata } from '@nestjs/common';

export const IS_PUBLIC = Symbol('public');

/** Opens a route, or all routes of a controller, to requests without a token. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);
