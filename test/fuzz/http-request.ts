import { Choices } from './choices.js';

/** A request as it goes over the wire. Header values are Latin-1, one character a byte. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Whether the body has a Content-Length, comes in chunks, or is not announced (and not sent). */
  readonly framing: 'length' | 'chunked' | 'none';
  /** Chooses where chunks end and how they are written. */
  readonly chunking: number;
  /** Whether the body is written some time after the head. */
  readonly pause: boolean;
}

const CRLF = '\r\n';

/** The bytes of a request: one part, or two with a pause between them. */
export function bytesOf(request: HttpRequest): Buffer[] {
  const lines = [
    `${request.method} ${request.target} HTTP/1.1`,
    'Host: localhost',
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
  ];
  if (request.framing === 'length') lines.push(`Content-Length: ${request.body.length}`);
  if (request.framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  const head = Buffer.from(lines.join(CRLF) + CRLF + CRLF, 'latin1');
  if (request.framing === 'none') return [head];
  const body = request.framing === 'chunked' ? chunk(request) : request.body;
  return request.pause ? [head, body] : [Buffer.concat([head, body])];
}

function chunk({ body, chunking }: HttpRequest): Buffer {
  const choices = new Choices(chunking);
  const parts: (Buffer | string)[] = [];
  for (let start = 0; start < body.length;) {
    const size = choices.pick(body.length, 1, 7, 64, 4096, choices.below(body.length) + 1);
    const data = body.subarray(start, start + size);
    const length = data.length.toString(16);
    const line = choices.pick(length, length.toUpperCase(), `0${length}`, `${length};name=value`);
    // A handful of small chunks tries what hundreds would.
    if (parts.length > 100) return finish([...parts, restOf(body.subarray(start))], choices);
    parts.push(line, CRLF, data, CRLF);
    start += size;
  }
  return finish(parts, choices);
}

function restOf(data: Buffer): Buffer {
  return join([data.length.toString(16), CRLF, data, CRLF]);
}

function finish(parts: (Buffer | string)[], choices: Choices): Buffer {
  return join([...parts, '0', CRLF, choices.pick('', '', '', `X-Trailer: 1${CRLF}`), CRLF]);
}

function join(parts: (Buffer | string)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')));
}

const SHOWN = 4_000;

/** The raw text of a request for people to read; what is not visible ASCII is escaped. */
export function textOf(request: HttpRequest): string {
  const raw = Buffer.concat(bytesOf(request)).toString('latin1');
  const shown = raw.slice(0, SHOWN).replace(/[^\n -~]/g, (character) => {
    if (character === '\r') return '\\r';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return raw.length > SHOWN ? `${shown}... (${raw.length} bytes)` : shown;
}
