import type { IncomingHttpHeaders } from 'node:http';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** JSON, unless a header says otherwise. */
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a request to one of the programs. Without an answer, its outcome is unknown. */
export type Send = (request: Request) => Promise<Answer | undefined>;

/** @param state the JSON of its name and tag */
export function makeCreate(id: bigint, state: string): Request {
  return { method: 'POST', path: '/plants', body: writeRow(id, state) };
}

export function writeRow(id: bigint, state: string): string {
  return state.replace('{', `{"id":${id},`);
}

/** Reads JSON whose members `id` may be longer than a number. */
export function parseWithIds(text: string): unknown {
  return JSON.parse(text.replaceAll(/"id":(-?\d+)/g, '"id":"$1"'));
}

export function toState({ name, tag }: { readonly name: string; readonly tag?: string }): string {
  return JSON.stringify({ name, tag });
}

/** Exports all plants. Asks again when the answer was cut off. */
export async function exportPlants(send: Send): Promise<Map<string, string>> {
  for (;;) {
    const headers = { Accept: 'application/x-ndjson' };
    const answer = await send({ method: 'GET', path: '/plants', headers });
    if (answer?.status !== 200) continue;
    const lines = answer.body.split('\n').slice(0, -1);
    return new Map(
      lines.map((line) => {
        const { id, ...row } = parseWithIds(line) as { id: string; name: string; tag?: string };
        return [id, toState(row)];
      }),
    );
  }
}
