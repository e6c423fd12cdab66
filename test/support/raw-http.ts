import { once } from 'node:events';
import { connect } from 'node:net';

/** What came back on a connection until it was closed, or until `enough` was true of it. */
export async function exchange(
  port: number,
  bytes: string | Uint8Array,
  enough: (received: string) => boolean = () => false,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.setEncoding('utf8');
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  let received = '';
  for await (const chunk of socket) {
    received += chunk as string;
    if (enough(received)) break;
  }
  socket.destroy();
  return received;
}

export interface RawAnswer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** What followed the answer on the connection. */
  readonly rest: string;
}

/** Takes the first answer, whose length must be stated, from what was received. */
export function parseAnswer(received: string): RawAnswer {
  const end = received.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: received.slice(end + 4, bodyEnd),
    rest: received.slice(bodyEnd),
  };
}
