import { describe, expect, it } from '@jest/globals';
import { stripVTControlCharacters } from 'node:util';
import { formatLine } from './format-for-people.js';

const TIME = new Date(2026, 10, 26, 9, 5, 7, 42).getTime();
const ESC = '\u001B';

function format(line: object, hasColors = false): string {
  return formatLine(JSON.stringify({ level: 30, time: TIME, ...line }), hasColors);
}

describe('formatLine', () => {
  it.each([
    [10, 'TRACE'],
    [20, 'DEBUG'],
    [30, 'INFO '],
    [40, 'WARN '],
    [50, 'ERROR'],
    [60, 'FATAL'],
    [35, '35   '],
  ])('writes the local time, and the level %i as %s', (level, name) => {
    const line = { level, context: 'Main', msg: 'Stopped' };
    expect(format(line)).toBe(`09:05:07.042 ${name} Main Stopped`);
  });

  it('writes a request with its duration, and without its id', () => {
    const request = {
      requestId: 'id',
      method: 'POST',
      path: '/plants',
      status: 409,
      error: 40901,
      client: 'garden app',
      ms: 2.6,
      msg: 'POST /plants 409',
    };
    const text = '09:05:07.042 INFO  POST /plants 409 3 ms error=40901 client=garden app';
    expect(format(request)).toBe(text);
  });

  it('writes all other members', () => {
    const line = { msg: 'Too slow', ms: 7, rows: [1, { a: null }] };
    expect(format(line)).toBe('09:05:07.042 INFO  Too slow ms=7 rows=[1,{"a":null}]');
    expect(format({ rows: 1 })).toBe('09:05:07.042 INFO  rows=1');
  });

  it('writes an error with its stack as lines, and with its other members', () => {
    const err = {
      type: 'TypeError',
      message: 'boom',
      stack: 'TypeError: boom\n  at a.js',
      code: 7,
    };
    expect(format({ level: 50, requestId: 'id', context: 'Errors', err, msg: 'boom' })).toBe(
      '09:05:07.042 ERROR Errors TypeError: boom requestId=id code=7\n      at a.js',
    );
    expect(format({ err, msg: 'The job failed' })).toBe(
      '09:05:07.042 INFO  The job failed code=7\n    TypeError: boom\n      at a.js',
    );
    const lines = { type: 'Error', message: 'a\nb', stack: 'Error: a\nb\n  at a.js' };
    expect(format({ err: lines, msg: 'a\nb' })).toBe(
      '09:05:07.042 INFO  Error: a\n    b\n      at a.js',
    );
    const bare = { type: 'Error', message: 'no stack' };
    expect(format({ err: bare, msg: 'The job failed' })).toBe(
      '09:05:07.042 INFO  The job failed\n    Error: no stack',
    );
  });

  it('takes any value for any member', () => {
    const line = { level: 'high', context: 1, msg: { a: 1 }, err: null, method: 'GET', ms: 'long' };
    expect(format(line)).toBe('09:05:07.042 high  1 {"a":1} method=GET ms=long');
  });

  it('escapes control characters and indents line feeds, so that no value forges a line', () => {
    const line = { context: `a${ESC}`, msg: `b\r\nc\u009B`, name: `d\u007F\t`, [`e${ESC}`]: 1 };
    expect(format(line)).toBe(
      String.raw`09:05:07.042 INFO  a\x1b b\x0d` +
        '\n    ' +
        String.raw`c\x9b name=d\x7f\x09 e\x1b=1`,
    );
    const err = { stack: `Error: ${ESC}[2J\nforged` };
    expect(format({ err })).toBe(
      '09:05:07.042 INFO \n    ' + String.raw`Error: \x1b[2J` + '\n    forged',
    );
  });

  it('has colours where they are wanted', () => {
    const text = format({ level: 40, context: 'Main', msg: 'm', a: 1 }, true);
    expect(text).toContain(`${ESC}[33mWARN ${ESC}[39m`);
    expect(stripVTControlCharacters(text)).toBe('09:05:07.042 WARN  Main m a=1');
  });
});
