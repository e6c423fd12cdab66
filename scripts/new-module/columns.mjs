// The columns of a new module. `name:text(200)?:unique:sorted` is a name, a type, `?` if it is
// optional, and further properties.

/** A mistake in the arguments of the command. The message tells what to write. */
export class UsageError extends Error {}

/**
 * How many characters of a text an index holds, since an entry in PostgreSQL has at most 2,704
 * bytes.
 */
const INDEXED_LENGTH = 200;

const SYNTAX = /^([^:?]*):([^:?(]+)(?:\(([^()]*)\))?(\?)?((?::[^:]+)*)$/;
const MARKS = ['unique', 'sorted'];
/** The names of the parameters of every list, and of the members of every object. */
const TAKEN = [
  'id',
  'limit',
  'after',
  'sort',
  'format',
  ...Object.getOwnPropertyNames({}.constructor.prototype),
];

const TYPES_MODULE = '../../../platform/validation/types.decorators.js';
const RULES_MODULE = 'class-validator';

const JSON_COLUMN = {
  helper: 'json()',
  rule: 'IsJson()',
  row: 'JsonText',
  value: ['JsonText', 'platform/json/json-text.js'],
  sample: '{"n":${n}}',
  example: '{ n: 1 }',
  wrong: ['{"n":1,"n":2}', 'must be JSON'],
  isJson: true,
};

/**
 * The forms of a type in the table, in the program, in JSON and in tests. A sample is the text of a
 * template for JSON, which differs for each number `n` from 1 to 9.
 */
const TYPES = {
  text: (given) => {
    const [max, min] = readLengths(given);
    const lengths = [min && `minLength: ${min}`, max && `maxLength: ${max}`].filter(Boolean);
    return {
      helper: 'text()',
      rule: lengths.length > 0 ? `IsText({ ${lengths.join(', ')} })` : 'IsText()',
      row: 'string',
      sample: min > 1 ? `"\${String(n).padStart(${min}, '0')}"` : '"${n}"',
      example: `'${'1'.padStart(min ?? 1, '0')}'`,
      wrong: ['1', 'must be a string'],
      missing: `"${'404'.slice(0, max).padStart(min ?? 0, '0')}"`,
      isKey: true,
      isText: true,
      min,
      max,
    };
  },
  int32: () => ({
    helper: 'int32()',
    rule: 'IsInt32()',
    row: 'number',
    sample: '${n}',
    example: '1',
    wrong: ['1.5', 'must be an integer from'],
    missing: '404',
    isKey: true,
  }),
  int64: () => ({
    helper: 'int64()',
    rule: 'IsInt64()',
    row: 'string',
    dto: 'bigint',
    toDto: (name) => `BigInt(${name})`,
    sample: '${n}',
    example: '1',
    wrong: ['"1"', 'must be an integer from'],
    missing: '404',
    isKey: true,
  }),
  decimal: (given) => {
    const [precision, scale] = readNumbers(given, 2);
    if (!(precision >= 1 && precision <= 18 && scale >= 0 && scale <= precision)) {
      throw new UsageError(
        'write decimal(12,2): at most 18 digits in all, and those after the point',
      );
    }
    const fraction = scale > 0 ? `.${'5'.padEnd(scale, '0')}` : '';
    const sample = precision > scale ? `\${n}${fraction}` : `0.\${n}${'0'.repeat(scale - 1)}`;
    return {
      helper: `decimal(${precision}, ${scale})`,
      rule: `IsDecimal(${precision}, ${scale})`,
      row: 'Decimal',
      value: ['Decimal', 'platform/json/decimal.js'],
      sample,
      example: String(Number(sample.replace('${n}', '1'))),
      wrong: ['"1"', 'must be a number from'],
    };
  },
  boolean: () => ({
    helper: 'boolean()',
    rule: 'IsBoolean()',
    ruleFrom: RULES_MODULE,
    row: 'boolean',
    sample: '${n % 2 === 0}',
    example: 'true',
    wrong: ['1', 'must be a boolean value'],
    hasFewValues: true,
  }),
  enum: (given) => {
    const words = (given ?? '').split(',').map((word) => word.trim());
    if (words.length < 2 || words.some((word) => !/^[\w-]+$/.test(word))) {
      throw new UsageError('write enum(clay,loam): two words or more, of letters, digits, _ and -');
    }
    if (new Set(words).size < words.length) throw new UsageError('write each word of an enum once');
    return {
      helper: 'oneOf()',
      words,
      sample: `"\${n % 2 === 0 ? '${words[0]}' : '${words[1]}'}"`,
      ruleFrom: RULES_MODULE,
      example: `'${words[0]}'`,
      wrong: ['"?"', `must be one of the following values: ${words.join(', ')}`],
      hasFewValues: true,
      isText: true,
    };
  },
  date: () => ({
    helper: 'date()',
    rule: 'IsCalendarDate()',
    row: 'string',
    sample: '"2026-01-0${n}"',
    example: `'2026-01-01'`,
    wrong: ['"2026-02-30"', 'must be a date from'],
    missing: '"1999-12-31"',
    isKey: true,
  }),
  instant: () => ({
    helper: 'instant()',
    rule: 'IsInstant()',
    row: 'string',
    sample: '"2026-01-0${n}T10:00:00.000Z"',
    example: `'2026-01-01T10:00:00.000Z'`,
    wrong: ['"2026-02-30T10:00:00Z"', 'must be a date-time'],
  }),
  uuid: () => ({
    helper: 'uuid()',
    rule: 'IsUuid()',
    row: 'string',
    sample: '"00000000-0000-4000-8000-00000000000${n}"',
    example: `'00000000-0000-4000-8000-000000000001'`,
    wrong: ['"1"', 'must be a UUID'],
    missing: '"00000000-0000-4000-8000-000000000404"',
    isKey: true,
  }),
  json: () => JSON_COLUMN,
  object: () => ({
    ...JSON_COLUMN,
    rule: 'IsJsonObject()',
    wrong: ['[]', 'must be a JSON object'],
  }),
};

/**
 * Reads one column.
 *
 * @throws UsageError
 */
export function readColumn(argument) {
  const [, name, type, given, question, marks] = SYNTAX.exec(argument) ?? [];
  try {
    if (name === undefined) throw new UsageError('write a name and a type, such as name:text(200)');
    if (!/^[a-z][A-Za-z0-9]*$/.test(name) || !isVariable(name)) {
      throw new UsageError('write the name of the column as a variable, such as openedAt');
    }
    if (TAKEN.includes(name))
      throw new UsageError(`choose another name than ${name}, which is taken`);
    if (!Object.hasOwn(TYPES, type)) {
      throw new UsageError(`${type} is no type: write ${Object.keys(TYPES).join(', ')}`);
    }
    if (given !== undefined && !['text', 'decimal', 'enum'].includes(type)) {
      throw new UsageError(`write ${type} without parentheses`);
    }
    const has = readMarks(marks);
    const column = {
      name,
      type,
      isOptional: question !== undefined,
      ...has,
      ...limitIndexed(TYPES[type](given), has, given),
    };
    assertIndexable(column);
    return column;
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${argument}: ${error.message}`);
    throw error;
  }
}

/** @returns whether it is unique, whether it is sorted by, and which table it refers to */
function readMarks(text) {
  const marks = text.split(':').slice(1);
  const [reference, ...others] = marks.filter((mark) => mark.startsWith('references'));
  const [, table, onDelete] =
    /^references\(([a-z][a-z0-9_-]*)(?:,\s*(cascade|restrict))?\)$/.exec(reference ?? '') ?? [];
  const hint = /\?$/.test(text) ? '; the ? stands right behind the type' : '';
  if ((reference !== undefined && table === undefined) || others.length > 0) {
    throw new UsageError(`write references(gardens), or references(gardens,restrict), once${hint}`);
  }
  const unknown = marks.find((mark) => mark !== reference && !MARKS.includes(mark));
  if (unknown !== undefined) {
    throw new UsageError(
      `${unknown} is unknown: write unique, sorted or references(gardens)${hint}`,
    );
  }
  return {
    isUnique: marks.includes('unique'),
    isSorted: marks.includes('sorted'),
    references: table && { table, onDelete },
  };
}

/** Limits the length of a text in an index. */
function limitIndexed(type, { isUnique, isSorted, references }, given) {
  if (!type.isText || type.words || type.max !== undefined) return type;
  return isUnique || isSorted || references ? TYPES.text(given ?? String(INDEXED_LENGTH)) : type;
}

/** Limits the length of a text in the key. It must not be empty, since it is a part of a path. */
export function limitKey(column) {
  if (!column.isText || column.words) return column;
  const { min = 1, max = INDEXED_LENGTH } = column;
  return { ...column, ...TYPES.text(`${Math.max(min, 1)},${max}`) };
}

function assertIndexable({
  type,
  isUnique,
  isSorted,
  references,
  hasFewValues,
  isJson,
  isKey,
  max,
}) {
  if (isUnique && (hasFewValues || isJson)) throw new UsageError(`a ${type} cannot be unique`);
  if (isSorted && (isJson || type === 'boolean'))
    throw new UsageError(`a ${type} cannot be sorted by`);
  if (references && !isKey) throw new UsageError(`a ${type} cannot refer to a key`);
  if ((isUnique || isSorted || references) && max > INDEXED_LENGTH) {
    throw new UsageError(
      `an index holds ${INDEXED_LENGTH} characters: write text(${INDEXED_LENGTH})`,
    );
  }
}

function readLengths(given) {
  if (given === undefined) return [];
  const numbers = readNumbers(given, given.includes(',') ? 2 : 1);
  const [min, max] = numbers.length === 2 ? numbers : [undefined, ...numbers];
  if (!(max >= 1 && max <= 100_000 && (min === undefined || min <= max))) {
    throw new UsageError('write text(200), or text(1,200) for 1 to 200 characters');
  }
  return [max, min];
}

function readNumbers(given, count) {
  const numbers = (given ?? '')
    .split(',')
    .map((text) => Number(/^\s*\d+\s*$/.test(text) ? text : NaN));
  return numbers.length === count ? numbers : [NaN];
}

/** Whether a name is valid for a variable. */
export function isVariable(name) {
  try {
    return Boolean(new Function(`"use strict"; let ${name}`));
  } catch {
    return false;
  }
}

/** Returns the module from which the decorator of a column is imported. */
export function ruleModule({ ruleFrom = TYPES_MODULE }) {
  return ruleFrom;
}
