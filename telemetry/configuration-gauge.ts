import { Gauge, type Registry } from 'prom-client';

interface Configuration {
  readonly catalogue: string;
  readonly digest: string;
  readonly isRefused: boolean;
}

/** Reports the current version of the operator's files. @param read returns the current configuration */
export function watchConfiguration(registry: Registry, read: () => Configuration): void {
  const current = new Gauge({
    name: 'genway_configuration_info',
    help: 'The version of the catalogue and the digest of both files that the process uses; always 1',
    labelNames: ['catalogue', 'digest'],
    aggregator: 'max',
    registers: [registry],
    collect() {
      const { catalogue, digest } = read();
      current.reset();
      current.set({ catalogue, digest: digest.slice(0, 12) }, 1);
    },
  });
  const refused = new Gauge({
    name: 'genway_configuration_refused',
    help: 'Whether the process refuses the files on disk and uses an earlier version',
    aggregator: 'max',
    registers: [registry],
    collect() {
      refused.set(read().isRefused ? 1 : 0);
    },
  });
}
