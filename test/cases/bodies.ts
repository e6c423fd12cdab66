import type { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';

/** Strings that are valid names and tags, as JSON text. */
export const VALID_STRINGS: readonly string[] = [
  '""',
  '" "',
  String.raw`"\u0001 \b\f\n\r\t \" \\ \/ /"`,
  '"🌿 ﷽ e\u0301 é \u2028 \u2029 \u007f \ufeff \uffff \u{10ffff}"',
  '"\'; DROP TABLE plants; --"',
  `"${'x'.repeat(100_000)}"`,
];

/** Bodies that are a NewPlant with the id ID and the name n, in unusual ways. */
export const VALID_BODIES: readonly string[] = [
  '{"name":"n","id":ID}',
  ' \t\r\n{ "id" : ID , "name" : "n" }\n',
  String.raw`{"\u0069d":ID,"n\u0061me":"n"}`,
  '{"id":ID,"name":"n","color":"green","tags":[1,{"tag":null}]}',
  '{"Id":2,"Name":"x","id":ID,"name":"n"," id":3}',
  '{"id":ID,"name":"n","__proto__":{"tag":"t"},"constructor":{"prototype":{}},"toString":1}',
  `{"id":ID,"name":"n","deep":${'['.repeat(63)}${']'.repeat(63)}}`,
  '{"id":ID,"name":"n","number":-1.5e+400,"literals":[true,false,null,"\\u0000 \\ud800"]}',
];

type Case = readonly [error: keyof typeof ErrorCatalogue, message: RegExp, body: string];

/** Bodies that are refused, with their code and the expected message. */
export const REFUSED_BODIES: readonly Case[] = [
  ['UNREADABLE_BODY', /empty/, ''],
  ['UNREADABLE_BODY', /nothing may follow/, '{"id":1,"name":"n"}}'],
  ['UNREADABLE_BODY', /member name/, '{id:1}'],
  ['UNREADABLE_BODY', /"," or "}"/, '{"id":01,"name":"n"}'],
  ['UNREADABLE_BODY', /control character/, '{"id":1,"name":"n\n"}'],
  ['UNREADABLE_BODY', /escape/, String.raw`{"id":1,"name":"\u00g1"}`],
  ['UNREADABLE_BODY', /value was expected, at character 1/, '\ufeff{"id":1,"name":"n"}'],
  ['UNREADABLE_BODY', /64 levels/, '['.repeat(100_000)],

  ['INVALID_BODY', /must be a JSON object/, '[]'],
  ['INVALID_BODY', /id is missing.*name is missing|name is missing.*id is missing/, '{}'],
  ['INVALID_BODY', /id is missing/, '{"__proto__":{"id":1,"name":"n"}}'],
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
