import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { createHttpJobsProvider } from '../../providers/http-jobs/http-jobs.ts';
import { loadUpstreams } from '../../providers/upstreams.ts';
import type { MediaProvider } from '../../providers/media-provider.ts';
import { createGuardedClient } from '../../webhooks/address-guard.ts';

/** The upstreams that render media, by name; the simulator where no file names others. */
export function openMediaProviders(config: Config): ReadonlyMap<string, MediaProvider> {
  const { dispatcher: externalDispatcher } = createGuardedClient(config.edge);
  const upstreams = config.providers.routesFile
    ? loadUpstreams(join(process.cwd(), config.providers.routesFile)).media
    : [{ name: 'simulator', baseUrl: config.simulator.url, apiKey: config.simulator.key }];
  return new Map(
    upstreams.map((upstream) => [upstream.name, createHttpJobsProvider({ ...upstream, externalDispatcher })]),
  );
}
