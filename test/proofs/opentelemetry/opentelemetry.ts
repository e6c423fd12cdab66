import { BUILD, type Proof } from '../proof.js';

export default {
  summary: "runs the program with OpenTelemetry's package, and checks the spans a collector gets",
  takes: '30 s',
  before: [...BUILD, 'npm --prefix opentelemetry ci --ignore-scripts'],
  run: async () => {
    await import('./suite.js');
    return [];
  },
} satisfies Proof;
