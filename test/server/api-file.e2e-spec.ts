import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { TOKEN } from 'durable-rest/testing';
import { TestApp } from '../support/test-app.js';

const FILE = readFileSync(new URL('../../api.http', import.meta.url), 'utf8');

const app = TestApp.forAll();

it('each request of api.http gets the status that its title promises', async () => {
  const [head = '', ...requests] = FILE.split(/^### /m);
  const variables = new Map<string, string>();
  for (const [, name = '', value = ''] of head.matchAll(/^@(\w+) = (.*)$/gm)) {
    variables.set(name, value);
  }
  variables.set('url', app.url.origin).set('token', TOKEN);
  const answers: string[] = [];
  for (const request of requests) {
    const text = request.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      return variables.get(name) ?? '';
    });
    const [title = '', start = '', ...rest] = text.trimEnd().split('\n');
    const [method = '', url = ''] = start.split(' ');
    const end = rest.includes('') ? rest.indexOf('') : rest.length;
    const headers = rest.slice(0, end).map((line) => line.split(': ') as [string, string]);
    const body = rest.slice(end + 1).join('\n');
    const { status } = await fetch(url, { method, headers, ...(body !== '' && { body }) });
    answers.push(title.replace(/: \d{3}/, `: ${status}`));
  }
  expect(answers).toHaveLength(10);
  expect(answers).toEqual(requests.map((request) => request.split('\n')[0]));
});
