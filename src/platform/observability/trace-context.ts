import { type Span, trace } from '@opentelemetry/api';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * W3C Trace Context section 3.2.2: a version, which is never ff, the ids of the trace and of the
 * caller's span, neither of them all zeros, and flags. Only later versions than 00 may add to it.
 */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/;
const FIRST_VERSION = '00';

/** What a log line says of a trace, by the names that OpenTelemetry gives the fields. */
export interface TraceFields {
  readonly trace_id: string;
  /** The span of the request where OpenTelemetry is loaded, that of the caller where it is not. */
  readonly span_id: string;
}

/** The headers that continue a trace, none where there is no trace. */
export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Reads the trace of a request; undefined where it has none, or its header is not valid. */
export function readTrace(headers: IncomingHttpHeaders, span?: Span): TraceFields | undefined {
  if (span !== undefined) {
    const { traceId, spanId } = span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }
  return headers.traceparent === undefined ? undefined : parse(headers.traceparent);
}

/**
 * Makes the headers with which a request of the program's own continues a client's trace. Where
 * OpenTelemetry is loaded it adds them itself.
 */
export function continueTrace(headers: IncomingHttpHeaders): TraceHeaders {
  const { traceparent, tracestate } = headers;
  if (traceparent === undefined || trace.getActiveSpan() !== undefined) return {};
  if (parse(traceparent) === undefined) return {};
  return tracestate === undefined
    ? { traceparent: String(traceparent) }
    : { traceparent: String(traceparent), tracestate: String(tracestate) };
}

/** Node joins repeats of the header, so that they are not valid, as section 3.2.2 wants. */
function parse(traceparent: string | string[]): TraceFields | undefined {
  const [, version, trace_id, span_id, rest] = TRACEPARENT.exec(String(traceparent)) ?? [];
  if (trace_id === undefined || span_id === undefined) return undefined;
  return version === FIRST_VERSION && rest !== undefined ? undefined : { trace_id, span_id };
}
