/**
 * class-transformer has types for this file, but in another folder, and they do not say that a
 * member may lack a decorator.
 */
declare module 'class-transformer/cjs/storage.js' {
  import type {
    ExcludeMetadata,
    ExcludeOptions,
    ExposeMetadata,
    TransformationType,
    TransformMetadata,
    TypeMetadata,
  } from 'class-transformer';

  interface Decorated {
    readonly options: ExcludeOptions;
  }
  /** What decorators say, by class and by member; the options of a class have no member. */
  type Recorded = ReadonlyMap<
    unknown,
    ReadonlyMap<string | undefined, Decorated | readonly Decorated[]>
  >;

  export const defaultMetadataStorage: {
    readonly _exposeMetadatas: Recorded;
    readonly _transformMetadatas: Recorded;
    readonly _typeMetadatas: Recorded;
    findExposeMetadata(target: object, name: string): ExposeMetadata | undefined;
    findExcludeMetadata(target: object, name: string): ExcludeMetadata | undefined;
    findTypeMetadata(target: object, name: string): TypeMetadata | undefined;
    findTransformMetadatas(
      target: object,
      name: string,
      type: TransformationType,
    ): TransformMetadata[];
    getStrategy(target: object): 'excludeAll' | 'exposeAll' | 'none';
  };
}
