import { type Span, trace } from '@opentelemetry/api';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * W3C Trace Context section 3.2.2: a version, which is never ff, the ids of the trace and of the
 * caller's span, neither of them all zeros, and flags. Only versions after 00 may have further
 * fields.
 */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;
const FIRST_VERSION = '00';
/** The length of a `traceparent` of the first version, in characters. */
const TRACEPARENT_LENGTH = 55;
/** The longest `tracestate` that is passed on, in characters (W3C Trace Context section 3.3.1.5). */
const MAX_TRACESTATE = 512;

/** The fields of a trace in a log line, with the names of OpenTelemetry. */
export interface TraceFields {
  readonly trace_id: string;
  /** The span of the request if OpenTelemetry is loaded, and otherwise that of the caller. */
  readonly span_id: string;
}

/** The headers that continue a trace; empty without a trace. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Reads the trace of a request; undefined if it has none, or its header is not valid. */
export function readTrace(headers: IncomingHttpHeaders, span?: Span): TraceFields | undefined {
  if (span !== undefined) {
    const { traceId, spanId } = span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }
  return headers.traceparent === undefined ? undefined : parse(headers.traceparent);
}

/**
 * Makes the headers with which a request of this program continues the trace of a client; empty if
 * OpenTelemetry is loaded, which adds them itself. They are short, since another server might refuse
 * long ones.
 */
export function continueTrace(headers: IncomingHttpHeaders): TraceHeaders {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined || trace.getActiveSpan() !== undefined) return {};
  if (parse(traceparent) === undefined) return {};
  const parent = FIRST_VERSION + String(traceparent).slice(2, TRACEPARENT_LENGTH);
  const state = String(tracestate ?? '');
  return state === '' || state.length > MAX_TRACESTATE
    ? { traceparent: parent }
    : { traceparent: parent, tracestate: state };
}

/** Node joins repeated headers, so that they are not valid, as section 3.2.2 requires. */
function parse(traceparent: string | string[]): TraceFields | undefined {
  const [, version, trace_id, span_id, rest] = TRACEPARENT.exec(String(traceparent)) ?? [];
  if (trace_id === undefined || span_id === undefined) return undefined;
  return version === FIRST_VERSION && rest !== undefined ? undefined : { trace_id, span_id };
}
