import { isRegExp } from 'node:util/types';

/** JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const STRING: JsonSchema = { type: 'string' };
const NUMBER: JsonSchema = { type: 'number' };
/** The types that JavaScript and JSON Schema have in common. */
const TYPES = new Set(['string', 'number', 'boolean']);

/** The rules of class-validator that accept only strings, beside those in {@link SCHEMAS}. */
const STRING_RULES = new Set([
  ...['notContains', 'isAlpha', 'isAlphanumeric', 'isAscii', 'isBase32', 'isBase58'],
  ...['isBase64', 'isBIC', 'isBooleanString', 'isBtcAddress', 'isByteLength', 'isCreditCard'],
  ...['isCurrency', 'isDataURI', 'isDateString', 'isDecimal', 'isEAN', 'isEthereumAddress'],
  ...['IsFirebasePushId', 'isFqdn', 'isFullWidth', 'isHalfWidth', 'isHash', 'isHexadecimal'],
  ...['isHexColor', 'isHSL', 'isIBAN', 'isIdentityCard', 'isIsbn', 'isIsin', 'isISO31661Alpha2'],
  ...['isISO31661Alpha3', 'isISO31661Numeric', 'isISO4217CurrencyCode', 'isISO6391', 'isIso8601'],
  ...['isISRC', 'isISSN', 'isJson', 'isJwt', 'isLatLong', 'isLocale', 'isLowercase'],
  ...['isMacAddress', 'isMagnetURI', 'isMilitaryTime', 'isMimeType', 'isMobilePhone', 'isMongoId'],
  ...['isMultibyte', 'isNumberString', 'isOctal', 'isPassportNumber', 'isPhoneNumber', 'isPort'],
  ...['isPostalCode', 'isRFC3339', 'isRgbColor', 'isSemVer', 'isStrongPassword'],
  ...['isSurrogatePair', 'isTaxId', 'isTimeZone', 'isUppercase', 'isVariableWidth'],
]);

/** The JSON Schema of class-validator's rules, by their names. */
const SCHEMAS: Readonly<Record<string, (constraints: readonly unknown[]) => JsonSchema>> = {
  isBoolean: () => ({ type: 'boolean' }),
  isDate: () => ({ type: 'string', format: 'date-time' }),
  isInt: () => ({ type: 'integer' }),
  isNumber: () => NUMBER,
  isString: () => STRING,
  isUuid: () => ({ type: 'string', format: 'uuid' }),
  isEmail: () => ({ type: 'string', format: 'email' }),
  isUrl: () => STRING,
  isIp: ([version]) => (isAddress(version) ? { type: 'string', format: `ipv${version}` } : STRING),
  isIn: ([words]) => describeWords(words as unknown[]),
  isNotIn: ([words]) => ({ not: { enum: words } }),
  isNotEmpty: () => ({ minLength: 1 }),
  equals: ([value]) => (TYPES.has(typeof value) ? { const: value, type: typeof value } : {}),
  notEquals: ([value]) => ({ not: { const: value } }),
  contains: ([part]) => ({ ...STRING, pattern: escapePattern(String(part)) }),
  isEnum: ([, words]) => describeWords(words as unknown[]),
  min: ([minimum]) => ({ type: 'number', minimum }),
  max: ([maximum]) => ({ type: 'number', maximum }),
  isPositive: () => ({ type: 'number', exclusiveMinimum: 0 }),
  isNegative: () => ({ type: 'number', exclusiveMaximum: 0 }),
  isDivisibleBy: ([divisor]) => ({ type: 'number', multipleOf: divisor }),
  minLength: ([minLength]) => ({ type: 'string', minLength }),
  maxLength: ([maxLength]) => ({ type: 'string', maxLength }),
  isLength: ([minLength, maxLength]) => ({
    type: 'string',
    minLength,
    ...(maxLength !== undefined && { maxLength }),
  }),
  matches: ([pattern]) => describePattern(pattern),
  arrayMinSize: ([minItems]) => ({ minItems }),
  arrayMaxSize: ([maxItems]) => ({ maxItems }),
  arrayNotEmpty: () => ({ minItems: 1 }),
  arrayUnique: ([identifier]) => (identifier === undefined ? { uniqueItems: true } : {}),
};

/** Describes the values that a rule of class-validator accepts, as far as JSON Schema can. */
export function describeRule(name: string, constraints: readonly unknown[]): JsonSchema {
  if (STRING_RULES.has(name)) return STRING;
  return SCHEMAS[name]?.(constraints) ?? {};
}

function isAddress(version: unknown): version is 4 | 6 {
  return Number(version) === 4 || Number(version) === 6;
}

/** Words of one type, or of several. */
function describeWords(words: unknown[]): JsonSchema {
  const types = [...new Set(words.map((word) => typeof word))];
  if (types.length === 1) return { enum: words, type: types[0] };
  const oneOf = types.map((type) => ({ type, enum: words.filter((word) => typeof word === type) }));
  return { oneOf };
}

/** JSON Schema has no flags of patterns. */
function describePattern(pattern: unknown): JsonSchema {
  const isPlain = isRegExp(pattern) && /^u?$/.test(pattern.flags);
  return isPlain ? { type: 'string', pattern: pattern.source } : STRING;
}

function escapePattern(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** Of two limits, the stricter one counts. */
const LIMITS: Readonly<Record<string, (a: number, b: number) => number>> = {
  minimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  maximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
};

/**
 * Joins the schemas of rules for one value.
 *
 * @throws TypeError when no value has the types of all of them
 */
export function joinSchemas(schemas: readonly JsonSchema[]): JsonSchema {
  const types = new Set(schemas.flatMap(({ type }) => (typeof type === 'string' ? type : [])));
  // An integer is a number.
  if (types.has('integer')) types.delete('number');
  if (types.size > 1) throw new TypeError(`no value is of the types ${[...types].join(' and ')}`);
  const joined: Record<string, unknown> = {};
  // A schema has each keyword once, and others of the same name in schemas that also apply.
  const others: JsonSchema[] = [];
  for (const [keyword, value] of schemas.flatMap((schema) => Object.entries(schema))) {
    const { [keyword]: before = value } = joined;
    const findStricter = LIMITS[keyword];
    if (findStricter !== undefined) joined[keyword] = findStricter(Number(before), Number(value));
    else if (before === value) joined[keyword] = value;
    else if (keyword !== 'type') others.push({ [keyword]: value });
  }
  if (others.length > 0) {
    const { allOf = [] } = joined as { allOf?: JsonSchema[] };
    joined.allOf = [...allOf, ...others];
  }
  for (const type of types) joined.type = type;
  if (Number(joined.minimum) > Number(joined.exclusiveMinimum)) delete joined.exclusiveMinimum;
  if (Number(joined.maximum) < Number(joined.exclusiveMaximum)) delete joined.exclusiveMaximum;
  return joined;
}
