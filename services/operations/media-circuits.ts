/** The state of media upstreams, for operators. */
import type { Catalogue } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import { listMediaHealth, type ModelHealth } from '../../db/queries/media-outcomes.ts';
import { listUpstreamOverrides, type UpstreamOverride } from '../../db/queries/upstream-overrides.ts';
import { describeCircuit, type CircuitStatus } from '../../domain/circuit.ts';
import type { MediaFault } from '../../domain/media-health.ts';
import type { MediaRoute } from '../../domain/media-route.ts';
import { MEDIA_APIS } from '../../providers/media/protocols.ts';
import type { MediaUpstreamSettings } from '../../providers/media/upstream.ts';
import { keyHint } from '../../providers/text/circuit-state.ts';

/** A media upstream as operators recognise it. */
export interface MediaVendor {
  readonly name: string;
  readonly protocol: string;
  /** The last four characters of its key; null if it needs none. */
  readonly key: string | null;
}

/** The circuit of one route to a media model. */
export interface MediaCircuitState extends CircuitStatus<MediaFault | 'operator'> {
  readonly name: string;
  /** Null for an upstream that is not configured. */
  readonly protocol: string | null;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly key: string | null;
}

export function vendorOf({ name, adapter, credential }: MediaUpstreamSettings): MediaVendor {
  const protocol = MEDIA_APIS.find(([, , known]) => known === adapter)?.[1] ?? '';
  const key = 'apiKey' in credential ? credential.apiKey : credential.accessKey;
  return { name, protocol, key: key === '' ? null : keyHint(key) };
}

/** Lists the circuit of each upstream's model that serves a media model, in the order of the catalogue. */
export async function listMediaCircuits(
  database: Database,
  { videoModels, imageModels }: Catalogue,
  vendors: readonly MediaVendor[],
  nowMs: number,
): Promise<readonly MediaCircuitState[]> {
  const overrides = await listUpstreamOverrides(database);
  const health = await listMediaHealth(database, nowMs, overrides);
  const routes = [...videoModels.values(), ...imageModels.values()].flatMap((model) => model.routes);
  return candidatesOf(routes).map(([name, model]) => {
    const vendor = vendors.find((one) => one.name === name);
    const known = health.find((one) => one.provider === name && one.model === model);
    const override = overrides.find(({ upstream }) => upstream === name);
    return {
      name,
      protocol: vendor?.protocol ?? null,
      model,
      key: vendor?.key ?? null,
      ...stateOf(known, override, nowMs),
    };
  });
}

function candidatesOf(routes: readonly MediaRoute[]): readonly (readonly [provider: string, model: string])[] {
  const pairs = routes.flatMap(({ provider, model, modelWithImages }) =>
    [model, ...(modelWithImages === undefined ? [] : [modelWithImages])].map((name) => [provider, name] as const),
  );
  return [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()];
}

/** An operator's override takes precedence over the circuit. */
function stateOf(
  health: ModelHealth | undefined,
  override: UpstreamOverride | undefined,
  nowMs: number,
): CircuitStatus<MediaFault | 'operator'> {
  const closedUntilMs = override?.until?.getTime() ?? 0;
  if (override && closedUntilMs > nowMs) {
    return { state: 'resting', cause: 'operator', sinceMs: override.createdAt.getTime(), untilMs: closedUntilMs };
  }
  return describeCircuit(health?.opening ?? null, nowMs);
}
