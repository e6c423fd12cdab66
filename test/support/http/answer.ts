/** An answer as it was received. */
export interface HttpAnswer {
  readonly status: number;
  /** By name in lower case; the values of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t -~]*$/;
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
const END_OF_HEAD = '\r\n\r\n';
export const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Takes the first final answer from received bytes, and leaves the rest; undefined while it is
 * incomplete.
 */
function takeAnswer(
  bytes: Buffer,
): { readonly answer: HttpAnswer; readonly rest: Buffer } | undefined {
  const headLength = bytes.indexOf(END_OF_HEAD);
  if (headLength === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headLength).split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${statusLine}`);
  const afterHead = bytes.subarray(headLength + END_OF_HEAD.length);
  if (status < 200) return takeAnswer(afterHead);

  const headers = readHeaders(lines);
  const isEmpty = status === 204 || status === 304;
  const { body, end } = isEmpty ? { body: Buffer.alloc(0), end: 0 } : readBody(afterHead, headers);
  if (body === undefined || end > afterHead.length) return undefined;
  return { answer: { status, headers, body: UTF_8.decode(body) }, rest: afterHead.subarray(end) };
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not a header line: ${line}`);
    const key = name.toLowerCase();
    headers[key] = Object.hasOwn(headers, key) ? `${headers[key] ?? ''}, ${value}` : value;
  }
  return headers;
}

/** Reads a body and the place where it ends; no body while it is incomplete. */
function readBody(
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): { readonly body?: Buffer; readonly end: number } {
  if (headers['transfer-encoding'] !== 'chunked') {
    const end = Number(headers['content-length']);
    return { body: bytes.subarray(0, end), end };
  }
  const chunks: Buffer[] = [];
  for (let start = 0; ;) {
    const line = bytes.indexOf('\r\n', start);
    const size = line === -1 ? NaN : parseInt(bytes.toString('latin1', start, line), 16);
    const end = line + 2 + size + 2;
    if (Number.isNaN(size) || bytes.length < end) return { end };
    if (size === 0) return { body: Buffer.concat(chunks), end };
    chunks.push(bytes.subarray(line + 2, end - 2));
    start = end;
  }
}

/**
 * Takes the answers from received bytes, and leaves the rest.
 *
 * @throws Error for bytes that are not HTTP answers
 */
export function takeAnswers(received: Buffer): { answers: HttpAnswer[]; rest: Buffer } {
  const answers: HttpAnswer[] = [];
  let rest = received;
  for (let taken = takeAnswer(rest); taken !== undefined; taken = takeAnswer(rest)) {
    answers.push(taken.answer);
    rest = taken.rest;
  }
  return { answers, rest };
}

/** Lists the answers in received bytes. */
export function listAnswers(received: Buffer): HttpAnswer[] {
  const { answers, rest } = takeAnswers(received);
  if (rest.length > 0) throw new Error('the answer is cut off');
  return answers;
}
