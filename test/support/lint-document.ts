import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { TestApplication } from 'durable-rest/testing';

/** Lists what Redocly finds in the OpenAPI document of an application: the place, and the fault. */
export async function lintDocument(app: Pick<TestApplication, 'request'>): Promise<string[]> {
  const { text: source } = await app.request('GET', '/openapi.json');
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message, location: [place] }) => {
    const fault = `${place?.pointer ?? '#'}: ${message}`;
    if (ruleId !== 'operation-summary') return fault;
    return `${fault} Write @ApiOperation({ summary: '...' }) at the handler`;
  });
}
