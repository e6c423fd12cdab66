import type { HttpAnswer } from '../../support/http/answer.js';
import type { HttpRequest } from '../../support/http/request.js';
import { makeRequest } from '../../support/plant-requests.js';
import { PLANTS, type Send } from './history.js';

// A planting, whose key has two columns, is a register like a plant: its quantity takes the place
// of the name, and its date that of the tag.

const CREATED_AT_ONCE = 32;
const QUANTITIES = ['a', 'b'];
const DATES: readonly (readonly [tag: string | undefined, date: string])[] = [
  [undefined, '2026-01-01'],
  ['', '2026-01-02'],
  ['t', '2026-01-03'],
];
/** The codes of plantings, each with the equivalent code of plants. */
const CODES: Readonly<Record<string, string>> = { 40490: '40401', 40990: '40900', 40991: '40901' };

/** Makes a function that sends requests about plants to the plantings of a separate garden. */
export async function sendToPlantings(send: Send, lastId: number): Promise<Send> {
  const gardenId = await createGarden(send);
  // Each planting needs its plant. Ids below 0 belong to the requests that read the ETags.
  let id = -1 - PLANTS.length;
  const createPlants = async (): Promise<void> => {
    while (id < lastId) {
      const plant = `{"id":${++id},"name":"n"}`;
      await retry(() => send(makeRequest(plant)), [200, 409]);
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, createPlants));
  return async (request) => {
    const answer = await send(toPlanting(request, gardenId));
    return answer && toPlant(answer, gardenId);
  };
}

async function createGarden(send: Send): Promise<string> {
  const garden = '{"name":"registers","kind":"herb","area":1,"openedAt":"2026-01-01T00:00:00Z"}';
  const { body } = await retry(() => send(makeRequest(garden, { target: '/gardens' })), [201]);
  return (JSON.parse(body) as { id: string }).id;
}

/** A program may be killed meanwhile. */
async function retry(
  ask: () => ReturnType<Send>,
  statuses: readonly number[],
): Promise<HttpAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer === undefined || answer.status === 503) continue;
    if (!statuses.includes(answer.status)) throw new Error(answer.body);
    return answer;
  }
}

function toPlanting(request: HttpRequest, gardenId: string): HttpRequest {
  const url = new URL(request.target, 'http://localhost');
  const [, , id] = url.pathname.split('/');
  const { method, body, target } = request;
  if (id !== undefined) {
    const write = method === 'PATCH' ? writePatch : writePlanting;
    const text = body.length === 0 ? '' : write(body.toString());
    return { ...request, target: `/plantings/${gardenId}/${id}`, body: Buffer.from(text) };
  }
  if (method === 'POST') {
    const text = writePlanting(body.toString(), gardenId);
    return { ...request, target: '/plantings', body: Buffer.from(text) };
  }
  const after = url.searchParams.get('after');
  if (after === null) throw new TypeError(`nothing stands for ${target}`);
  const key = `gardenId=${gardenId}&plantId=${BigInt(after) + 1n}`;
  const tag = url.searchParams.get('tag');
  const date = tag === null ? '' : `&plantedOn=${toDate(tag)}`;
  return { ...request, target: `/plantings?${key}${date}` };
}

function writePlanting(plant: string, gardenId?: string): string {
  const { name, tag } = JSON.parse(plant) as { name: string; tag?: string };
  const id = /"id":(-?\d+)/.exec(plant)?.[1] ?? '';
  const key = gardenId === undefined ? '' : `"gardenId":"${gardenId}","plantId":${id},`;
  return `{${key}"plantedOn":"${toDate(tag)}","quantity":${QUANTITIES.indexOf(name)}}`;
}

function writePatch(patch: string): string {
  const { name, tag } = JSON.parse(patch) as { name?: string; tag?: string | null };
  return JSON.stringify({
    ...(tag !== undefined && { plantedOn: toDate(tag ?? undefined) }),
    ...(name !== undefined && { quantity: QUANTITIES.indexOf(name) }),
  });
}

function toDate(tag: string | undefined): string {
  return DATES.find(([one]) => one === tag)?.[1] ?? '';
}

function toPlant(answer: HttpAnswer, gardenId: string): HttpAnswer {
  const body = answer.body
    .replaceAll(`"gardenId":"${gardenId}","plantId":`, '"id":')
    .replaceAll(/"plantedOn":"(.*?)","quantity":(\d)/g, (_, date: string, quantity: string) => {
      const tag = DATES.find(([, one]) => one === date)?.[0];
      return JSON.stringify({ name: QUANTITIES[Number(quantity)], tag }).slice(1, -1);
    })
    .replace(/"error":(\d+)/, (text, code: string) => text.replace(code, CODES[code] ?? code));
  return { ...answer, body };
}
