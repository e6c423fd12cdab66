/** The code of a driver's or the system's error, or an empty string. */
export function getErrorCode(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}
