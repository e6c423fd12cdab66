/** How many faults of one request are named. */
export const MAX_FAULTS = 100;

/** Lists the faults of a request in one text, each once. */
export function joinFaults(faults: readonly string[]): string {
  const text = [...new Set(faults.slice(0, MAX_FAULTS))].join('; ');
  return faults.length > MAX_FAULTS ? `${text}; and more` : text;
}
