/** class-transformer has types for this file, but in another folder, and the methods are private there. */
declare module 'class-transformer/cjs/TransformOperationExecutor.js' {
  import type { ClassTransformOptions, TransformationType } from 'class-transformer';

  export class TransformOperationExecutor {
    constructor(type: TransformationType, options: ClassTransformOptions);
    transform(source: unknown, value: unknown, targetType: unknown, ...rest: unknown[]): unknown;
    applyCustomTransformations(
      value: unknown,
      target: unknown,
      key: string,
      ...rest: unknown[]
    ): unknown;
    getKeys(target: unknown, object: object, isMap: boolean): string[];
  }
}
