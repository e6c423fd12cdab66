/** An answer as it was received. */
export interface HttpAnswer {
  readonly status: number;
  /** By name in lower case; the values of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the connection ends with this answer. */
  readonly closes: boolean;
}

/** The received bytes are not an HTTP answer. */
export class MalformedAnswerError extends Error {}

/** Received bytes, with their context. */
export interface Received {
  readonly bytes: Buffer;
  /** Whether the request was a HEAD, whose answer has no body. */
  readonly forHead?: boolean;
  /** Whether the connection has ended. */
  readonly ended?: boolean;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t -~]*$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
const END_OF_HEAD = '\r\n\r\n';
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Takes the first final answer from received bytes, and leaves the rest; undefined while it is
 * incomplete.
 *
 * @throws MalformedAnswerError
 */
export function takeAnswer({
  bytes,
  forHead = false,
  ended = false,
}: Received): { readonly answer: HttpAnswer; readonly rest: Buffer } | undefined {
  const headLength = bytes.indexOf(END_OF_HEAD);
  if (headLength === -1) {
    if (ended && bytes.length > 0) throw new MalformedAnswerError('the answer is cut off');
    return undefined;
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headLength).split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new MalformedAnswerError(`not a status line: ${statusLine}`);
  const afterHead = bytes.subarray(headLength + END_OF_HEAD.length);
  if (status < 200) return takeAnswer({ bytes: afterHead, forHead, ended });

  const headers = readHeaders(lines);
  const isEmpty = forHead || status === 204 || status === 304;
  const length = isEmpty ? 0 : findBodyLength(afterHead, headers, ended);
  if (length === undefined || length > afterHead.length) {
    if (ended) throw new MalformedAnswerError('the body of the answer is cut off');
    return undefined;
  }
  const sent = afterHead.subarray(0, length);
  const body = decode(headers['transfer-encoding'] === 'chunked' ? withoutChunks(sent) : sent);
  const closes = ended || headers.connection === 'close';
  return { answer: { status, headers, body, closes }, rest: afterHead.subarray(length) };
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new MalformedAnswerError(`not a header line: ${line}`);
    }
    const key = name.toLowerCase();
    headers[key] = Object.hasOwn(headers, key) ? `${headers[key] ?? ''}, ${value}` : value;
  }
  return headers;
}

/** Returns the length of the body in bytes; undefined while it is unknown. */
function findBodyLength(
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  ended: boolean,
): number | undefined {
  if (headers['transfer-encoding'] === 'chunked') {
    for (const { size, end } of listChunks(bytes)) if (size === 0) return end;
    return undefined;
  }
  if (headers['content-length'] !== undefined) return Number(headers['content-length']);
  return ended ? bytes.length : undefined;
}

function withoutChunks(bytes: Buffer): Buffer {
  return Buffer.concat(Array.from(listChunks(bytes), ({ data }) => data));
}

/** Lists the complete chunks, up to the last one, which is empty. */
function* listChunks(bytes: Buffer): Generator<{ size: number; data: Buffer; end: number }> {
  for (let position = 0; ;) {
    const line = bytes.indexOf('\r\n', position);
    const size = line === -1 ? NaN : parseInt(bytes.toString('latin1', position, line), 16);
    const end = line + 2 + size + 2;
    if (Number.isNaN(size) || bytes.length < end) return;
    yield { size, data: bytes.subarray(line + 2, end - 2), end };
    if (size === 0) return;
    position = end;
  }
}

function decode(body: Buffer): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw new MalformedAnswerError('the body of the answer is not UTF-8');
  }
}
