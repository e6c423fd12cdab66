import fc from 'fast-check';
import { makeEmptyRequest } from '../support/plant-requests.js';
import type { Api, FuzzOptions, Send } from './api.js';
import { COMMANDS, listRows } from './commands.js';
import { audit } from './list-command.js';
import { Model } from './model.js';
import { ensureStored } from './plant-commands.js';

/**
 * Sends random sequences of commands, each to an empty store, and compares the store with the model
 * after each. Rejects with the smallest sequence that fails.
 *
 * @param send sends the requests that empty the store
 */
export async function fuzzPlants(api: Api, send: Send, options: FuzzOptions): Promise<void> {
  const sequences = fc.commands([...COMMANDS], { maxCommands: 40, size: 'max' });
  const property = fc.asyncProperty(sequences, async (sequence) => {
    await emptyStore(send);
    const model = new Model();
    await fc.asyncModelRun(() => ({ model, real: api }), sequence);
    await audit(model, api);
  });
  await fc.assert(property, { ...options, includeErrorInReport: true });
}

/** Sends every variation and every condition once, in a request that has nothing else. */
export async function sendRows(api: Api, send: Send, seed: number): Promise<void> {
  await emptyStore(send);
  const model = new Model();
  for (const row of listRows(seed)) {
    if (row.id !== undefined) await ensureStored(row.id, model, api);
    await row.run(model, api);
  }
  await audit(model, api);
}

async function emptyStore(send: Send): Promise<void> {
  const { body } = await send(
    makeEmptyRequest('GET', '/plants', ['Accept', 'application/x-ndjson']),
  );
  const ids = [...body.matchAll(/^\{"id":(-?\d+)/gm)].map(([, id = '']) => id);
  await Promise.all(ids.map((id) => send(makeEmptyRequest('DELETE', `/plants/${id}`))));
}
