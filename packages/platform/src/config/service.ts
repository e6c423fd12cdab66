/**
 * The name, the version and the interface of a service. Injectable.
 *
 * @example
 * ```ts
 * const bedsService: Service = {
 *   name: 'beds',
 *   title: 'Beds',
 *   version: '1.0.0',
 *   interface: { version: '1.0.0', description: 'The beds of a garden', license: 'MIT' },
 *   example: { path: '/beds', body: { name: 'North' } },
 * };
 * ```
 */
export abstract class Service {
  /** Its name in challenges, in metrics and at the database server, such as `plant-store`. */
  abstract readonly name: string;
  /** Its name for people, such as `Plant Store`. */
  abstract readonly title: string;
  /** The version of the program. The interface has a version of its own. */
  abstract readonly version: string;
  /** The interface, for the OpenAPI document. */
  abstract readonly interface: {
    readonly version: string;
    readonly description: string;
    /** An SPDX identifier. */
    readonly license: string;
  };
  /** A request with which a newcomer can begin. */
  abstract readonly example: { readonly path: string; readonly body: object };
}

/** Makes the challenge for a token that is missing or refused (RFC 6750 section 3). */
export function makeChallenge(
  { name }: Service,
  ...attributes: readonly string[]
): { 'WWW-Authenticate': string } {
  return { 'WWW-Authenticate': [`Bearer realm="${name}"`, ...attributes].join(', ') };
}
