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
  let received = '';
  socket.setEncoding('latin1');
  socket.on('error', () => undefined);
  socket.write(bytes);
  for await (const chunk of socket) {
    received += chunk as string;
    if (enough(received)) break;
  }
  socket.destroy();
  return received;
}
