/** The codes with which SQLite refuses a row itself; with any other it was not able to store it. */
const REFUSALS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

export function isRefusal(error: unknown): boolean {
  return REFUSALS.has(codeOf(error));
}

/** The code of a driver's or the system's error, or an empty string. */
export function codeOf(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}
