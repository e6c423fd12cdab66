import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ProgramFolder } from '../../support/program.js';
import { Load } from '../chaos/load.js';
import { Replica } from '../chaos/replica.js';
import type { Answer, Request, Send } from '../chaos/requests.js';

const SEED = 20_261_124;
/** After so many moves at the latest, the load is stopped. */
const MOVES = 40;

let folder: ProgramFolder;
let replica: Replica;
let faults: string[];

beforeEach(async () => {
  folder = await ProgramFolder.create();
  faults = [];
  replica = await Replica.start(folder, {}, faults);
});

afterEach(() => folder.remove());

type Forge = (request: Request, send: Send) => Promise<Answer | undefined>;

/** The answers of a program with a bug, by the fault that its proof must name. */
const BUGS: readonly (readonly [fault: string, forge: () => Forge])[] = [
  [
    'an acknowledged plant is lost',
    () => async (request, send) => {
      if (request.path !== '/plants/import') return await send(request);
      const [, ...kept] = (request.body ?? '').split(/(?<=\n)/);
      const answer = await send({ ...request, body: kept.join('') });
      const body = JSON.stringify({ created: kept.length + 1, identical: 0 });
      return answer?.status === 200 ? { ...answer, body } : answer;
    },
  ],
  [
    'not linearizable',
    () => {
      const cache = new Map<string, Answer>();
      return async (request, send) => {
        const isRead = request.method === 'GET' && /^\/plants\/\d+$/.test(request.path);
        const { 'If-Match': match, 'If-None-Match': noMatch } = request.headers ?? {};
        if (!isRead || (match ?? noMatch) !== undefined) return await send(request);
        const answer = cache.get(request.path) ?? (await send(request));
        if (answer !== undefined) cache.set(request.path, answer);
        return answer;
      };
    },
  ],
  [
    'a change is missing from the feed',
    () => async (request, send) => {
      const answer = await send(request);
      if (!request.path.startsWith('/changes') || answer?.status !== 200) return answer;
      const replaced = /\{"cursor":"[^"]*","type":"plant.replaced"[^}]*\}\},(?=\{)/;
      return { ...answer, body: answer.body.replace(replaced, '') };
    },
  ],
  [
    'half a transaction',
    () => async (request, send) => {
      const isMove = request.method === 'POST' && request.path.startsWith('/moves');
      if (!isMove || request.path.includes('undo=true')) return await send(request);
      const query = new URL(request.path, 'http://localhost').searchParams;
      const [receipt, from, to, quantity] = ['receipt', 'from', 'to', 'quantity'].map((name) =>
        query.get(name),
      );
      const body = `{"id":${receipt},"name":"${from} ${to} ${quantity}"}`;
      const answer = await send({ method: 'POST', path: '/plants', body });
      return answer?.status === 200 ? { ...answer, status: 201 } : answer;
    },
  ],
];

it.each(BUGS)('the proof finds a program with the bug: %s', async (fault, forge) => {
  const forged = forge();
  let moves = 0;
  const send: Send = (request) => {
    if (request.method === 'POST' && request.path.startsWith('/moves')) moves++;
    return forged(request, (one) => replica.send(one));
  };
  const load = new Load({ seed: SEED, send, faults, longestMs: 1, patienceMs: 2_000 });
  do await load.audit();
  while (faults.length === 0 && moves < MOVES);
  await load.stop();
  expect(faults[0]).toContain(fault);
});
