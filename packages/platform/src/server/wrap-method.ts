// This program depends on internals of Nest 12 and of class-transformer 0.5 where it wraps their methods:
// pipes, interceptors and filters of modules then work as Nest documents them, though requests are read
// and answers are written by this program. test/nest fails if an upgrade changes what is wrapped.

export type Method<Args extends unknown[], Result> = (...args: Args) => Result;

/**
 * Replaces a method of a class. The new one gets the original one and its arguments, and is called
 * on the same object.
 */
export function wrapMethod<Args extends unknown[], Result>(
  type: { readonly prototype: object },
  name: string,
  wrapper: (this: unknown, original: Method<Args, Result>, ...args: Args) => Result,
): void {
  const prototype = type.prototype as Record<string, Method<Args, Result>>;
  const { [name]: original } = prototype;
  if (original === undefined) throw new TypeError(`${name}() has gone in this version of Nest`);
  prototype[name] = function (...args) {
    return wrapper.call(this, (...own) => original.apply(this, own), ...args);
  };
}
