import { describe, expect, it } from '@jest/globals';
import type { ImportResultDto } from '../../src/platform/rest/import.js';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

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
  it('stores each line as POST /plants stores its body', async () => {
    const lines = [
      '{"id":9223372036854775807,"name":"Monstera","tag":"indoor"}',
      '{"id":-9223372036854775808,"name":"","tag":""}',
      '{"id":9007199254740993.0e0,"name":"🌿 \\u00e9"}',
      '  {"tag":"t","more":[{}],"name":"n","id":1}\t',
    ];
    expect(await importLines(lines.join('\n'))).toEqual({
      created: 4,
      identical: 0,
      failed: 0,
      failures: [],
    });
    expect(await app.rows()).toEqual([
      { id: '-9223372036854775808', name: '', tag: '' },
      { id: '1', name: 'n', tag: 't' },
      { id: '9007199254740993', name: '🌿 é', tag: null },
      { id: '9223372036854775807', name: 'Monstera', tag: 'indoor' },
    ]);
  });

  it.each([
    ['no line', ' \n\t\r\n\r\n \t \n', 0],
    ['a line without an end', '{"id":10,"name":"n"}', 1],
    ['lines that end with CR', '{"id":12,"name":"n"}\r\n{"id":13,"name":"n"}\r', 2],
    ['lines between blank ones', '\n\n{"id":14,"name":"n"}\n \n{"id":15,"name":"n"}\n\n', 2],
    [
      'the longest lines',
      Array.from({ length: 30 }, (_, id) => longestLine(100 + id)).join('\r\n'),
      30,
    ],
  ])('takes %s', async (_, body, created) => {
    expect(await importLines(body)).toEqual({ created, identical: 0, failed: 0, failures: [] });
  });

  it('takes an empty body without a length, and one in chunks of any size', async () => {
    const head = `POST /plants/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n`;
    expect(await exchange(app.port, `${head}\r\n`)).toMatch(/^HTTP\/1.1 200 [^]*"created":0/);
    const body = Buffer.from('{"id":20,"name":"é"}\r\n{"id":21,"name":"🌿"}\n');
    const chunks = Array.from(body, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
    const answer = await exchange(
      app.port,
      Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, 'latin1'),
    );
    expect(answer).toMatch(/"created":2,"identical":0,"failed":0/);
    expect(await app.row('21')).toEqual({ id: '21', name: '🌿', tag: null });
  });

  it('counts identical lines, and lets the first of those with one id win', async () => {
    const lines = [
      '',
      '{"id":30,"name":"a"}',
      '{"id":30,"name":"b"}',
      '{"name":"a","id":3e1}',
      'x',
    ];
    const taken = { line: 3, error: 40900, message: 'The id is in use by a different plant' };
    const unreadable = { line: 5, error: 40001, message: expect.any(String) as unknown };
    expect(await importLines(lines.join('\n'))).toEqual({
      created: 1,
      identical: 1,
      failed: 2,
      failures: [taken, unreadable],
    });
    expect(await importLines(lines.join('\n'))).toMatchObject({ created: 0, identical: 2 });
    const many = Array.from({ length: 5_000 }, (_, index) => `{"id":31,"name":"${index}"}\n`);
    expect(await importLines(many.join(''))).toMatchObject({ created: 1, failed: 4_999 });
    expect(await app.row('31')).toMatchObject({ name: '0' });
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>, number, string]>([
    ['no JSON', 'x', 40001, 'The line is not JSON: a value was expected'],
    ['no UTF-8', Buffer.from('{"id":40,"name":"\xff"}', 'latin1'), 40001, 'The line is not UTF-8'],
    ['no object', '[1]', 40002, 'The line must be a JSON object'],
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

  it('lists the first thousand failures', async () => {
    const { failed, failures } = await importLines('x\n\n'.repeat(1_500));
    expect(failed).toBe(1_500);
    expect(failures.map(({ line }) => line)).toEqual(
      Array.from({ length: 1_000 }, (_, index) => 1 + 2 * index),
    );
  });
});
