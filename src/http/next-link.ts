type Parameter = string | number | bigint | undefined;

/** The value of a `Link` header (RFC 8288) to the next page, which is of this path and query. */
export function nextLink(path: string, query: Readonly<Record<string, Parameter>>): string {
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `<${path}?${parameters.join('&')}>; rel="next"`;
}
