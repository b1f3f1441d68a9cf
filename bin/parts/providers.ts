import { resolve } from 'node:path';
import { type Config, type FilesConfig, readVariable } from '../../config.ts';
import type { Clock } from '../../db/database-clock.ts';
import { createGuardedClient } from '../../net/address-guard.ts';
import { MEDIA_PROTOCOLS } from '../../providers/media/protocols.ts';
import {
  type CallbackReader,
  createMediaUpstream,
  type MediaUpstream,
  type MediaUpstreamOptions,
} from '../../providers/media/upstream.ts';
import { baseUrlsAt, type TextUpstreamSettings } from '../../providers/text/settings.ts';
import {
  createTextUpstreams,
  type TextUpstreamObserver,
  type TextUpstreams,
} from '../../providers/text/text-upstreams.ts';
import {
  type LimitedMediaUpstream,
  loadUpstreams,
  NO_LIMITS,
  type ProviderLimits,
  type Upstreams,
} from '../../providers/upstreams.ts';
import type { Tracing } from '../../telemetry/tracing.ts';

/** The upstreams that render media, by name; the simulator's if no routes file names others. */
export function openMediaUpstreams(config: Config, tracing: Tracing, clock: Clock): ReadonlyMap<string, MediaUpstream> {
  const { dispatcher: externalDispatcher } = createGuardedClient(config.edge);
  return openEach(config, (name) => ({
    externalDispatcher,
    nowMs: () => clock.nowMs(),
    traced: (dispatcher) => tracing.provider(name, dispatcher),
  }));
}

/** Readers of upstreams' callbacks, by name of the upstream; none if callbacks are off. */
export function openCallbackReaders(config: Config, clock: Clock): ReadonlyMap<string, CallbackReader> {
  return config.providers.callbacks ? openEach(config, () => ({ nowMs: () => clock.nowMs() })) : new Map();
}

/** The limits of each media upstream, by name. */
export function providerLimits(config: Config): ReadonlyMap<string, ProviderLimits> {
  return new Map(mediaUpstreams(config).map(({ name, limits }) => [name, limits]));
}

/** The upstreams with limits, whose steps wait for their turn in a separate task queue. */
export function limitedProviders(limits: ReadonlyMap<string, ProviderLimits>): ReadonlySet<string> {
  const limited = [...limits].filter(
    ([, { stepsPerSecond, concurrentSteps }]) => stepsPerSecond !== null || concurrentSteps !== null,
  );
  return new Set(limited.map(([name]) => name));
}

/** The upstreams that answer submissions of at least one kind with files. */
export function fileRenderers(upstreams: ReadonlyMap<string, MediaUpstream>): ReadonlySet<string> {
  const kinds = ['image', 'video'] as const;
  const renderers = [...upstreams].filter(([, upstream]) =>
    kinds.some((kind) => upstream.traitsOf(kind)?.answers === 'files'),
  );
  return new Set(renderers.map(([name]) => name));
}

/** The upstreams of text models; the simulator, in all formats, if no routes file names others. */
export function openTextUpstreams(config: Config, observer: TextUpstreamObserver): TextUpstreams {
  return createTextUpstreams(textUpstreams(config), config.text.silenceMs, observer);
}

/** All upstreams, as the operator wrote them; those of the simulator where no file names others. */
export function upstreamsOf(config: FilesConfig): Upstreams {
  return { media: mediaUpstreams(config), text: textUpstreams(config) };
}

function textUpstreams({ providers, simulator }: FilesConfig): readonly TextUpstreamSettings[] {
  if (providers.routesFile) return loadUpstreams(resolve(providers.routesFile), readVariable).text;
  return [{ name: 'simulator', apiKeys: [simulator.key], baseUrls: baseUrlsAt(simulator.url) }];
}

function openEach(
  config: Config,
  optionsOf: (name: string) => MediaUpstreamOptions,
): ReadonlyMap<string, MediaUpstream> {
  const callbackBase = config.providers.callbacks ? `${config.api.publicUrl}/v1/provider-callbacks` : null;
  const { pollIntervalMs } = config.tasks;
  return new Map(
    mediaUpstreams(config).map((settings) => {
      const poll = pollIntervalMs === null ? settings.poll : { firstMs: pollIntervalMs, everyMs: pollIntervalMs };
      return [settings.name, createMediaUpstream({ ...settings, poll }, { ...optionsOf(settings.name), callbackBase })];
    }),
  );
}

function mediaUpstreams({ providers, simulator }: FilesConfig): readonly LimitedMediaUpstream[] {
  if (providers.routesFile) return loadUpstreams(resolve(providers.routesFile), readVariable).media;
  const common = {
    credential: { apiKey: simulator.key },
    callbackSecret: simulator.key,
    addresses: {},
    onUnknown: 'give_up',
    poll: null,
    limits: NO_LIMITS,
  } as const;
  return [
    {
      ...common,
      name: 'simulator',
      adapter: MEDIA_PROTOCOLS['http-jobs'],
      baseUrl: simulator.url,
      keysUrl: null,
      resultOrigins: [],
    },
    // Vendors as played by the simulator, for the routes of catalogue/vendors.yaml.
    ...Object.entries(MEDIA_PROTOCOLS)
      .slice(1)
      .map(([protocol, adapter]) => ({
        ...common,
        name: protocol,
        adapter,
        baseUrl: `${simulator.url}/vendors/${protocol}`,
        keysUrl: `${simulator.url}/vendors/${protocol}/jwks.json`,
        addresses: { requests: `${simulator.url}/vendors/${protocol}` },
        resultOrigins: [simulatedFiles(simulator.url)],
      })),
  ];
}

/** Vendors serve files from other origins than their API; the simulator imitates that with another host name. */
function simulatedFiles(simulatorUrl: string): string {
  const url = new URL(simulatorUrl);
  if (url.hostname === '127.0.0.1') url.hostname = 'localhost';
  return url.origin;
}
