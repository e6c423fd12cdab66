import { transformFile } from '@swc/core';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { swc } from './swc.mjs';

// Hooks with which Node imports TypeScript outside of Jest: node --import ./scripts/load-typescript.mjs.
// Unlike tsx, swc tells TypeORM the types of properties, for `@Column() name!: string`.

// Node runs hooks in a thread of their own.
if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  const conditions = ['source', ...context.conditions];
  const isTypescript = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
  return await next(isTypescript ? specifier.replace(/\.js$/, '.ts') : specifier, {
    ...context,
    conditions,
  });
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return await next(url, context);
  const { code } = await transformFile(fileURLToPath(url), { ...swc, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
