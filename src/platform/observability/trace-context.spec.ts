import { expect, it } from '@jest/globals';
import { readTrace } from './trace-context.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

it.each([
  ['of a later version', `cc-${TRACE}-${SPAN}-01`, true],
  ['of a later version with more in it', `cc-${TRACE}-${SPAN}-01-what-the-future-adds`, true],
  ['of a later version with more that is not set apart', `cc-${TRACE}-${SPAN}-01.more`, false],
  ['of the first version with more in it', `00-${TRACE}-${SPAN}-01-more`, false],
  ['of a version that is not valid', `ff-${TRACE}-${SPAN}-01`, false],
  ['whose trace is all zeros', `00-${'0'.repeat(32)}-${SPAN}-01`, false],
  ['whose span is all zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, false],
])('a traceparent %s names the trace and the span of the caller: %#', (_, traceparent, isValid) => {
  const trace = isValid ? { trace_id: TRACE, span_id: SPAN } : undefined;
  expect(readTrace({ traceparent })).toEqual(trace);
});
