/** An answer as it came over the wire. Header names are in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** Whether the connection ends with this answer. */
  readonly closes: boolean;
}

/** What came back is not an HTTP answer. */
export class MalformedAnswerError extends Error {}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t -~]*$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
const END_OF_HEAD = '\r\n\r\n';

/**
 * Reads the final answer from what has been received for one request; undefined while it is not
 * complete.
 *
 * @throws MalformedAnswerError
 */
export function readAnswer(bytes: Buffer, forHead: boolean, ended: boolean): Answer | undefined {
  const headLength = bytes.indexOf(END_OF_HEAD);
  if (headLength === -1) {
    if (ended && bytes.length > 0) throw new MalformedAnswerError('the answer is cut off');
    return undefined;
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headLength).split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new MalformedAnswerError(`not a status line: ${statusLine}`);
  const rest = bytes.subarray(headLength + END_OF_HEAD.length);
  if (status < 200) return readAnswer(rest, forHead, ended);

  const headers = readHeaders(lines);
  const body = readBody(rest, headers, forHead || status === 204 || status === 304, ended);
  if (body === undefined) return undefined;
  return { status, headers, body, closes: ended || headers.get('connection') === 'close' };
}

function readHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new MalformedAnswerError(`not a header line: ${line}`);
    }
    const known = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), known === undefined ? value : `${known}, ${value}`);
  }
  return headers;
}

function readBody(
  rest: Buffer,
  headers: ReadonlyMap<string, string>,
  isEmpty: boolean,
  ended: boolean,
): Buffer | undefined {
  if (!isEmpty && headers.get('transfer-encoding') === 'chunked') return readChunks(rest, ended);
  const declared = headers.get('content-length');
  if (!isEmpty && declared === undefined) return ended ? rest : undefined;
  const length = isEmpty ? 0 : Number(declared);
  if (rest.length > length) throw new MalformedAnswerError('more bytes follow the answer');
  if (rest.length === length) return rest;
  if (ended) throw new MalformedAnswerError('the body of the answer is cut off');
  return undefined;
}

function readChunks(rest: Buffer, ended: boolean): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let position = 0; ;) {
    const line = rest.indexOf('\r\n', position);
    const size = line === -1 ? NaN : parseInt(rest.toString('latin1', position, line), 16);
    const start = line + 2;
    if (Number.isNaN(size) || rest.length < start + size + 2) {
      if (ended) throw new MalformedAnswerError('the body of the answer is cut off');
      return undefined;
    }
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(rest.subarray(start, start + size));
    position = start + size + 2;
  }
}
