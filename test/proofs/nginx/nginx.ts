import { BUILD, type Proof } from '../proof.js';

export default {
  summary: 'runs the shipped nginx.conf in front of the program: streams, errors and every method',
  takes: '20 s',
  needs: "Debian's package nginx-light",
  before: BUILD,
  run: async () => {
    await import('./suite.js');
    return [];
  },
} satisfies Proof;
