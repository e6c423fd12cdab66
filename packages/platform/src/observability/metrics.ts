import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Service } from '../config/service.js';

// An application and a store each have a registry. That of prom-client has the metrics of the process,
// and those that modules add.

collectDefaultMetrics();

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The methods with a label of their own. Clients may invent others, which share one label. */
const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/**
 * The reason why a request is answered 401. An `unknown` token is not configured, and has not the
 * form of a JWT. The reasons from `malformed` on are about JWTs.
 */
export type AuthFailure =
  | 'missing'
  | 'unknown'
  | 'malformed'
  | 'algorithm'
  | 'unknown-key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'not-yet-valid'
  | 'type'
  | 'bound-to-key';

/** The metrics of an application and its requests. */
@Injectable()
export class RequestMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];

  private readonly requestDuration = new Histogram({
    registers: this.registers,
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer, by method, route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
  });

  readonly authFailures = new Counter({
    registers: this.registers,
    name: 'auth_failures_total',
    help: 'Requests answered 401 by reason, such as missing, unknown, signature or expired',
    labelNames: ['reason'],
  });

  readonly openConnections = new Gauge({
    registers: this.registers,
    name: 'http_connections',
    help: 'Open connections',
  });

  readonly droppedConnections = new Counter({
    registers: this.registers,
    name: 'http_connections_dropped_total',
    help: 'Connections closed unanswered because far too many were open',
  });

  readonly importedLines = new Counter({
    registers: this.registers,
    name: 'import_lines_total',
    help: 'Lines of imports by outcome: created, identical or failed',
    labelNames: ['outcome'],
  });

  constructor({ name, version }: Service) {
    const buildInfo = new Gauge({
      registers: this.registers,
      name: `${name.replaceAll('-', '_')}_build_info`,
      help: 'The version of the program and of Node, as labels; always 1',
      labelNames: ['version', 'node'],
    });
    buildInfo.set({ version, node: process.version }, 1);
  }

  /**
   * Counts a request that is over.
   *
   * @param method undefined for input that was not HTTP
   * @param route the pattern of the route; never the path, which has unlimited values
   * @param status undefined when the client left before its answer
   */
  countRequest(
    method: string | undefined,
    route: string | undefined,
    status: number | undefined,
    seconds: number,
  ): void {
    const labels = {
      method: method !== undefined && METHODS.has(method) ? method : 'other',
      route: route ?? 'unmatched',
      status: status ?? 'aborted',
    };
    this.requestDuration.observe(labels, seconds);
  }
}
