import { describe, expect, it } from '@jest/globals';
import { Histogram, Registry } from 'prom-client';
import { RequestDurations } from './request-durations.js';

const BUCKETS = [0.01, 0.1, 1];

describe('RequestDurations', () => {
  it('prints what a histogram of prom-client prints', async () => {
    const ours = new Registry();
    const durations = new RequestDurations(BUCKETS);
    ours.registerMetric(durations.asMetric());
    const theirs = new Registry();
    const histogram = new Histogram({
      name: durations.name,
      help: 'Time from the headers of a request to the end of its answer',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers: [theirs],
    });
    const requests: [string, string, number | 'aborted', number][] = [
      ['POST', '/plants', 200, 0.005],
      ['POST', '/plants', 200, 0.01],
      ['POST', '/plants', 200, 0.5],
      ['POST', '/plants', 409, 30],
      ['other', 'unmatched', 'aborted', 0],
    ];
    for (const [method, route, status, seconds] of requests) {
      durations.observe(method, route, status, seconds);
      histogram.observe({ method, route, status }, seconds);
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });
});
