import { BUILD, type Proof } from '../proof.js';

export default {
  summary: 'generates clients from openapi.json with three tools, and runs them on the program',
  takes: '40 s',
  before: [
    ...BUILD,
    'npm --prefix test/proofs/generated-clients ci --ignore-scripts --no-audit --no-fund',
  ],
  run: async () => {
    const suite = new URL('suite.mjs', import.meta.url).href;
    await import(suite);
    return [];
  },
} satisfies Proof;
