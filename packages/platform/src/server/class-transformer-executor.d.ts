/** class-transformer has types for this file, but in another folder. */
declare module 'class-transformer/cjs/TransformOperationExecutor.js' {
  export { TransformOperationExecutor } from 'class-transformer/types/TransformOperationExecutor.js';
}
