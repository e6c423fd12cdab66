// What the peers answer reads with: parameters, ETags and links, as one writes them by hand.
import { createHash } from 'node:crypto';
import { URLSearchParams } from 'node:url';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const PAGE = { limit: 100, most: 1_000 };

/** @returns {number | undefined} what is not an integer is undefined */
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

/** A row without the tag that it does not have. */
export function plantOf({ id, name, tag }) {
  return tag === null ? { id, name } : { id, name, tag };
}

/** A strong one, of what is stored. */
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
 * The rows of a page, and the link to the next one if there is one.
 *
 * @param {object[]} rows one more than the limit where there are more
 */
export function pageOf(rows, { limit, tag }) {
  const plants = rows.slice(0, limit).map(plantOf);
  if (rows.length <= limit) return { plants };
  const query = new URLSearchParams({ limit, after: plants.at(-1).id });
  if (tag !== undefined) query.set('tag', tag);
  return { plants, link: `</plants?${query}>; rel="next"` };
}
