import type { Span } from '@opentelemetry/api';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * W3C Trace Context section 3.2.2: a version, which is never ff, the ids of the trace and of the
 * caller's span, neither of them all zeros, and flags. Only versions after 00 may have further
 * fields.
 */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;
const FIRST_VERSION = '00';

/**
 * Reads the trace of a request, with the names of OpenTelemetry; undefined if it has none, or its
 * header is not valid. The span belongs to the request if OpenTelemetry is loaded, and otherwise to
 * the caller.
 */
export function readTrace(headers: IncomingHttpHeaders, span?: Span): object | undefined {
  if (span !== undefined) {
    const { traceId, spanId } = span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }
  return headers.traceparent === undefined ? undefined : parse(headers.traceparent);
}

/** Node joins repeated headers, so that they are not valid, as section 3.2.2 requires. */
function parse(traceparent: string | string[]): object | undefined {
  const [, version, trace_id, span_id, rest] = TRACEPARENT.exec(String(traceparent)) ?? [];
  if (trace_id === undefined || span_id === undefined) return undefined;
  return version === FIRST_VERSION && rest !== undefined ? undefined : { trace_id, span_id };
}
