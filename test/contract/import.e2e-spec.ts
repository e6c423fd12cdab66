import { describe, expect, it } from '@jest/globals';
import type { ImportResultDto } from 'durable-rest';
import { expectError, TOKEN } from 'durable-rest/testing';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';

const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const LONGEST = 102_400;

const app = TestApp.forAll();

/** Imports a body, and resolves with the outcome. */
async function importLines(body: string | Uint8Array<ArrayBuffer>): Promise<ImportResultDto> {
  const answer = await app.post('/plants/import', body, NDJSON);
  expect(answer.status).toBe(200);
  return answer.body as ImportResultDto;
}

/** A line as long as it may be. */
function longestLine(id: number): string {
  const start = `{"id":${id},"name":"`;
  return `${start}${'x'.repeat(LONGEST - start.length - 2)}"}`;
}

describe('POST /plants/import', () => {
  it('takes lines that end with CR, and the longest lines', async () => {
    const lines = Array.from({ length: 30 }, (_, id) => longestLine(100 + id));
    const body = `${lines.join('\r\n')}\r\n{"id":13,"name":"n"}\r`;
    const counts = { created: 31, identical: 0, failed: 0, failures: [] };
    expect(await importLines(body)).toEqual(counts);
  });

  it('takes an empty body without a length, and one in chunks of any size', async () => {
    const head = `POST /plants/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n`;
    const [empty] = await exchange(app.port, `${head}\r\n`);
    expect(empty).toMatchObject({ status: 200, body: expect.stringContaining('"created":0') });
    const body = Buffer.from('{"id":20,"name":"é"}\r\n{"id":21,"name":"🌿"}\n');
    const chunks = Array.from(body, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
    const [answer] = await exchange(
      app.port,
      Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, 'latin1'),
    );
    expect(answer?.body).toMatch(/"created":2,"identical":0,"failed":0/);
    expect(await app.row('21')).toEqual({ id: '21', name: '🌿', tag: null });
  });

  it('lets the first of many lines with one id win', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `{"id":31,"name":"${index}"}\n`);
    expect(await importLines(many.join(''))).toMatchObject({ created: 1, failed: 4_999 });
    expect(await app.row('31')).toMatchObject({ name: '0' });
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>, number, string]>([
    ['no JSON', 'x', 40001, 'The line is not JSON: a value was expected'],
    [
      'a byte order mark',
      '\uFEFF{"id":40,"name":"n"}',
      40001,
      'The line begins with a byte order mark',
    ],
    ['no UTF-8', Buffer.from('{"id":40,"name":"\xff"}', 'latin1'), 40001, 'The line is not UTF-8'],
    ['no object', '[1]', 40002, 'The line must be a JSON object'],
    [
      'several plants, as curl -d sends',
      '{"id":40,"name":"n"}{"id":43,"name":"n"}',
      40001,
      'at character 21. If curl -d has removed the line feeds, send the file with --data-binary',
    ],
    [
      'too many plants',
      `{"id":40,"name":"n"}${longestLine(43)}`,
      41300,
      'than 102400 bytes. If curl -d has removed the line feeds, send the file with --data-binary',
    ],
    ['a byte too many', `${longestLine(40)} `, 41300, 'The line is longer than 102400 bytes'],
  ])('fails a line alone that has %s', async (_, line, error, message) => {
    const body = Buffer.concat([
      Buffer.from('\n{"id":41,"name":"n"}\n'),
      Buffer.from(line as string),
      Buffer.from('\r\n{"id":42,"name":"n"}\n'),
    ]);
    const { failed, failures } = await importLines(body);
    expect(failed).toBe(1);
    expect(failures).toEqual([{ line: 3, error, message: expect.stringContaining(message) }]);
    expect(await app.row('42')).toBeDefined();
    expect(await app.row('40')).toBeUndefined();
  });

  it('tells a client that sends a file as curl -d does what to write', async () => {
    const body = '{"id":50,"name":"n"}{"id":51,"name":"n"}';
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const answer = await app.post('/plants/import', body, form);
    const advice =
      'With curl: -H "Content-Type: application/x-ndjson" --data-binary @file, since -d';
    expectError(answer, 'UNSUPPORTED_MEDIA_TYPE', expect.stringContaining(advice));
  });

  it('lists the first thousand failures', async () => {
    const { failed, failures } = await importLines('x\n\n'.repeat(1_500));
    expect(failed).toBe(1_500);
    expect(failures.map(({ line }) => line)).toEqual(
      Array.from({ length: 1_000 }, (_, index) => 1 + 2 * index),
    );
  });
});
