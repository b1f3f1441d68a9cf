/** The current text upstreams of the operator's file, and the connections to them. */
import { UPSTREAM_FORMAT_NAMES, type UpstreamFormatName } from '../../domain/wire-format-name.ts';
import type { TextUpstreamSettings } from './settings.ts';
import type { UpstreamEndpoint } from './upstream-endpoint.ts';
import type { UpstreamRoute } from './candidates.ts';

type Target = Pick<UpstreamRoute, 'provider' | 'format'>;

/** Opens the connections to an address of an upstream. */
export type OpenEndpoint = (settings: TextUpstreamSettings, format: UpstreamFormatName) => UpstreamEndpoint;

/** The upstreams of one request. They stay the same until the request ends, even when the operator changes the files. */
export interface UpstreamSnapshot {
  /** Undefined if no upstream serves the route. */
  endpointOf(route: Target): UpstreamEndpoint | undefined;
  /** Empty if no upstream serves the route. */
  keysOf(route: Target): readonly string[];
  settingsOf(provider: string): TextUpstreamSettings | undefined;
}

/** An address and its connections, which are closed when the last user leaves. */
interface Shared {
  readonly endpoint: UpstreamEndpoint;
  users: number;
}

/** The upstreams between two changes of the operator's file. */
class Edition implements UpstreamSnapshot {
  readonly endpoints: ReadonlyMap<string, Shared>;
  /** The requests that use this edition, and one more while the edition is current. */
  users = 1;
  readonly #settings: ReadonlyMap<string, TextUpstreamSettings>;
  /** By the upstream's name and the format. */
  readonly #targets = new Map<string, Map<string, UpstreamEndpoint | undefined>>();

  constructor(settings: readonly TextUpstreamSettings[], endpoints: ReadonlyMap<string, Shared>) {
    this.#settings = new Map(settings.map((upstream) => [upstream.name, upstream]));
    this.endpoints = endpoints;
    for (const upstream of settings) {
      const endpointOf = (format: UpstreamFormatName) => endpoints.get(addressOf(upstream, format))?.endpoint;
      this.#targets.set(upstream.name, new Map(UPSTREAM_FORMAT_NAMES.map((name) => [name, endpointOf(name)])));
    }
  }

  endpointOf({ provider, format }: Target): UpstreamEndpoint | undefined {
    return this.#targets.get(provider)?.get(format);
  }

  keysOf(route: Target): readonly string[] {
    return this.endpointOf(route) === undefined ? [] : (this.settingsOf(route.provider)?.apiKeys ?? []);
  }

  settingsOf(provider: string): TextUpstreamSettings | undefined {
    return this.#settings.get(provider);
  }
}

export class UpstreamSet {
  readonly #open: OpenEndpoint;
  #current: Edition;

  constructor(settings: readonly TextUpstreamSettings[], open: OpenEndpoint) {
    this.#open = open;
    this.#current = this.#editionOf(settings, new Map());
  }

  get current(): UpstreamSnapshot {
    return this.#current;
  }

  /** Runs a request with the current upstreams, and keeps their connections open until the request ends. */
  async during<Result>(request: (upstreams: UpstreamSnapshot) => Promise<Result>): Promise<Result> {
    const edition = this.#current;
    edition.users += 1;
    try {
      return await request(edition);
    } finally {
      this.#leave(edition);
    }
  }

  /**
   * Replaces the upstreams for requests that start from now on. Unchanged addresses keep their connections.
   *
   * @returns the names of the upstreams that are new or changed
   */
  replace(settings: readonly TextUpstreamSettings[]): readonly string[] {
    const before = this.#current;
    this.#current = this.#editionOf(settings, before.endpoints);
    this.#leave(before);
    const isOther = (upstream: TextUpstreamSettings): boolean =>
      JSON.stringify(upstream) !== JSON.stringify(before.settingsOf(upstream.name));
    return settings.filter(isOther).map(({ name }) => name);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#current.endpoints.values()].map(({ endpoint }) => endpoint.close()));
  }

  #editionOf(settings: readonly TextUpstreamSettings[], open: ReadonlyMap<string, Shared>): Edition {
    const endpoints = new Map<string, Shared>();
    for (const upstream of settings) {
      for (const format of UPSTREAM_FORMAT_NAMES) {
        if (upstream.baseUrls[format] === undefined) continue;
        const address = addressOf(upstream, format);
        const shared = open.get(address) ?? { endpoint: this.#open(upstream, format), users: 0 };
        shared.users += 1;
        endpoints.set(address, shared);
      }
    }
    return new Edition(settings, endpoints);
  }

  #leave(edition: Edition): void {
    edition.users -= 1;
    if (edition.users > 0) return;
    for (const shared of edition.endpoints.values()) {
      shared.users -= 1;
      if (shared.users === 0) void shared.endpoint.close();
    }
  }
}

/** The settings on which connections depend. */
function addressOf(
  { name, baseUrls, auth, platform, headers = {} }: TextUpstreamSettings,
  format: UpstreamFormatName,
): string {
  return JSON.stringify([name, format, baseUrls[format], headers, auth, platform]);
}
