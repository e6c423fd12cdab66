import { OperatorError } from '../errors/operator.error.js';

/** The files in a stack whose errors need no stack: this package and Nest. */
const EXPLAINING = [new URL('..', import.meta.url).href, '/node_modules/@nestjs/'];
/** The line of a stack that names a file of the program, or of a package. */
const LOADER = 'node:internal/modules/';

/** An error of Node, perhaps with the address that it could not listen on. */
interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/**
 * Prints one line for each thing that the operator has to fix, and sets exit code 1.
 *
 * @param what has failed, for an error that does not say it
 */
export function printFailure(what: string, error: unknown): void {
  process.off('exit', explainExit);
  process.exitCode = 1;
  process.stderr.write(`${describeFailure(what, error)}\n`);
}

/** Explains an exit during the start for which no failure was printed. */
export function explainExit(): void {
  printFailure(
    'The service cannot start',
    'a module has called process.exit(), or waits for something that never happens',
  );
}

function describeFailure(what: string, error: unknown): string {
  if (typeof error !== 'object' || error === null) return `${what}: ${String(error)}`;
  if (isForOperator(error)) return error.message;
  if (error instanceof ReferenceError) return describeCircle(what, error);
  const { syscall, code, message, address, port, hostname = address } = error as SystemError;
  switch (`${syscall} ${code}`) {
    case 'listen EADDRINUSE':
      return `Port ${port} of ${address} is in use by another program: set PORT to a free one, or to 0`;
    case 'listen EADDRNOTAVAIL':
    case 'getaddrinfo ENOTFOUND':
    case 'getaddrinfo EAI_AGAIN':
      return `HOST is not an address of this machine: ${hostname}`;
    case 'listen EACCES':
      return `Port ${port} may not be opened by this user: set PORT to 1024 or more`;
    case 'uv_cwd ENOENT':
      return 'The current folder was removed: start the program in another one';
  }
  const { stack = message } = error as Error;
  const thrownAt = /^ +at .*$/m.exec(stack)?.[0] ?? '';
  if (thrownAt.includes(LOADER)) {
    // Further lines list the files that require a missing one.
    const [line] = message.split('\n');
    return `${what}: ${line}: install the packages with npm ci, and build with npm run build`;
  }
  // Messages of the system name what they are about.
  const isExplained =
    thrownAt === '' || syscall !== undefined || EXPLAINING.some((text) => thrownAt.includes(text));
  return `${what}: ${isExplained ? message : stack}`;
}

/** This file imports no package, so it knows the errors of the store by their mark. */
function isForOperator(error: object): error is Error {
  return error instanceof OperatorError || 'isForOperator' in error;
}

/** Names the class that a file uses before its own file has run, as in a circle of imports. */
function describeCircle(what: string, { message }: ReferenceError): string {
  const [, name] = /^Cannot access '(\w+)' before initialization$/.exec(message) ?? [];
  if (name === undefined) return `${what}: ${message}`;
  return `Two files import each other, and one of them uses ${name} too early. For a property of an entity write Relation<${name}> in place of ${name}, with import type { Relation } from 'typeorm'. Otherwise move what both files need into a third one`;
}
