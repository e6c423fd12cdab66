import { describe, expect, it } from '@jest/globals';
import { EnvError, loadEnv } from './env.js';
import { loadSettings, Setting } from './setting.decorators.js';
import { wholeNumber } from './setting-formats.js';

const PROVIDER = {
  AUTH_JWKS_URL: 'https://id.example/jwks',
  AUTH_ISSUER: 'https://id.example',
  AUTH_AUDIENCE: 'plants',
};

const DIGEST = '0aF9'.repeat(16);

describe('loadEnv', () => {
  it('takes an empty variable for one that is not set', () => {
    const empty = { NODE_ENV: '', PORT: '', HOST: '', DATABASE_URL: '', ACCESS_TOKENS: '' };
    expect(loadEnv(empty)).toEqual(loadEnv({}));
  });

  it.each([
    { PORT: '0', HOST: 'plants.example.com', NODE_ENV: 'production', ACCESS_TOKENS: 'token' },
    {
      DATABASE_URL: 'postgresql://me:p%40ss@db.test:5433/plants?sslmode=verify-full&sslrootcert=a',
    },
    { DATABASE_URL: 'postgres://me@ignored/plants?host=/var/run/postgresql' },
    { ACCESS_TOKENS: ` a , b/c+d=e~!, ,sha256:${DIGEST},${'n'.repeat(64)}:sha256:${DIGEST}` },
    { ACCESS_TOKENS: `${'n'.repeat(65)}:sha256:c` },
    { READ_ACCESS_TOKENS: 'token', NODE_ENV: 'production' },
    { ...PROVIDER, NODE_ENV: 'production', AUTH_SCOPE: 'plants:write plants' },
    { ...PROVIDER, AUTH_JWKS_URL: 'http://127.1:8080/jwks' },
    { ...PROVIDER, AUTH_JWKS_URL: 'http://localhost/jwks?a=b' },
    { STORE_TIMEOUT_MS: '1000', FILE_PAGE_READERS: '32' },
    { STORE_TIMEOUT_MS: '20000' },
    { PATH_PREFIX: '/api' },
    { PATH_PREFIX: '/Garden-1/v1.2/_/~me/...' },
  ])('takes %j', (source) => {
    expect(() => loadEnv(source)).not.toThrow();
  });

  it.each([
    { PORT: '1e3' },
    { DATABASE_URL: 'mysql://localhost' },
    { DATABASE_URL: './plants.db' },
    { DATABASE_URL: 'postgres://me@localhost/plants#2' },
    { DATABASE_URL: 'postgres://me@localhost:port/plants' },
    { DATABASE_URL: 'postgres://me@localhost/plants?ssl=true' },
    { DATABASE_URL: 'postgres://me:%FF@localhost/plants' },
    { ACCESS_TOKENS: 'täken' },
    { ACCESS_TOKENS: `SHA256:${'g'.repeat(64)}` },
    { ACCESS_TOKENS: `garden-app:sha256:${DIGEST}0` },
    { NODE_ENV: 'production', ACCESS_TOKENS: ' , ' },
    { CORS_ORIGINS: '*' },
    { CORS_ORIGINS: 'https://shop.test/path' },
    { ...PROVIDER, AUTH_JWKS_URL: 'http://id.example/jwks' },
    { ...PROVIDER, AUTH_JWKS_URL: 'http://127.0.0.1.id.example/jwks' },
    { ...PROVIDER, AUTH_JWKS_URL: 'https://me:secret@id.example/jwks' },
    { ...PROVIDER, AUTH_JWKS_URL: 'https://:secret@id.example/jwks' },
    { ...PROVIDER, AUTH_SCOPE: 'pl"ants' },
    { AUTH_SCOPE: 'plants' },
    { AUTH_READ_SCOPE: 'plants' },
    { RATE_LIMIT: '600' },
    { RATE_LIMIT: '0/60' },
    { TRUST_PROXY: 'true' },
    { TRUST_PROXY: '1,10.0.0.0/8' },
    { STORE_TIMEOUT_MS: '999' },
    { STORE_TIMEOUT_MS: '20001' },
    { STORE_TIMEOUT_MS: '5s' },
    { FILE_PAGE_READERS: '0' },
    { FILE_PAGE_READERS: '33' },
    { PATH_PREFIX: '/' },
    { PATH_PREFIX: 'api' },
    { PATH_PREFIX: '/api/' },
    { PATH_PREFIX: '//api' },
    { PATH_PREFIX: '/api//v1' },
    { PATH_PREFIX: '/api/../v1' },
    { PATH_PREFIX: '/.' },
    { PATH_PREFIX: '/a%20b' },
    { PATH_PREFIX: '/äpi' },
    { PATH_PREFIX: '/api>' },
    { PATH_PREFIX: '/api\n' },
    { PATH_PREFIX: 'https://shop.test/api' },
  ])('refuses %j with one line that names the variable', (source) => {
    const [name, ...others] = findFaults(source).split(' must ');
    expect(Object.keys(source)).toContain(name);
    expect(others).toEqual([expect.stringMatching(/^[^\n]+$/)]);
  });

  it('reads what the program works with', () => {
    expect(
      loadEnv({
        ...PROVIDER,
        ACCESS_TOKENS: ' a ,, b',
        AUTH_SCOPE: 'plants  plants:write',
        RATE_LIMIT: '600/60',
        CHANGE_RETENTION: '12h',
        TRUST_PROXY: '10.0.0.0/8, ::1',
      }),
    ).toMatchObject({
      ACCESS_TOKENS: [{ length: 1 }, { length: 1 }],
      AUTH_JWKS_URL: new URL(PROVIDER.AUTH_JWKS_URL),
      AUTH_SCOPE: ['plants', 'plants:write'],
      RATE_LIMIT: { limit: 600, windowMs: 60_000 },
      AUTH_FAILURE_LIMIT: { limit: 60_000, windowMs: 60_000 },
      CHANGE_RETENTION: 43_200_000,
      TRUST_PROXY: ['10.0.0.0/8', '::1'],
    });
  });

  it('wants all of an identity provider, or nothing', () => {
    expect(findFaults({ AUTH_ISSUER: 'https://id.example' }).split('\n')).toEqual([
      'AUTH_JWKS_URL must be set too: AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE belong together',
      'AUTH_AUDIENCE must be set too: AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE belong together',
    ]);
  });

  it('names every variable at fault once, and shows no value', () => {
    const faults = findFaults({
      PORT: '99999',
      DATABASE_URL: 'mysql://me:pass',
      ACCESS_TOKENS: 'my secret',
      AUTH_JWKS_URL: 'x',
    });
    const names = faults.split('\n').map((line) => line.split(' ')[0]);
    const provider = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'];
    expect(names.sort()).toEqual(['PORT', 'DATABASE_URL', 'ACCESS_TOKENS', ...provider].sort());
    expect(faults).not.toMatch(/99999|mysql|pass|secret/);
  });
});

describe('the settings of a module', () => {
  class GardensSettings {
    @Setting(wholeNumber(1, 100), '20')
    readonly GARDEN_BEDS!: number;
  }

  it('are read, have defaults, and are checked together with those of the platform', () => {
    expect(loadSettings(GardensSettings, {})).toEqual({ GARDEN_BEDS: 20 });
    expect(loadSettings(GardensSettings, { GARDEN_BEDS: '7' })).toEqual({ GARDEN_BEDS: 7 });
    const faults = [
      'GARDEN_BEDS must be a whole number from 1 to 100',
      'PORT must be a whole number from 0 to 65535',
    ];
    expect(findFaults({ PORT: 'x', GARDEN_BEDS: '101' }).split('\n').sort()).toEqual(faults);
    expect(() => loadSettings(GardensSettings, { PORT: 'x' })).toThrow('PORT must be');
  });
});

function findFaults(source: Record<string, string>): string {
  try {
    loadEnv(source);
    return '';
  } catch (error) {
    if (error instanceof EnvError) return error.message;
    throw error;
  }
}
