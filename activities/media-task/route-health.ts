/** The health of routes as this worker sees it: from the submissions of all workers, and operators' overrides. */
import { listMediaCircuits, type ModelCircuit } from '../../db/queries/media-outcomes.ts';
import { listUpstreamOverrides, type UpstreamOverride } from '../../db/queries/upstream-overrides.ts';
import { circuitState, recordCall } from '../../domain/circuit.ts';
import { outOfServiceOf, overrideOf } from '../../domain/upstream-override.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import type { RouteHealth, Candidate } from './routes.ts';

/** All tasks of this worker use a reading for so long. */
const KEPT_MS = 2_000;

export interface WatchedRouteHealth extends RouteHealth {
  /** This worker submits to a route; if the circuit is half-open, no other task probes the route until the next reading. */
  started(candidate: Pick<Candidate, 'route' | 'model'>): void;
}

export function createRouteHealth({ database, clock }: Pick<MediaTaskDependencies, 'database' | 'clock'>) {
  let latest: { readonly atMs: number; readonly health: Promise<WatchedRouteHealth> } | null = null;

  return async (): Promise<WatchedRouteHealth> => {
    const nowMs = clock.nowMs();
    if (latest === null || nowMs - latest.atMs >= KEPT_MS || nowMs < latest.atMs) {
      const health = read(nowMs);
      latest = { atMs: nowMs, health };
      // The next attempt of the step asks again.
      health.catch(() => (latest = null));
    }
    return latest.health;
  };

  async function read(nowMs: number): Promise<WatchedRouteHealth> {
    const overrides = await listUpstreamOverrides(database);
    return healthFrom(await listMediaCircuits(database, nowMs, overrides), overrides, nowMs);
  }
}

function nameOf(provider: string, model: string): string {
  return JSON.stringify([provider, model]);
}

function healthFrom(
  models: readonly ModelCircuit[],
  overrides: readonly UpstreamOverride[],
  nowMs: number,
): WatchedRouteHealth {
  const circuits = new Map(models.map(({ provider, model, circuit }) => [nameOf(provider, model), circuit]));
  return {
    isReady: ({ route, model }) => {
      const circuit = circuits.get(nameOf(route.provider, model));
      return circuit === undefined || circuitState(circuit, nowMs) !== 'open';
    },
    pauseOf: ({ route, model }) => {
      const override = overrideOf(overrides, route.provider, model);
      const period = outOfServiceOf(override, nowMs);
      return period && override ? { ...period, author: override.author, reason: override.reason } : null;
    },
    started: ({ route, model }) => {
      const name = nameOf(route.provider, model);
      const circuit = circuits.get(name);
      if (circuit !== undefined) circuits.set(name, recordCall(circuit, nowMs));
    },
  };
}
