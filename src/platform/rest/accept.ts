/** The members of a list of media types. Commas in quoted texts do not separate members. */
const RANGES = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;
/** A media type and its parameters (RFC 9110 section 12.5.1). */
const RANGE = /^\s*([^\s;]+)(.*)$/;
const WEIGHT = /;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;

/**
 * Whether a client accepts a media type by its name, with at least the weight of another type.
 * Wildcards do not count.
 */
export function prefersMediaType(
  accept: string | undefined,
  wanted: string,
  other: string,
): boolean {
  if (!accept?.toLowerCase().includes(wanted)) return false;
  const weights = new Map<string, number>();
  for (const [range] of accept.matchAll(RANGES)) {
    const [, name = '', parameters = ''] = RANGE.exec(range) ?? [];
    const type = name.toLowerCase();
    const weight = Number(WEIGHT.exec(parameters)?.[1] ?? 1);
    weights.set(type, Math.max(weight, weights.get(type) ?? 0));
  }
  const weight = weights.get(wanted) ?? 0;
  return weight > 0 && weight >= (weights.get(other) ?? 0);
}
