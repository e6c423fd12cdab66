import { expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import type { ClientRequest } from './client.js';
import { CLIENT_MEMORY, RequestLimits } from './request-limits.js';
import { holdRequest, READ_AHEAD } from './request-memory.js';
import { RequestState } from '../state/request-state.js';

const limits = new RequestLimits();

function makeRequest(headers: object): IncomingMessage & ClientRequest {
  const request = { ip: '192.0.2.1', state: new RequestState(limits), headers, rawHeaders: [] };
  return request as unknown as IncomingMessage & ClientRequest;
}

it.each([
  ['of unknown length', { 'transfer-encoding': 'chunked' }, READ_AHEAD],
  ['that is long', { 'content-length': '100000000' }, READ_AHEAD],
  ['that is short', { 'content-length': '65536' }, 65_536],
])(
  'so many requests with a body %s are held, and the next one drops the first',
  async (_, headers, bytes) => {
    const requests = Array.from({ length: CLIENT_MEMORY / bytes + 1 }, () => makeRequest(headers));
    let answer = (): void => undefined;
    const awaited = new Promise<string>((resolve) => (answer = () => resolve('accepted')));
    const held = requests.map((request) => holdRequest(request, awaited));
    await expect(held[0]).rejects.toThrow('The store is unavailable or overloaded');
    answer();
    expect(new Set(await Promise.all(held.slice(1)))).toEqual(new Set(['accepted']));
    expect(limits.memory).toHaveProperty('amount', 0);
  },
);
