import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { nameClient } from '../limits/client.js';
import { CHUNKS_PER_SECOND, countChunk, FREE_CHUNKS, JoinedChunks } from './chunk-rate.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/**
 * Makes a connection that delivers this many chunks whenever it is read, so many times. It is read
 * every millisecond unless it is paused.
 */
function sender(client: string, chunks: number, log: string[], reads = Infinity): Socket {
  let sent = 0;
  let isPaused = false;
  const read = (): void => {
    if (isPaused || reads-- <= 0) return;
    log.push(client);
    for (let index = 0; index < chunks; index++) countChunk(socket, ++sent);
  };
  const reading = setInterval(read, 1);
  const socket = Object.assign(new EventEmitter(), {
    pause: () => {
      isPaused = true;
      return socket;
    },
    resume: () => {
      isPaused = false;
      return socket;
    },
    isPaused: () => isPaused,
    destroy: () => log.push(`${client} is closed`),
  }) as unknown as Socket;
  nameClient(socket, client);
  socket.on('close', () => clearInterval(reading));
  read();
  return socket;
}

it('reads a body of few chunks at once', () => {
  const log: string[] = [];
  sender('one', FREE_CHUNKS, log, 1);
  jest.advanceTimersByTime(10_000);
  expect(log).toEqual(['one']);
});

it('closes further connections of a client that begins too many such bodies at a time', () => {
  const log: string[] = [];
  for (const client of ['greedy', 'greedy', 'greedy', 'modest', 'greedy']) {
    sender(client, CHUNKS_PER_SECOND, log, 1);
  }
  expect(log.filter((line) => line.includes('closed'))).toEqual([
    'greedy is closed',
    'greedy is closed',
  ]);
  jest.advanceTimersByTime(10_000);
});

it('reads the bodies of others while one client begins more and more of them', () => {
  const log: string[] = [];
  // Each read is more than what the rate allows at once.
  sender('modest', 400, log, 100);
  for (let time = 0; time < 100; time++) {
    sender('greedy', 10_000, log, 1);
    jest.advanceTimersByTime(250);
  }
  expect(log.filter((line) => line === 'modest')).toHaveLength(100);
  jest.advanceTimersByTime(10_000);
});

it('forgets connections that have closed', () => {
  const log: string[] = [];
  const sockets = ['one', 'one'].map((client) => sender(client, CHUNKS_PER_SECOND / 4, log));
  for (const socket of sockets) socket.emit('close');
  jest.advanceTimersByTime(10_000);
  expect(sockets.map((socket) => socket.isPaused())).toEqual([true, true]);
});

it('reads on for a client whose connection sends another body under another name', () => {
  const log: string[] = [];
  const count = (socket: Socket, chunks: number): void => {
    for (let index = 1; index <= chunks; index++) countChunk(socket, index);
  };
  const twice = sender('one', FREE_CHUNKS, log, 0);
  count(twice, 2_000);
  nameClient(twice, 'two');
  count(twice, 2_000);
  jest.advanceTimersByTime(1_000);
  expect(twice.isPaused()).toBe(false);
  const other = sender('one', 2_000, log, 2);
  expect(other.isPaused()).toBe(true);
  jest.advanceTimersByTime(1_000);
  expect(log).toEqual(['one', 'one']);
  jest.advanceTimersByTime(10_000);
});

it('reads so many chunks in a second and no more, client by client', () => {
  const log: string[] = [];
  const chunks = CHUNKS_PER_SECOND / 4;
  const clients = ['greedy', 'greedy', 'greedy', 'modest'];
  const sockets = clients.map((client) => sender(client, chunks, log));
  log.length = 0;
  jest.advanceTimersByTime(1_000);
  log.length = 0;
  jest.advanceTimersByTime(2_000);
  expect(log.length).toBeLessThanOrEqual(8);
  expect(log.filter((client) => client === 'modest').length).toBeGreaterThanOrEqual(3);
  for (const socket of sockets) socket.emit('close');
  jest.advanceTimersByTime(10_000);
});

describe('joined chunks', () => {
  const chunks = ['one', 'two', 'three'].map((text) => Buffer.from(text));

  function join(readableHighWaterMark: number): { joined: JoinedChunks; passed: string[] } {
    const request = { readableLength: 2, readableHighWaterMark } as IncomingMessage;
    const passed: string[] = [];
    return { joined: new JoinedChunks(request, (bytes) => passed.push(String(bytes))), passed };
  }

  it('are passed on as one, once for each turn of the event loop', () => {
    const { joined, passed } = join(100);
    for (const chunk of chunks) joined.add(chunk);
    expect(passed).toEqual([]);
    jest.advanceTimersByTime(0);
    joined.add(Buffer.from('four'));
    jest.advanceTimersByTime(0);
    expect(passed).toEqual(['onetwothree', 'four']);
  });

  it('are passed on at once at the end of the body', () => {
    const { joined, passed } = join(100);
    for (const chunk of chunks) joined.add(chunk);
    joined.flush();
    jest.advanceTimersByTime(0);
    expect(passed).toEqual(['onetwothree']);
  });

  it('stop the reading when, with what waits in the stream, they are as long as it may be', () => {
    const { joined } = join(2 + 'onetwothree'.length);
    expect(chunks.map((chunk) => joined.add(chunk))).toEqual([true, true, false]);
  });
});
