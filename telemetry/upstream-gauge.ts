import { Gauge, type Registry } from 'prom-client';

interface OpenCircuit {
  readonly upstream: string;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly cause: string;
}

/** Reports the open circuits of text upstreams. @param list the circuits that are open now */
export function watchOpenCircuits(registry: Registry, list: () => readonly OpenCircuit[]): void {
  const open = new Gauge({
    name: 'genway_text_upstream_resting',
    help: 'Open circuits of text upstreams in the process, per model and key, by cause',
    labelNames: ['upstream', 'model', 'cause'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      open.reset();
      for (const circuit of list()) open.inc({ ...circuit });
    },
  });
}
