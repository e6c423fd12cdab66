import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A span of OTLP in JSON, with its attributes by name. Times are in nanoseconds. */
export interface Span {
  readonly scope: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Record<string, unknown>;
}

type OtlpSpan = Omit<Span, 'scope' | 'attributes'> & {
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
};

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

/** Collects the spans that a program exports with OTLP as JSON over HTTP. */
export class Collector {
  readonly spans: Span[] = [];

  private constructor(private readonly server: Server) {
    server.on('request', (req, res) => {
      void json(req).then((body) => {
        this.spans.push(...spansIn(body as OtlpRequest));
        res.setHeader('Content-Type', 'application/json').end('{}');
      });
    });
  }

  static async start(): Promise<Collector> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Collector(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Returns the spans of an instrumentation, such as `http`. */
  of(instrumentation: string): Span[] {
    return this.spans.filter(({ scope }) => scope.endsWith(`/instrumentation-${instrumentation}`));
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function spansIn({ resourceSpans }: OtlpRequest): Span[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        ...span,
        scope: scope.name,
        attributes: Object.fromEntries(
          span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
        ),
      })),
    );
}
