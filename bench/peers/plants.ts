// Tokens, parameters, ETags and links of the peers, written by hand.
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Row {
  readonly id: number;
  readonly name: string;
  readonly tag: string | null;
}

export interface Page {
  readonly limit: number;
  readonly after?: number | undefined;
  readonly tag?: string | undefined;
}

type Plant = Omit<Row, 'tag'> & { readonly tag?: string };

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const LONGEST_PAGE = 1_000;
const expected = Buffer.from(`Bearer ${process.env.ACCESS_TOKENS ?? ''}`);

/** @param authorization the header of the request */
export function isAllowed(authorization = ''): boolean {
  const given = Buffer.from(authorization);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns undefined if the text is no integer. */
export function readId(text: string): number | undefined {
  const id = INTEGER.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Returns undefined if the query is not valid. */
export function readPage(query: Readonly<Record<string, string>>): Page | undefined {
  const { limit = '100', after, tag, ...others } = query;
  const page = {
    limit: readId(limit) ?? 0,
    after: after === undefined ? undefined : readId(after),
    tag,
  };
  const isValid =
    page.limit >= 1 &&
    page.limit <= LONGEST_PAGE &&
    (after === undefined || page.after !== undefined) &&
    (tag === undefined || typeof tag === 'string') &&
    Object.keys(others).length === 0;
  return isValid ? page : undefined;
}

/** Makes a plant of a row, without the member `tag` if the row has none. */
export function toPlant({ id, name, tag }: Row): Plant {
  return tag === null ? { id, name } : { id, name, tag };
}

/** Makes a strong ETag of a stored plant. */
export function toEtag({ name, tag }: Row): string {
  const hash = createHash('sha1').update(JSON.stringify([name, tag]));
  return `"${hash.digest('base64url')}"`;
}

/** @param ifNoneMatch the header of the request */
export function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = ifNoneMatch?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? [];
  return tags.some((tag) => tag === '*' || tag === etag);
}

/**
 * Makes a page of rows, with a link to the next page if there is one.
 *
 * @param rows one more than the limit, if there are more
 */
export function toPage(
  rows: readonly Row[],
  { limit, tag }: Page,
): { readonly plants: Plant[]; readonly link?: string } {
  const plants = rows.slice(0, limit).map(toPlant);
  if (rows.length <= limit) return { plants };
  const after = String(plants.at(-1)?.id);
  const query = new URLSearchParams({
    limit: String(limit),
    after,
    ...(tag !== undefined && { tag }),
  });
  return { plants, link: `</plants?${query.toString()}>; rel="next"` };
}
