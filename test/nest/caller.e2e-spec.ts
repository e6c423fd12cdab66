import { afterAll, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import { hash } from 'node:crypto';
import { Caller, getCaller, Public, type RequestCaller } from 'durable-rest';
import { TOKEN } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';
import { TokenIssuer } from '../support/token-issuer.js';

/** Who owns the garden. Its name is longer than what the log shows of one. */
const OWNER = `gardener-${'x'.repeat(100)}`;

@Injectable()
class OwnerGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return getCaller(context)?.user === OWNER;
  }
}

@Controller('gardens')
class GardensController {
  @Get('caller')
  caller(@Caller() caller: RequestCaller): RequestCaller {
    return caller;
  }

  @Get('public')
  @Public()
  public(@Caller() caller?: RequestCaller): object {
    return { isKnown: caller !== undefined };
  }

  @Get('own')
  @UseGuards(OwnerGuard)
  own(): string {
    return 'mine';
  }
}

@Module({ controllers: [GardensController] })
class GardensModule {}

const NAMED = 'the-token-of-garden-app';
const issuer = await TokenIssuer.start();
afterAll(() => issuer.stop());
const ACCESS_TOKENS = `${TOKEN},garden-app:sha256:${hash('sha256', NAMED)}`;
const app = TestApp.forAll({ ...issuer.env, ACCESS_TOKENS }, GardensModule);

async function bearer(claims: object): Promise<{ Authorization: string }> {
  return { Authorization: `Bearer ${await issuer.token({ ...claims })}` };
}

describe('a handler', () => {
  it('gets the client, the user and the scopes of a JWT', async () => {
    const claims = { client_id: 'app', sub: OWNER, scope: 'plants beds' };
    const { body } = await app.get('/gardens/caller', await bearer(claims));
    const scopes = expect.arrayContaining(['plants', 'beds']);
    expect(body).toEqual({ client: 'app', user: OWNER, scopes });
  });

  it('gets the name of a static token, if it has one', async () => {
    const named = { Authorization: `Bearer ${NAMED}` };
    expect((await app.get('/gardens/caller', named)).body).toEqual({ client: 'garden-app' });
    expect((await app.get('/gardens/caller')).body).toEqual({});
  });

  it('that is public knows no caller', async () => {
    expect((await app.get('/gardens/public')).body).toEqual({ isKnown: false });
  });
});

it('a guard lets only the owner in', async () => {
  const owner = await bearer({ sub: OWNER });
  expect(await app.get('/gardens/own', owner)).toMatchObject({ status: 200, text: 'mine' });
  // The log would show both as the same name.
  const other = await bearer({ sub: `${OWNER}y` });
  expect(await app.get('/gardens/own', other)).toMatchObject({ status: 403 });
  expect(await app.get('/gardens/own')).toMatchObject({ status: 403 });
});
