import { resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { createHttpJobsProvider } from '../../providers/http-jobs/http-jobs.ts';
import {
  createTextUpstreams,
  type TextUpstreams,
  type TextUpstreamSettings,
} from '../../providers/text/text-upstreams.ts';
import { loadUpstreams, type MediaUpstream, NO_LIMITS, type ProviderLimits } from '../../providers/upstreams.ts';
import type { MediaProvider } from '../../providers/media-provider.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import { createGuardedClient } from '../../net/address-guard.ts';

/** The upstreams that render media, by name; the simulator where no file names others. */
export function openMediaProviders(config: Config, tracing: Tracing): ReadonlyMap<string, MediaProvider> {
  const { dispatcher: externalDispatcher } = createGuardedClient(config.edge);
  return new Map(
    mediaUpstreams(config).map((upstream) => [
      upstream.name,
      createHttpJobsProvider({
        ...upstream,
        externalDispatcher,
        traced: (dispatcher) => tracing.provider(upstream.name, dispatcher),
      }),
    ]),
  );
}

/** What may be asked of each of them, by name. */
export function providerLimits(config: Config): ReadonlyMap<string, ProviderLimits> {
  return new Map(mediaUpstreams(config).map(({ name, limits }) => [name, limits]));
}

/** Those whose steps have to wait for their turn, for which they have a task queue of their own. */
export function limitedProviders(limits: ReadonlyMap<string, ProviderLimits>): ReadonlySet<string> {
  const limited = [...limits].filter(
    ([, { stepsPerSecond, concurrentSteps }]) => stepsPerSecond !== null || concurrentSteps !== null,
  );
  return new Set(limited.map(([name]) => name));
}

/** What upstreams sign their callbacks with, by name; empty when callbacks are off. */
export function callbackSecrets(config: Config): ReadonlyMap<string, string> {
  if (!config.providers.callbacks) return new Map();
  return new Map(
    mediaUpstreams(config).flatMap(({ name, callbackSecret }) =>
      callbackSecret === null ? [] : [[name, callbackSecret] as const],
    ),
  );
}

/** Where an upstream announces the end of a task's job; null for those that nobody listens to. */
export function callbackUrls(config: Config): (provider: string, taskId: string) => string | null {
  const secrets = callbackSecrets(config);
  return (provider, taskId) =>
    secrets.has(provider)
      ? `${config.api.publicUrl}/v1/provider-callbacks/${encodeURIComponent(provider)}/${taskId}`
      : null;
}

/** The upstreams of text models; the simulator, in all formats, where no file names others. */
export function openTextUpstreams(
  { providers, simulator, text }: Config,
  { tracing, metrics }: { readonly tracing: Tracing; readonly metrics: Metrics },
): TextUpstreams {
  const open = (upstreams: readonly TextUpstreamSettings[]): TextUpstreams =>
    createTextUpstreams(upstreams, text.silenceMs, {
      traced: (name, dispatcher) => tracing.provider(name, dispatcher),
      answered: (upstream, outcome, seconds) => metrics.upstreamAnswered({ upstream, outcome, seconds }),
    });
  if (providers.routesFile) return open(loadUpstreams(resolve(providers.routesFile)).text);
  const v1 = `${simulator.url}/v1`;
  const baseUrls = {
    'chat-completions': v1,
    responses: v1,
    messages: v1,
    'generate-content': `${simulator.url}/v1beta`,
  };
  return open([{ name: 'simulator', apiKey: simulator.key, baseUrls }]);
}

function mediaUpstreams({ providers, simulator }: Config): readonly MediaUpstream[] {
  if (providers.routesFile) return loadUpstreams(resolve(providers.routesFile)).media;
  const { url: baseUrl, key } = simulator;
  return [{ name: 'simulator', baseUrl, apiKey: key, callbackSecret: key, limits: NO_LIMITS }];
}
