export type Field = readonly [name: string, value: string];

/** A request as it is sent. Header values are Latin-1, one character per byte. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Field[];
  readonly body: Buffer;
  /** How the body is announced: by default by its length; with `none` it is not sent. */
  readonly framing?: Framing;
}

/** The length of each chunk; the rest of the body is one more chunk. */
export type Framing = 'length' | 'none' | { readonly chunks: readonly number[] };

const CRLF = '\r\n';

/** Writes the bytes of a request. */
export function writeBytes(request: HttpRequest): Buffer {
  const { method, target, headers, body, framing = 'length' } = request;
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  if (framing === 'length') lines.push(`Content-Length: ${body.length}`);
  if (typeof framing === 'object') lines.push('Transfer-Encoding: chunked');
  const head = Buffer.from(lines.join(CRLF) + CRLF + CRLF, 'latin1');
  if (framing === 'none') return head;
  return Buffer.concat([head, framing === 'length' ? body : chunked(body, framing.chunks)]);
}

/** All the ways to write the length of a chunk. */
const LENGTHS: readonly ((length: string) => string)[] = [
  (length) => length,
  (length) => length.toUpperCase(),
  (length) => `0${length}`,
  (length) => `${length};name=value`,
];

function chunked(body: Buffer, chunks: readonly number[]): Buffer {
  const parts: (Buffer | string)[] = [];
  let start = 0;
  for (const size of [...chunks, body.length]) {
    const data = body.subarray(start, start + size);
    if (data.length === 0) break;
    const write = LENGTHS[(parts.length / 4) % LENGTHS.length] ?? String;
    parts.push(write(data.length.toString(16)), CRLF, data, CRLF);
    start += size;
  }
  const trailer = chunks.length % 2 === 0 ? '' : `X-Trailer: 1${CRLF}`;
  parts.push('0', CRLF, trailer, CRLF);
  return Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')));
}

const SHOWN = 4_000;

/** Writes the text of a request for people to read; bytes other than visible ASCII are escaped. */
export function textOf(request: HttpRequest): string {
  const raw = writeBytes(request).toString('latin1');
  const shown = raw.slice(0, SHOWN).replace(/[^\n -~]/g, (character) => {
    if (character === '\r') return '\\r';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return raw.length > SHOWN ? `${shown}... (${raw.length} bytes)` : shown;
}
