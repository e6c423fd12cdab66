import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** A step of a program: a change of its files or an answer, in the order of its system calls. */
export type Step =
  | { readonly kind: 'create' | 'mkdir' | 'unlink'; readonly path: string }
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly offset: number;
      readonly bytes: Buffer;
    }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  /** The end of the flush of a file or a folder, which began so many steps before. */
  | { readonly kind: 'flush' | 'failed flush'; readonly path: string; readonly lasted: number }
  | { readonly kind: 'answer'; readonly text: string };

export interface Trace {
  readonly steps: readonly Step[];
  /** Whether the program was killed during calls, whose effects are then unknown. */
  readonly isCutOff: boolean;
}

/** The calls that change files and folders, those that flush them, and those that send. */
const CALLS = [
  ...['open', 'openat', 'creat', 'mkdir', 'mkdirat', 'truncate', 'ftruncate', 'fallocate'],
  ...['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'sendfile', 'copy_file_range'],
  ...['rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'mmap'],
  ...['fsync', 'fdatasync', 'sendto', 'sendmsg'],
];

/**
 * Makes the command that runs another and writes its system calls, with all their bytes, to a file.
 */
export function tracer(file: string, ...options: string[]): string[] {
  const whole = ['-y', '-xx', '-s', '1000000', '-o', file];
  return ['strace', '-f', '--seccomp-bpf', '-e', `trace=${CALLS.join()}`, ...whole, ...options];
}

interface Call {
  readonly name: string;
  readonly args: string;
  /** NaN when a kill came before it was known. */
  result: number;
  /** The number of steps before it. */
  begin: number;
}

/**
 * Reads the file of the tracer.
 *
 * @param folder the current folder of the program, whose files and folders count, except SQLite's
 *   shared memory
 * @throws Error for a call that changes them in an unknown way
 */
export async function readTrace(file: string, folder: string): Promise<Trace> {
  const events = await readEvents(file);
  const steps: Step[] = [];
  for (const { call, isEnd } of events) {
    if (!isEnd) call.begin = steps.length;
    const step = toStep(call, isEnd, steps.length - call.begin, folder);
    if (step !== undefined) steps.push(step);
  }
  const isCutOff = events.some(({ call }) => Number.isNaN(call.result));
  return { steps, isCutOff };
}

async function readEvents(file: string): Promise<{ call: Call; isEnd: boolean }[]> {
  const events: { call: Call; isEnd: boolean }[] = [];
  const underWay = new Map<string, Call>();
  for await (const line of createInterface({ input: createReadStream(file, 'latin1') })) {
    const space = line.indexOf(' ');
    const thread = line.slice(0, space);
    const rest = line.slice(space).trimStart();
    const end = rest.lastIndexOf(' = ');
    const name = /^\w+(?=\()/.exec(rest)?.[0];
    if (name !== undefined) {
      const args = rest.slice(name.length + 1, end === -1 ? rest.lastIndexOf(' <') : end).trimEnd();
      const call = { name, args: end === -1 ? args : args.slice(0, -1), result: NaN, begin: 0 };
      underWay.set(thread, call);
      events.push({ call, isEnd: false });
    }
    const call = underWay.get(thread);
    if (call !== undefined && end !== -1) {
      call.result = parseInt(rest.slice(end + 3));
      events.push({ call, isEnd: true });
      underWay.delete(thread);
    }
  }
  return events;
}

/** The changes of a call may be on disk as soon as it begins. A flush counts when it has ended. */
function toStep(
  { name, args, result }: Call,
  isEnd: boolean,
  lasted: number,
  folder: string,
): Step | undefined {
  if (isEnd !== name.endsWith('sync') || (result < 0 && !isEnd)) return undefined;
  const paths = pathsIn(args, folder);
  if (paths[0]?.startsWith('socket:')) {
    return { kind: 'answer', text: bytesIn(args).toString('latin1') };
  }
  const path = paths.find((path) => isKept(path, folder));
  if (path === undefined) return undefined;
  switch (name) {
    case 'fsync':
    case 'fdatasync':
      // A flush that a kill interrupted has not failed: a later flush completes it.
      if (Number.isNaN(result)) return undefined;
      return { kind: result === 0 ? 'flush' : 'failed flush', path, lasted };
    case 'open':
    case 'openat':
      if (args.includes('O_TRUNC')) break;
      return args.includes('O_CREAT') ? { kind: 'create', path } : undefined;
    case 'mkdir':
    case 'unlink':
      return { kind: name, path };
    case 'ftruncate':
      return { kind: 'truncate', path, size: lastNumber(args) };
    case 'pwrite64': {
      const bytes = bytesIn(args).subarray(0, Number.isNaN(result) ? undefined : result);
      return { kind: 'write', path, offset: lastNumber(args), bytes };
    }
    case 'mmap':
      if (!args.includes('PROT_WRITE')) return undefined;
  }
  throw new Error(`Nobody knows what ${name} does to ${path}: ${args.slice(0, 200)}`);
}

function isKept(path: string, folder: string): boolean {
  return `${path}/`.startsWith(`${folder}/`) && !path.endsWith('-shm');
}

/** The paths of the open files, or else those that are given as text. */
function pathsIn(args: string, folder: string): string[] {
  const open = [...args.matchAll(/\b\d+<([^>]*)>/g)].map(([, path = '']) =>
    decode(path).toString(),
  );
  return open.length > 0 ? open : textsIn(args).map((path) => resolve(folder, path.toString()));
}

function textsIn(args: string): Buffer[] {
  return [...args.matchAll(/"([^"]*)"/g)].map(([, text = '']) => decode(text));
}

function bytesIn(args: string): Buffer {
  return Buffer.concat(textsIn(args));
}

/** From `\x48\x69`. */
function decode(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}

function lastNumber(args: string): number {
  return Number(/\d+$/.exec(args)?.[0]);
}
