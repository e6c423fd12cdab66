import { describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { V8_FLAGS } from './run-program.js';

// A busy machine may take long to start a program.
jest.setTimeout(300_000);

describe('V8_FLAGS', () => {
  // V8 goes on without a flag that it does not know.
  it.each(V8_FLAGS)('should be flags of this V8: %s', (flag) => {
    const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
    const [name = ''] = flag.replace(/^--no-/, '--').split('=');
    expect(known).toContain(`  ${name} (`);
  });
});
