import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createToken } from '../auth/access-tokens.js';
import type { Env } from '../config/env.js';
import type { Service } from '../config/service.js';
import { VISIBLE_ASCII } from '../config/setting-formats.js';

const FOLDER = 'data';
const TOKEN_FILE = `${FOLDER}/development-token`;
/** Only the user of the program may read and write the file. */
const MODE = 0o600;

/**
 * Gives a development start without tokens the token of the last one, which a file keeps. If the
 * file cannot be used, the program makes a token for this run.
 */
export function keepDevelopmentToken(env: Env): void {
  const { NODE_ENV, ACCESS_TOKENS, READ_ACCESS_TOKENS, AUTH_JWKS_URL, DEVELOPMENT_TOKEN } = env;
  const hasTokens = ACCESS_TOKENS.length + READ_ACCESS_TOKENS.length > 0;
  if (hasTokens || AUTH_JWKS_URL !== undefined || DEVELOPMENT_TOKEN !== undefined) return;
  if (NODE_ENV !== 'development') return;
  try {
    process.env.DEVELOPMENT_TOKEN = readToken() ?? writeToken();
  } catch {
    // The folder belongs to another user, or is read-only.
  }
}

function readToken(): string | undefined {
  if (!existsSync(TOKEN_FILE)) return undefined;
  chmodSync(TOKEN_FILE, MODE);
  return VISIBLE_ASCII.parse(readFileSync(TOKEN_FILE, 'utf8').trim());
}

function writeToken(): string {
  const token = createToken();
  if (!existsSync(FOLDER)) mkdirSync(FOLDER);
  writeFileSync(TOKEN_FILE, `${token}\n`, { mode: MODE });
  return token;
}

/** The ways into a program that runs. */
interface WaysIn {
  readonly url: string;
  /** Whether Swagger UI is served. */
  readonly hasDocs: boolean;
  /** The kinds of accepted tokens. */
  readonly tokens: string;
  /** The only token, if none is configured. */
  readonly developmentToken: string | undefined;
  readonly store: string;
  readonly service: Service;
}

/** Describes what a newcomer needs: the addresses, the token and a command that uses it. */
export function describeWaysIn(ways: WaysIn): string {
  const { url, hasDocs, tokens, developmentToken, store, service } = ways;
  const signIn =
    developmentToken === undefined ? '' : `#token=${encodeURIComponent(developmentToken)}`;
  const docs = hasDocs ? `  Docs   ${url}/docs${signIn}\n` : '';
  const lines = `
  API    ${url}
${docs}  Token  ${developmentToken ?? tokens}
  Store  ${store}
`;
  if (developmentToken === undefined) return `${lines}\n`;
  const { path, body } = service.example;
  return `${lines}
curl -X POST ${url}${path} -H 'Authorization: Bearer ${developmentToken}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' -w '\\n'

`;
}
