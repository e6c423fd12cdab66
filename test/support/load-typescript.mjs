import { transformFile } from '@swc/core';
import { fileURLToPath } from 'node:url';
import { swc } from './swc.mjs';

// Hooks with which Node imports TypeScript outside of Jest.

export async function resolve(specifier, context, next) {
  const isTypescript = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
  return await next(isTypescript ? specifier.replace(/\.js$/, '.ts') : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return await next(url, context);
  const { code } = await transformFile(fileURLToPath(url), { ...swc, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
