import { readFileSync } from 'node:fs';

/**
 * Reads the paths on which something is mounted, as this process sees them. The numbers of devices
 * are not enough: a mount may be of the same device, and the files of an overlay may each have
 * another.
 *
 * @returns none where the system does not list them: only Linux does
 */
export function readMountPoints(): ReadonlySet<string> {
  try {
    return parseMountPoints(readFileSync('/proc/self/mountinfo', 'utf8'));
  } catch {
    return new Set();
  }
}

/**
 * Parses the text of /proc/self/mountinfo (`man 5 proc_pid_mountinfo`). The fifth word of a line is
 * the path, in which blanks and some other characters are octal numbers.
 */
export function parseMountPoints(text: string): ReadonlySet<string> {
  const lines = text.split('\n').filter((line) => line !== '');
  return new Set(lines.map((line) => unescapePath(line.split(' ')[4] ?? '')));
}

function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
