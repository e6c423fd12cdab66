import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = new URL('../../', import.meta.url).pathname;

/** The path of each document below the root. */
export const DOCUMENTS = ['', 'docs', 'client'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder === 'docs', encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
);

/** A fenced block of a document, also one in a list. */
export interface Block {
  readonly document: string;
  /** The line where its text begins, from 1. */
  readonly line: number;
  readonly language: string;
  /** The text after the language: in a walk-through, the file of the block. */
  readonly file: string;
  readonly text: string;
}

const BLOCK = /^( *)```(\w*) ?(.*)\n([^]*?)^\1```$/gm;

export function listBlocks(document: string): Block[] {
  const markdown = readFileSync(join(ROOT, document), 'utf8');
  return [...markdown.matchAll(BLOCK)].map(
    ({ index, 1: indent = '', 2: language = '', 3: file = '', 4: indented = '' }) => {
      const line = markdown.slice(0, index).split('\n').length + 1;
      const text = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      return { document, line, language, file, text };
    },
  );
}
