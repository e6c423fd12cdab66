// Tokens, parameters, ETags and links of the peers, written by hand.
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Row {
  readonly id: number;
  readonly name: string;
  readonly tag: string | null;
}

export interface Page {
  readonly limit: number;
  readonly after: number;
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
  const { limit: size = '100', after: start = String(Number.MIN_SAFE_INTEGER), ...others } = query;
  const [limit, after] = [readId(size), readId(start)];
  if (limit === undefined || after === undefined || Object.keys(others).length > 0)
    return undefined;
  return limit >= 1 && limit <= LONGEST_PAGE ? { limit, after } : undefined;
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

/**
 * Makes a page of rows, with a link to the next page if there is one.
 *
 * @param rows one more than the limit, if there are more
 */
export function toPage(rows: readonly Row[], { limit }: Page): { plants: Plant[]; link?: string } {
  const plants = rows.slice(0, limit).map(toPlant);
  if (rows.length <= limit) return { plants };
  const after = String(plants.at(-1)?.id);
  return { plants, link: `</plants?limit=${limit}&after=${after}>; rel="next"` };
}
