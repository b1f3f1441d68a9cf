import { Gauge, type Registry } from 'prom-client';

interface Rest {
  readonly upstream: string;
  /** The upstream's name for it. */
  readonly model: string;
  readonly cause: string;
}

/** Tells Prometheus which upstreams are left alone for a while. @param list those that are at the moment */
export function watchRests(registry: Registry, list: () => readonly Rest[]): void {
  const resting = new Gauge({
    name: 'genway_text_upstream_resting',
    help: 'Ways to models of text upstreams, one a key, that the process leaves alone for a while, by why',
    labelNames: ['upstream', 'model', 'cause'],
    registers: [registry],
    collect() {
      resting.reset();
      for (const rest of list()) resting.inc({ ...rest });
    },
  });
}
