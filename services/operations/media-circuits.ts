/** The state of media upstreams, for operators. */
import type { Catalogue } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import { listMediaCircuits } from '../../db/queries/media-outcomes.ts';
import { listUpstreamOverrides } from '../../db/queries/upstream-overrides.ts';
import { describeCircuit, type CircuitStatus } from '../../domain/circuit.ts';
import type { MediaRoute } from '../../domain/media-route.ts';
import { shownCredential } from '../../providers/media/credentials.ts';
import { MEDIA_APIS } from '../../providers/media/protocols.ts';
import type { MediaUpstreamSettings } from '../../providers/media/upstream.ts';
import { keyHint } from '../../providers/text/candidates.ts';
import { outOfServiceOf, overrideOf } from '../../domain/upstream-override.ts';

/** A media upstream as operators recognise it. */
export interface MediaVendor {
  readonly name: string;
  readonly protocol: string;
  /** The last four characters of its key; null if it needs none. */
  readonly key: string | null;
}

/** The circuit of one route to a media model. */
export interface MediaCircuitState extends CircuitStatus {
  readonly name: string;
  /** Null for an upstream that is not configured. */
  readonly protocol: string | null;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly key: string | null;
}

export function vendorOf({ name, adapter, credential }: MediaUpstreamSettings): MediaVendor {
  const protocol = MEDIA_APIS.find(([, , known]) => known === adapter)?.[1] ?? '';
  const key = shownCredential(credential);
  return { name, protocol, key: key === '' ? null : keyHint(key) };
}

const NEVER_USED = { opening: null };

/** Lists the circuit of each upstream's model that serves a media model, in the order of the catalogue. */
export async function listMediaCircuitStates(
  database: Database,
  { videoModels, imageModels }: Catalogue,
  vendors: readonly MediaVendor[],
  nowMs: number,
): Promise<readonly MediaCircuitState[]> {
  const overrides = await listUpstreamOverrides(database);
  const circuits = await listMediaCircuits(database, nowMs, overrides);
  const routes = [...videoModels.values(), ...imageModels.values()].flatMap((model) => model.routes);
  return candidatesOf(routes).map(([name, model]) => {
    const vendor = vendors.find((one) => one.name === name);
    const { circuit = NEVER_USED } = circuits.find((one) => one.provider === name && one.model === model) ?? {};
    return {
      name,
      protocol: vendor?.protocol ?? null,
      model,
      key: vendor?.key ?? null,
      ...describeCircuit(circuit, outOfServiceOf(overrideOf(overrides, name, model), nowMs), nowMs),
    };
  });
}

function candidatesOf(routes: readonly MediaRoute[]): readonly (readonly [provider: string, model: string])[] {
  const pairs = routes.flatMap(({ provider, model, modelWithImages }) =>
    [model, ...(modelWithImages === undefined ? [] : [modelWithImages])].map((name) => [provider, name] as const),
  );
  return [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()];
}
