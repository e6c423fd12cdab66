// The parameters, ETags and links of the peers, written by hand.
import { createHash } from 'node:crypto';
import { URLSearchParams } from 'node:url';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const PAGE = { limit: 100, most: 1_000 };

/** @returns {number | undefined} undefined if the text is no integer */
export function readId(text) {
  const id = INTEGER.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(id) ? id : undefined;
}

/** @returns {{ limit: number, after?: number, tag?: string } | undefined} undefined when it is not valid */
export function readPage({ limit = String(PAGE.limit), after, tag, ...others }) {
  const page = {
    limit: readId(limit),
    after: after === undefined ? undefined : readId(after),
    tag,
  };
  const isValid =
    page.limit >= 1 &&
    page.limit <= PAGE.most &&
    (after === undefined || page.after !== undefined) &&
    (tag === undefined || typeof tag === 'string') &&
    Object.keys(others).length === 0;
  return isValid ? page : undefined;
}

/** Makes a plant of a row, without the member `tag` if the row has none. */
export function toPlant({ id, name, tag }) {
  return tag === null ? { id, name } : { id, name, tag };
}

/** Makes a strong ETag of a stored plant. */
export function toEtag({ name, tag }) {
  return `"${createHash('sha1')
    .update(JSON.stringify([name, tag]))
    .digest('base64url')}"`;
}

/** @param {string | undefined} ifNoneMatch the request's header */
export function isCurrent(ifNoneMatch, etag) {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(',')
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}

/**
 * Makes a page of rows, with a link to the next page if there is one.
 *
 * @param {object[]} rows one more than the limit, if there are more
 */
export function toPage(rows, { limit, tag }) {
  const plants = rows.slice(0, limit).map(toPlant);
  if (rows.length <= limit) return { plants };
  const query = new URLSearchParams({ limit, after: plants.at(-1).id });
  if (tag !== undefined) query.set('tag', tag);
  return { plants, link: `</plants?${query}>; rel="next"` };
}
