import { Gauge, type Registry } from 'prom-client';

interface Rest {
  readonly upstream: string;
  /** The upstream's name for it. */
  readonly model: string;
  readonly cause: string;
}

/** Reports which upstreams are paused. @param list the upstreams that are currently paused */
export function watchRests(registry: Registry, list: () => readonly Rest[]): void {
  const resting = new Gauge({
    name: 'genway_text_upstream_resting',
    help: 'Text upstreams that the process has paused, per model and key, by reason',
    labelNames: ['upstream', 'model', 'cause'],
    registers: [registry],
    collect() {
      resting.reset();
      for (const rest of list()) resting.inc({ ...rest });
    },
  });
}
