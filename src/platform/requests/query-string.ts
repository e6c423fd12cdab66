/** The text is not a query of percent-encoded UTF-8. */
export class QuerySyntaxError extends Error {}

/**
 * Parses the parameters of a URL's query in their order, as browsers and `URLSearchParams` encode
 * them: `+` is a space, a name without `=` has an empty value, and empty pieces are ignored.
 *
 * @throws QuerySyntaxError
 */
export function parseQuery(url: string): (readonly [name: string, value: string])[] {
  const start = url.indexOf('?');
  if (start === -1) return [];
  return url
    .slice(start + 1)
    .split('&')
    .filter((piece) => piece !== '')
    .map((piece) => {
      const equals = piece.indexOf('=');
      return equals === -1
        ? [decode(piece), '']
        : [decode(piece.slice(0, equals)), decode(piece.slice(equals + 1))];
    });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new QuerySyntaxError();
  }
}
