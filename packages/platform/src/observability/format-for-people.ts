/** The colours of ANSI terminals (SGR codes). */
const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const BLUE = 34;
const MAGENTA = 35;
const CYAN = 36;
const GRAY = 90;

/** The names and colours of pino's levels. */
const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ['TRACE', GRAY],
  20: ['DEBUG', BLUE],
  30: ['INFO', GREEN],
  40: ['WARN', YELLOW],
  50: ['ERROR', RED],
  60: ['FATAL', MAGENTA],
};

/** The members of a request that its message has, and its id, which only programs look up. */
const OF_REQUEST = ['requestId', 'method', 'path', 'status', 'ms'];

/** An error as pino writes it. Its stack begins with its type and its message. */
interface LoggedError {
  readonly type?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
}

/** The members of a line that are printed before the others. Loggers may give them any value. */
interface Line {
  readonly level: number;
  /** In milliseconds since 1970. */
  readonly time: number;
  readonly context?: unknown;
  readonly msg?: unknown;
  readonly err?: LoggedError | null;
  /** Of a request, like `ms`. */
  readonly method?: unknown;
  readonly ms?: unknown;
}

/** Converts lines of JSON to text for a person at a terminal. */
export function formatForPeople(lines: string): string {
  // This is false if NO_COLOR is set, or for a terminal without colours.
  const hasColors = process.stdout.hasColors();
  const texts = lines.split('\n').filter((line) => line !== '');
  return texts.map((line) => `${formatLine(line, hasColors)}\n`).join('');
}

/**
 * Converts a line of JSON to the local time, the level, the context, the message and all other
 * members. The stack of an error follows.
 */
export function formatLine(line: string, hasColors: boolean): string {
  const paint = (colour: number, text: string): string =>
    hasColors && text !== '' ? `\u001B[${colour}m${text}\u001B[39m` : text;
  const { level, time, context = '', msg = '', err, ...others } = JSON.parse(line) as Line;
  const { type, message, stack, ...ofError } = err ?? {};
  const title = `${formatValue(type)}: ${formatValue(message)}`;
  const trace = stack === undefined ? title : formatValue(stack);
  const hasTitle = err != null && msg === message && trace.startsWith(title);
  const members = new Map<string, unknown>(Object.entries({ ...others, ...ofError }));
  let shown = hasTitle ? title : formatValue(msg);
  if (others.method !== undefined && typeof others.ms === 'number') {
    shown += ` ${Math.round(others.ms)} ms`;
    for (const name of OF_REQUEST) members.delete(name);
  }
  const [name, colour] = LEVELS[level] ?? [String(level), GRAY];
  const parts = [
    paint(GRAY, formatTime(new Date(time))),
    paint(colour, name.padEnd(5)),
    paint(CYAN, formatValue(context)),
    shown,
    paint(GRAY, formatMembers(members)),
  ];
  const text = parts.filter((part) => part !== '').join(' ');
  // The line has the title already.
  if (hasTitle) return text + trace.slice(title.length);
  return err == null ? text : `${text}\n    ${trace}`;
}

function formatTime(date: Date): string {
  const milliseconds = String(date.getMilliseconds()).padStart(3, '0');
  return `${date.toTimeString().slice(0, 8)}.${milliseconds}`;
}

function formatMembers(members: ReadonlyMap<string, unknown>): string {
  return Array.from(members, ([name, value]) => `${formatValue(name)}=${formatValue(value)}`).join(
    ' ',
  );
}

/** Escapes control characters, which could be commands to the terminal, and indents further lines. */
function formatValue(value: unknown = ''): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/(?!\n)\p{Cc}/gu, escapeControl).replaceAll('\n', '\n    ');
}

function escapeControl(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
