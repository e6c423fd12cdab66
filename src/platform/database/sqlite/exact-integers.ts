/**
 * Writes a query for the same rows in which integers are text, since the driver rounds large ones.
 * Large floating-point numbers stay numbers.
 *
 * @param rows the rows of the query as the driver returned them
 * @returns undefined if the driver has rounded nothing
 */
export function withExactIntegers(
  sql: string,
  rows: readonly Record<string, unknown>[],
): string | undefined {
  const rounded = new Set<string>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) if (mayBeRounded(value)) rounded.add(name);
  }
  if (rounded.size === 0) return undefined;
  const exact = [...rounded]
    .map((name) => `"${name.replaceAll('"', '""')}"`)
    .map(
      (name) =>
        `CASE typeof(${name}) WHEN 'integer' THEN CAST(${name} AS TEXT) ELSE ${name} END AS ${name}`,
    );
  return `SELECT *, ${exact.join(', ')} FROM (${sql})`;
}

/** Whether a value may be an int64 that was rounded. */
function mayBeRounded(value: unknown): boolean {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    Math.abs(value) <= 2 ** 63
  );
}
