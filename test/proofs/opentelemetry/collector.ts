import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A span of OTLP in JSON. Times are in nanoseconds. */
export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly Span[];
    }[];
  }[];
}

/** Collects the spans that a program exports with OTLP as JSON over HTTP. */
export class Collector {
  private readonly spans = new Map<string, Span[]>();

  private constructor(private readonly server: Server) {
    server.on('request', (req, res) => {
      void json(req).then((body) => {
        const { resourceSpans } = body as OtlpRequest;
        for (const { scope, spans } of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)) {
          this.spans.set(scope.name, [...(this.spans.get(scope.name) ?? []), ...spans]);
        }
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
  of(instrumentation: string): readonly Span[] {
    return this.spans.get(`@opentelemetry/instrumentation-${instrumentation}`) ?? [];
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export function getAttribute({ attributes }: Span, name: string): string {
  const found = attributes.find(({ key }) => key === name);
  return String(Object.values(found?.value ?? {})[0]);
}
