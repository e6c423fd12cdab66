/** How many faults of one request are named. */
const MAX_FAULTS = 100;
/** The longest text about all faults, in characters: a client chooses the names in it. */
const MAX_LENGTH = 10_000;

/** Lists the faults of a request in one text, each once. */
export function joinFaults(faults: readonly string[]): string {
  const text = [...new Set(faults.slice(0, MAX_FAULTS))].join('; ');
  const isLong = text.length > MAX_LENGTH;
  const shown = isLong ? text.slice(0, MAX_LENGTH).toWellFormed() : text;
  return isLong || faults.length > MAX_FAULTS ? `${shown}; and more` : shown;
}
