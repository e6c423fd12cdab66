// JSON with exact numbers. This door loads no database.

// Reading and writing
export {
  GIVEN_TWICE,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  parseJson,
  readJson,
  readPlainList,
  SCALAR,
  type Shape,
  WHOLE,
} from './json/json.js';
export { TEXT, writeJson } from './json/json-writer.js';

// Numbers and texts
export { Decimal } from './json/decimal.js';
export { JsonNumber } from './json/json.js';
export { INTEGER, isInt64Text, parseInt64, parseScaled, PLAIN_NUMBER } from './json/json-number.js';
export { JsonText } from './json/json-text.js';
