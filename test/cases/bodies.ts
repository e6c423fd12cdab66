import type { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';

type Case = readonly [error: keyof typeof ErrorCatalogue, message: RegExp, body: string];

/** Bodies that are refused, with their code and the expected message. */
export const REFUSED_BODIES: readonly Case[] = [
  ['UNREADABLE_BODY', /empty/, ''],
  ['UNREADABLE_BODY', /nothing may follow/, '{"id":1,"name":"n"}}'],
  ['UNREADABLE_BODY', /64 levels/, '['.repeat(100_000)],

  ['INVALID_BODY', /must be a JSON object/, '[]'],
  ['INVALID_BODY', /id is missing.*name is missing|name is missing.*id is missing/, '{}'],
  ['INVALID_BODY', /5807, not a string: write it wi/, '{"id":"-9223372036854775808","name":"n"}'],
  ['INVALID_BODY', /: id must be an integer .*5807$/, '{"id":"9223372036854775808","name":"n"}'],
  ['INVALID_BODY', /name must not contain U\+0000/, '{"id":1,"name":"\\u0000"}'],
  ['INVALID_BODY', /tag must not.*unpaired surrogate/, '{"id":1,"name":"n","tag":"\\ud83cx"}'],
  [
    'INVALID_BODY',
    /: id is given more than once; name must be a string; tag must be a string$/,
    '{"id":"1","i\\u0064":2,"name":null,"tag":7}',
  ],
];

/** Bodies that are not UTF-8. */
export const INVALID_UTF8: readonly (readonly [what: string, bytes: readonly number[]])[] = [
  ['a byte that is never used', [0xff]],
  ['a sequence cut short', [0xe2, 0x82]],
  ['an encoded surrogate', [0xed, 0xa0, 0x80]],
];
