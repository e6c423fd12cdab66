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
 * Takes the answers, also those of 1xx, from received bytes, and leaves the rest.
 *
 * @throws Error for bytes that are not HTTP answers, and for an answer in chunks
 */
export function takeAnswers(received: Buffer): { answers: HttpAnswer[]; rest: Buffer } {
  const answers: HttpAnswer[] = [];
  for (let rest = received; ;) {
    const headLength = rest.indexOf(END_OF_HEAD);
    if (headLength === -1) return { answers, rest };
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, headLength).split('\r\n');
    const [, status] = STATUS_LINE.exec(statusLine) ?? [];
    if (status === undefined) throw new Error(`not a status line: ${statusLine}`);
    const headers = readHeaders(lines);
    if ('transfer-encoding' in headers) throw new Error('the answer is in chunks');
    const start = headLength + END_OF_HEAD.length;
    const end = start + Number(headers['content-length'] ?? 0);
    if (end > rest.length) return { answers, rest };
    const body = UTF_8.decode(rest.subarray(start, end));
    answers.push({ status: Number(status), headers, body });
    rest = rest.subarray(end);
  }
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

/** Lists the answers in received bytes. */
export function listAnswers(received: Buffer): HttpAnswer[] {
  const { answers, rest } = takeAnswers(received);
  if (rest.length > 0) throw new Error('the answer is cut off');
  return answers;
}
