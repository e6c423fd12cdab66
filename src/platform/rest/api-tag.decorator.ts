import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';

/** Gives the operations of a controller a tag, and the tag its description. */
export function ApiTag(name: string, description: string): ClassDecorator {
  return applyDecorators(ApiTags(name), ApiExtension('x-tag-description', description));
}
