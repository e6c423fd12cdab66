import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EnvError } from '../platform/config/env.js';
import { CommandError, runCommand } from './command.js';
import { DatabaseStartError } from '../platform/database/data-source/store-data-source.js';

let printed: string;
const { DATABASE_URL } = process.env;

beforeEach(() => {
  printed = '';
  process.exitCode = undefined;
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
  Object.assign(process.env, { DATABASE_URL: DATABASE_URL ?? '' });
});

describe('runCommand', () => {
  it('prints nothing and exits 0 when all went well', async () => {
    await runCommand(() => Promise.resolve());
    expect({ printed, exitCode: process.exitCode }).toEqual({ printed: '', exitCode: undefined });
  });

  it.each([
    [new CommandError('Name a file'), 'Name a file\n'],
    [new DatabaseStartError('The store cannot be used'), 'The store cannot be used\n'],
    [new EnvError('DATABASE_URL must'), 'DATABASE_URL must\n'],
    [new Error('unforeseen'), 'The command failed: unforeseen\n'],
  ])('prints %s as one sentence and exits 1', async (error, sentence) => {
    await runCommand(() => Promise.reject(error));
    expect({ printed, exitCode: process.exitCode }).toEqual({ printed: sentence, exitCode: 1 });
  });
});
