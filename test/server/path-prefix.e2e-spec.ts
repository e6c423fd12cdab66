import { describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post, Redirect, Res } from '@nestjs/common';
import { ApiCreated, IsInt64, IsText, Public } from 'durable-rest';
import { TOKEN } from 'durable-rest/testing';
import type { Response } from 'express';
import { PlantStoreClient } from '../../client/plant-store-client.js';
import { TestApp } from '../support/fixture-app.js';

class NewBedDto {
  @IsText()
  name!: string;
}

class BedDto extends NewBedDto {
  @IsInt64()
  id!: bigint;
}

@Controller('beds')
class BedsController {
  @Post()
  @ApiCreated(BedDto, 'The bed')
  create(@Body() { name }: NewBedDto): BedDto {
    return { id: 7n, name };
  }

  @Get('first')
  @Redirect('/beds/7', 301)
  first(): void {
    // The decorator answers.
  }

  @Get('last')
  last(@Res() response: Response): void {
    response.redirect('/beds/7');
  }

  @Get('help')
  @Redirect('https://help.test/beds')
  @Public()
  help(): void {
    // The decorator answers.
  }

  @Get('mirror')
  @Redirect('//mirror.test/beds')
  mirror(): void {
    // The decorator answers.
  }

  @Get('beside')
  @Redirect('7')
  beside(): void {
    // The decorator answers.
  }
}

@Module({ controllers: [BedsController] })
class BedsModule {}

/** What a proxy may send to name the prefix. Others may send it too, so it has no effect. */
const FORGED = {
  Forwarded: 'for=192.0.2.1;host=other.test;proto=https',
  'X-Forwarded-Host': 'other.test',
  'X-Forwarded-Prefix': '/other',
  'X-Forwarded-Path': '/other',
  'X-Script-Name': '/other',
};

describe.each(['', '/garden/v1'])('the references in answers with PATH_PREFIX=%s', (prefix) => {
  const env = { PATH_PREFIX: prefix, CHANGE_FEED: 'on', NODE_ENV: 'development' };
  const app = TestApp.forAll(env, BedsModule);

  it.each([
    ['/plants?limit=1&tag=%26%20t', '/plants?limit=1&after=1&tag=%26%20t'],
    ['/changes?limit=1', /^\/changes\?limit=1&after=[\w.]+$/],
  ])('the Link of %s', async (path, next) => {
    for (const id of [1, 2]) await app.create(`{"id":${id},"name":"n","tag":"& t"}`);
    const { headers } = await app.get(path, FORGED);
    const [, target = ''] = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
    expect(target.slice(0, prefix.length)).toBe(prefix);
    expect(target.slice(prefix.length)).toEqual(
      typeof next === 'string' ? next : expect.stringMatching(next),
    );
  });

  it('the Location of a created row', async () => {
    const { headers } = await app.post('/beds', '{"name":"n"}', FORGED);
    expect(headers.get('location')).toBe(`${prefix}/beds/7`);
  });

  it.each([
    ['/', `${prefix}/docs`],
    ['/beds/first', `${prefix}/beds/7`],
    ['/beds/last', `${prefix}/beds/7`],
    ['/beds/help', 'https://help.test/beds'],
    ['/beds/mirror', '//mirror.test/beds'],
    ['/beds/beside', '7'],
  ])('the redirect of %s', async (path, location) => {
    const { headers } = await app.get(path, FORGED);
    expect(headers.get('location')).toBe(location);
  });

  it('the server and the links of the OpenAPI document', async () => {
    const { body } = await app.get('/openapi.json', FORGED);
    expect(body).toMatchObject({
      info: { description: `The tests. [Probe](${prefix}/health/live)` },
      servers: [{ url: prefix === '' ? '/' : prefix }],
    });
  });

  it("the server and the links of Swagger UI's page, whose files are relative to it", async () => {
    const { text: page } = await app.get('/docs', FORGED);
    const references = [...page.matchAll(/(?:src|href)=["']([^"']+)["']/g)];
    expect(references.length).toBeGreaterThan(3);
    for (const [, reference] of references) expect(reference).toMatch(/^\.\/docs\//);
    const { text } = await app.get('/docs/swagger-ui-init.js', FORGED);
    expect(text).toContain(`"url": "${prefix === '' ? '/' : prefix}"`);
    expect(text).toContain(`[Probe](${prefix}/health/live)`);
  });

  it('the paths that 40400 lists in development', async () => {
    const { text } = await app.get('/plant', FORGED);
    expect(text).toContain(` ${prefix}/plants/{id}`);
    expect(text).not.toContain('other');
  });
});

/** Makes a `fetch` that reaches the application only as a proxy that removes this prefix does. */
function removePrefix(app: TestApp, prefix: string): typeof fetch {
  const start = `${app.url.origin}${prefix}/`;
  return async (url, init) => {
    if (typeof url !== 'string' || !url.startsWith(start)) return new Response('', { status: 404 });
    return await fetch(`${app.url.origin}/${url.slice(start.length)}`, init);
  };
}

it.each([
  ['', ''],
  ['', '/api'],
  ['', '/plants'],
  ['/api', '/api'],
  ['/garden/v1', '/garden/v1'],
  ['/plants', '/plants'],
])('the typed client follows a Link with PATH_PREFIX=%s behind %p', async (setting, prefix) => {
  const app = await TestApp.start({ PATH_PREFIX: setting, CHANGE_FEED: 'on' });
  for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"n"}`);
  const options = { fetch: removePrefix(app, prefix) };
  const client = new PlantStoreClient(`${app.url.origin}${prefix}/`, TOKEN, options);
  const ids: bigint[] = [];
  for await (const { id } of client.listPlants({ limit: 1 })) ids.push(id);
  const cursor = await client.latestCursor();
  await app.close();
  expect(ids).toEqual([1n, 2n, 3n]);
  expect(cursor).toMatch(/^\w+\.\w+$/);
});
