import type { Config, FilesConfig } from '../../config.ts';
import type { Clock } from '../../db/database-clock.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { MEDIA_APIS, MEDIA_PROTOCOLS } from '../../providers/media/protocols.ts';
import { createMediaUpstream, type MediaUpstream, type MediaUpstreamOptions } from '../../providers/media/upstream.ts';
import { TEXT_VENDORS } from '../../providers/text/vendors.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import {
  createTextUpstreams,
  type TextUpstreamObserver,
  type TextUpstreams,
} from '../../providers/text/text-upstreams.ts';
import {
  type LimitedMediaUpstream,
  NO_LIMITS,
  type ProviderLimits,
  type Upstreams,
} from '../../providers/upstreams.ts';
import type { Tracing } from '../../telemetry/tracing.ts';

/** The open media upstreams, by name. */
export interface OpenMediaUpstreams {
  readonly upstreams: ReadonlyMap<string, MediaUpstream>;
  /**
   * Opens upstreams that are new or changed. A removed upstream stays open for its tasks in progress.
   *
   * @param media all upstreams of the current file
   */
  renew(media: readonly LimitedMediaUpstream[]): void;
}

/** Opens the upstreams for the steps of tasks. */
export function openMediaUpstreams(config: Config, tracing: Tracing, clock: Clock): OpenMediaUpstreams {
  return openEach(config, (name) => ({
    nowMs: () => clock.nowMs(),
    traced: (dispatcher) => tracing.provider(name, dispatcher),
  }));
}

/** Opens the upstreams for reading their callbacks; none if callbacks are off. */
export function openCallbackReaders(config: Config, clock: Clock): OpenMediaUpstreams {
  if (!config.providers.callbacks) return { upstreams: new Map(), renew: () => {} };
  return openEach(config, () => ({ nowMs: () => clock.nowMs() }));
}

/** The limits of each media upstream, by name. */
export function providerLimits({ media }: Upstreams): ReadonlyMap<string, ProviderLimits> {
  return new Map(media.map(({ name, limits }) => [name, limits]));
}

/** The upstreams with limits. The steps of each wait in a separate task queue. */
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

/** How long a text upstream may send nothing on an open connection: models may think for long. */
const UPSTREAM_SILENCE_MS = 3_600_000;

export function openTextUpstreams({ text }: Upstreams, observer: TextUpstreamObserver): TextUpstreams {
  return createTextUpstreams(text, UPSTREAM_SILENCE_MS, observer);
}

/** The upstreams if there is no file of upstreams: the simulator, which simulates every protocol and every format. */
export function simulatedUpstreams({ simulator }: FilesConfig): Upstreams {
  return {
    media: simulatedMedia(simulator),
    text: ['simulator', ...Object.keys(TEXT_VENDORS)].map((name) => ({
      name,
      apiKeys: [simulator.key],
      baseUrls: baseUrlsAt(simulator.url),
    })),
  };
}

function openEach(config: Config, optionsOf: (name: string) => MediaUpstreamOptions): OpenMediaUpstreams {
  const { dispatcher: externalDispatcher } = createGuardedClient(config.edge);
  const callbackBase = config.providers.callbacks ? `${config.api.publicUrl}/v1/provider-callbacks` : null;
  const { pollIntervalMs } = config.tasks;
  const upstreams = new Map<string, MediaUpstream>();
  const written = new Map<string, string>();
  return {
    upstreams,
    renew: (media) => {
      for (const settings of media) {
        const { name } = settings;
        const text = JSON.stringify(settings);
        if (written.get(name) === text) continue;
        written.set(name, text);
        const poll = pollIntervalMs === null ? settings.poll : { firstMs: pollIntervalMs, everyMs: pollIntervalMs };
        upstreams.set(
          name,
          createMediaUpstream({ ...settings, poll }, { ...optionsOf(name), externalDispatcher, callbackBase }),
        );
      }
    },
  };
}

function simulatedMedia(simulator: FilesConfig['simulator']): readonly LimitedMediaUpstream[] {
  const common = {
    credential: { apiKey: simulator.key },
    callbackSecret: simulator.callbackSecret,
    addresses: {},
    onUnknown: 'give_up',
    poll: null,
    limits: NO_LIMITS,
  } as const;
  return [
    {
      ...common,
      name: 'simulator',
      protocol: 'http-jobs',
      adapter: MEDIA_PROTOCOLS['http-jobs'],
      baseUrl: simulator.url,
      keysUrl: null,
      resultOrigins: [],
    },
    // Simulated vendors, for the routes of catalogue/vendors.yaml.
    ...MEDIA_APIS.slice(1).map(([name, protocol, adapter]) => ({
      ...common,
      name,
      protocol,
      adapter,
      baseUrl: `${simulator.url}/vendors/${protocol}`,
      keysUrl: `${simulator.url}/vendors/${protocol}/jwks.json`,
      addresses: {
        requests: `${simulator.url}/vendors/${protocol}`,
        storage: `${simulator.url}/vendors/${protocol}`,
      },
      resultOrigins: [simulatedFiles(simulator.url)],
    })),
  ];
}

/** The origin of the simulator's files. Like a vendor, the simulator serves files from another origin than its API. */
function simulatedFiles(simulatorUrl: string): string {
  const url = new URL(simulatorUrl);
  if (url.hostname === '127.0.0.1') url.hostname = 'localhost';
  return url.origin;
}
