import type { Histogram } from 'prom-client';

type Status = number | 'aborted';

interface Labels {
  readonly method: string;
  readonly route: string;
  readonly status: string;
}

interface Series {
  readonly labels: Labels;
  /** How many fell into each bucket and not into the one before; the last is beyond all of them. */
  readonly counts: Float64Array;
  sum: number;
}

/**
 * A histogram that prom-client prints like its own, whose `observe()` takes a twentieth of the time:
 * it is on the way of every request.
 */
export class RequestDurations {
  readonly name = 'http_request_duration_seconds';
  private readonly series = new Map<string, Series>();
  private last: (Omit<Labels, 'status'> & { status: Status; series: Series }) | undefined;

  /** @param buckets their upper bounds in seconds, ascending */
  constructor(private readonly buckets: readonly number[]) {}

  observe(method: string, route: string, status: Status, seconds: number): void {
    const series = this.seriesOf(method, route, status);
    let bucket = 0;
    while (seconds > (this.buckets[bucket] ?? Infinity)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  /** What prom-client asks each metric for. */
  get(): object {
    return {
      name: this.name,
      help: 'Time from the headers of a request to the end of its answer',
      type: 'histogram',
      aggregator: 'sum',
      values: [...this.series.values()].flatMap((series) => this.valuesOf(series)),
    };
  }

  /** As a registry takes it. */
  asMetric(): Histogram {
    return this as unknown as Histogram;
  }

  private seriesOf(method: string, route: string, status: Status): Series {
    const { last } = this;
    // Most requests are like the one before.
    if (last?.status === status && last.route === route && last.method === method) {
      return last.series;
    }
    const key = `${method} ${route} ${status}`;
    let series = this.series.get(key);
    if (series === undefined) {
      const labels = { method, route, status: String(status) };
      series = { labels, counts: new Float64Array(this.buckets.length + 1), sum: 0 };
      this.series.set(key, series);
    }
    this.last = { method, route, status, series };
    return series;
  }

  private valuesOf({ labels, counts, sum }: Series): object[] {
    let count = 0;
    const buckets = [...this.buckets, '+Inf'].map((le, index) => ({
      metricName: `${this.name}_bucket`,
      labels: { le, ...labels },
      value: (count += counts[index] ?? 0),
    }));
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
