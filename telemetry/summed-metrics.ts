/**
 * Adds up the metrics of several processes. A sum of counters never falls: Prometheus would take a fall for a restart,
 * and count the remaining value as new.
 */
import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric with its values, as a registry exports it in JSON. */
export interface MetricSnapshot {
  readonly type: unknown;
}

/** The types of metrics that only grow. */
const CUMULATIVE: ReadonlySet<unknown> = new Set(['counter', 'histogram', 'summary']);

export class SummedMetrics {
  /** The latest metrics of each process, by its id. */
  readonly #latest = new Map<number, readonly MetricSnapshot[]>();
  /** The counts of processes that ended. */
  #ended: readonly MetricSnapshot[] = [];

  /** Replaces the metrics of a process. The last metrics of a process count until the next ones. */
  update(process: number, metrics: readonly MetricSnapshot[]): void {
    this.#latest.set(process, metrics);
  }

  /** Drops the gauges of a process that has ended, and keeps its counters. */
  end(process: number): void {
    const counted = (this.#latest.get(process) ?? []).filter(({ type }) => CUMULATIVE.has(type));
    this.#latest.delete(process);
    this.#ended = sum([this.#ended, counted]).getMetricsAsArray();
  }

  /** Returns the sums, or for a gauge the value of its `aggregator`, in Prometheus' text format. */
  render(): Promise<string> {
    return sum([...this.#latest.values(), this.#ended]).metrics();
  }
}

function sum(snapshots: readonly (readonly MetricSnapshot[])[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots]);
}
