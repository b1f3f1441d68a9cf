/**
 * The metrics of several processes as those of one. A counter never falls: Prometheus would take that for a restart, and
 * count everything that is left as new.
 */
import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric with its values, as a registry gives it in JSON. */
export interface MetricSnapshot {
  readonly type: unknown;
}

/** The kinds that only grow. */
const CUMULATIVE: ReadonlySet<unknown> = new Set(['counter', 'histogram', 'summary']);

export class SummedMetrics {
  /** By the id of the process. */
  readonly #latest = new Map<number, readonly MetricSnapshot[]>();
  /** The counts of processes that ended. */
  #ended: readonly MetricSnapshot[] = [];

  /** Takes the present metrics of a process. A process that does not give any counts with its last ones. */
  update(process: number, metrics: readonly MetricSnapshot[]): void {
    this.#latest.set(process, metrics);
  }

  /** Forgets the gauges of a process that has ended, and keeps what it had counted. */
  end(process: number): void {
    const counted = (this.#latest.get(process) ?? []).filter(({ type }) => CUMULATIVE.has(type));
    this.#latest.delete(process);
    this.#ended = sum([this.#ended, counted]).getMetricsAsArray();
  }

  /** Returns the sums in Prometheus' text format, or of a gauge what its `aggregator` says. */
  render(): Promise<string> {
    return sum([...this.#latest.values(), this.#ended]).metrics();
  }
}

function sum(snapshots: readonly (readonly MetricSnapshot[])[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots]);
}
