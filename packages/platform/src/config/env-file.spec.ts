import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseEnv } from 'node:util';
import { parseEnvFile } from './env-file.js';
import { EnvError } from './setting.decorators.js';

const BOM = '\uFEFF';

function parse(text: string, encoding: BufferEncoding = 'utf8'): Record<string, string> {
  return Object.fromEntries(parseEnvFile(Buffer.from(text, encoding), '.env'));
}

describe('parseEnvFile', () => {
  it.each([
    ['a byte order mark', `${BOM}A=1\nB=2`],
    ['byte order marks of files that were joined', `${BOM}A=1\n${BOM}B=2`],
    ['lines of blanks', ' \n\t\nA=1\n  \t\nB=2'],
    ['indented lines', '  # comment\n  A=1\n\t#comment\n\tB=2'],
    ['lines ended by CR LF, and by CR', '\r\nA=1\r\n\rB=2\r'],
    ['export and blanks around =', 'export A = 1\nexport  B\t=\t2'],
    ['quotes', `A="1"\nB='2'`],
    ['comments behind values', 'A=1 # one\nB="2"\t# "two"'],
    ['a comment behind a tab', 'A=1\t# one\nB= 2 \t#two'],
    ['the last of two lines with one name', 'A=0\nB=2\nA=1'],
  ])('reads %s', (_, text) => {
    expect(parse(text)).toEqual({ A: '1', B: '2' });
  });

  it.each([
    ['nothing', 'A=', ''],
    ['only a comment', 'A= # none', ''],
    ['a #, quoted', `A='sqlite:a#b.db'`, 'sqlite:a#b.db'],
    ['quotes of another kind', 'A="it\'s `it`"', "it's `it`"],
    ['a quote inside', `A=it's`, "it's"],
    ['= and blanks', 'A=postgres://h/d?a=b c', 'postgres://h/d?a=b c'],
    ['a backslash', String.raw`A='C:\new'`, String.raw`C:\new`],
    ['$, which Docker Compose would replace', 'A=$B', '$B'],
  ])('reads a value with %s', (_, text, value) => {
    expect(parse(text)).toEqual({ A: value });
  });

  it.each([
    ['no =', 'SECRET', 'is not NAME=value'],
    ['a colon', 'NAME: SECRET', 'is not NAME=value'],
    ['no name', '=SECRET', 'is not NAME=value'],
    ['a name with other characters', 'SE-CRET=1', 'is not NAME=value'],
    ['a # inside a value', 'NAME=SECRET#SECRET', 'NAME, has a # in its value'],
    ['a # at the start of a value', 'NAME=#SECRET', 'NAME, has a # in its value'],
    ['an open quote', 'NAME="SECRET', 'NAME, must end with the quote'],
    ['an apostrophe at the start', "NAME='SECRET", 'NAME, must end with the quote'],
    ['text behind a quote', 'NAME="SECRET"SECRET', 'NAME, must end with the quote'],
    ['an escaped quote', String.raw`NAME="SEC\"RET"`, 'NAME, must end with the quote'],
    ['an escape', String.raw`NAME="C:\new\SECRET"`, String.raw`NAME, has a \ in double quotes`],
  ])('refuses a line with %s, and does not show its text', (_, line, fault) => {
    const read = (): unknown => parse(`A=1\n${line}\nB=2`);
    expect(read).toThrow(EnvError);
    expect(read).toThrow(`Line 2 of .env`);
    expect(read).toThrow(fault);
    expect(read).toThrow(/^(?!.*SECRET)/);
  });

  it('names each wrong line', () => {
    expect(() => parse('A\nB=1\nC')).toThrow(/^Line 1 of .*\nLine 3 of .*$/);
  });

  it.each([
    ['UTF-16', Buffer.from(`${BOM}A=1`, 'utf16le')],
    ['UTF-16 without a byte order mark', Buffer.from('A=1', 'utf16le')],
    ['Latin-1', Buffer.from('A=ä', 'latin1')],
  ])('refuses %s', (_, bytes) => {
    expect(() => parseEnvFile(bytes, '.env')).toThrow(
      '.env cannot be read: save the file as UTF-8',
    );
  });

  it('reads each line that it takes as Node does', () => {
    const character = fc.constantFrom(...'AB=#\'"`\\ $n1ä');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 12 }), (source) => {
        const text = `NAME=${source}`;
        let read: unknown;
        try {
          read = parse(text);
        } catch {
          return;
        }
        expect(read).toEqual(parseEnv(text));
      }),
      { numRuns: 20_000 },
    );
  });
});
