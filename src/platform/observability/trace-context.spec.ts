import { describe, expect, it } from '@jest/globals';
import { readTrace } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;

describe('a traceparent', () => {
  it.each([
    ['of the first version', VALID],
    ['of a later version', `cc-${TRACE}-${SPAN}-01`],
    ['of a later version with more in it', `cc-${TRACE}-${SPAN}-01-what-the-future-adds`],
  ])('%s names the trace and the span of the caller', (_, traceparent) => {
    expect(readTrace({ traceparent })).toEqual({ trace_id: TRACE, span_id: SPAN });
  });

  it.each([
    ['of a version that is not valid', `ff-${TRACE}-${SPAN}-01`],
    ['of the first version with more in it', `${VALID}-more`],
    ['of a later version with more in it that is not set apart', `cc-${TRACE}-${SPAN}-01.more`],
    ['whose trace is all zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['whose span is all zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['that would forge a log line', `00-${TRACE}-${SPAN}-01\n{"level":60}`],
  ])('%s names none', (_, traceparent) => {
    expect(readTrace({ traceparent })).toBeUndefined();
  });
});
