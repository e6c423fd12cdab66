/** Returns the code of an error of a driver or the system; an empty string if there is none. */
export function getErrorCode(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}
