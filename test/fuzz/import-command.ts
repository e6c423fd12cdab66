import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import type { Field } from '../support/http/request.js';
import { AUTHORIZATION } from '../support/plant-requests.js';
import { Fault, parseJson } from './api.js';
import { command, type CommandMaker, contents, ids } from './command.js';
import type { Content, Model } from './model.js';
import { BODY_LIMIT, type Draft, toMembers, writeBody, writeRequest } from './variations.js';

const LINES_TYPE: Field = ['Content-Type', 'application/x-ndjson'];

/** A line of an import: a plant, or a text and the error that it causes. */
type Line =
  | { readonly id: bigint; readonly content: Content; readonly text: string }
  | { readonly content?: undefined; readonly text: string; readonly error: number | undefined };

const plantLines = fc.tuple(ids, contents).map(([id, content]): Line => {
  return { id, content, text: writeBody(toMembers({ id, ...content })).toString() };
});
const otherLines = fc.constantFrom<Line[]>(
  { text: ' \t ', error: undefined },
  { text: '{"id":1,"name":"a"}}', error: 40001 },
  { text: '{"id":1,"name":"\\ud800"}', error: 40002 },
  { text: '[]', error: 40002 },
  { text: '{"id":9223372036854775808,"name":"a"}', error: 40002 },
  { text: `{"id":1,"name":"${'a'.repeat(BODY_LIMIT)}"}`, error: 41300 },
);

export const makeImport: CommandMaker = (anyVariations) => {
  const line = fc.oneof({ weight: 3, arbitrary: plantLines }, otherLines);
  return fc
    .tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'), anyVariations)
    .map(([lines, end, variations]) =>
      command(undefined, ['import', lines, variations], async (model, api) => {
        const text = lines.map((one) => one.text).join(end);
        const request = writeRequest(draftImport(text), variations);
        const answer = await api.expect(request, 200);
        const { failures, ...counts } = parseJson(answer.body) as ImportResult;
        const wanted = importLines(lines, model);
        const found = { ...counts, failures: failures.map(({ line, error }) => ({ line, error })) };
        if (!isDeepStrictEqual(found, wanted)) {
          throw new Fault(`not ${JSON.stringify(wanted)}`, request, answer);
        }
      }),
    );
};

interface ImportResult {
  readonly created: number;
  readonly identical: number;
  readonly failed: number;
  readonly failures: readonly { readonly line: number; readonly error: number }[];
}

export function draftImport(text: string): Draft {
  const headers = [AUTHORIZATION, LINES_TYPE];
  return { method: 'POST', target: '/plants/import', headers, body: Buffer.from(text) };
}

function importLines(lines: readonly Line[], model: Model): ImportResult {
  let created = 0;
  let identical = 0;
  const failures: { line: number; error: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const { content } = line;
    const outcome = content === undefined ? line.error : model.create(line.id, content);
    if (outcome === 200) created++;
    else if (outcome === 40901) identical++;
    else if (outcome !== undefined) failures.push({ line: index + 1, error: outcome });
  }
  return { created, identical, failed: failures.length, failures };
}
