/** The entries of a comma-separated list, without blanks around them and without empty ones. */
export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
