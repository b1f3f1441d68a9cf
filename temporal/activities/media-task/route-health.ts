/** The health of routes as this worker sees it: from the submissions of all workers, and operators' orders. */
import { listMediaHealth, type ModelHealth } from '../../../db/queries/media-outcomes.ts';
import { listUpstreamOrders, type UpstreamOrder } from '../../../db/queries/upstream-orders.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import type { RouteHealth, Turn } from './routes.ts';

/** What is read serves all tasks of this worker for so long. */
const KEPT_MS = 2_000;

export interface WatchedRouteHealth extends RouteHealth {
  /** This worker submits to a route; if a trial is due there, no other task makes one until the next look. */
  began(turn: Pick<Turn, 'route' | 'model'>): void;
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
    const orders = await listUpstreamOrders(database);
    return healthFrom(await listMediaHealth(database, nowMs, orders), orders, nowMs);
  }
}

function nameOf(provider: string, model: string): string {
  return JSON.stringify([provider, model]);
}

function healthFrom(
  models: readonly ModelHealth[],
  orders: readonly UpstreamOrder[],
  nowMs: number,
): WatchedRouteHealth {
  const standings = new Map(models.map(({ provider, model, standing }) => [nameOf(provider, model), standing]));
  const closedUntil = new Map(orders.map(({ upstream, until }) => [upstream, until?.getTime() ?? 0]));
  return {
    isReady: ({ route, model }) => {
      const standing = standings.get(nameOf(route.provider, model)) ?? 'ready';
      return standing === 'ready' || standing === 'due';
    },
    closedForMs: (provider) => Math.max((closedUntil.get(provider) ?? 0) - nowMs, 0),
    began: ({ route, model }) => {
      const name = nameOf(route.provider, model);
      if (standings.get(name) === 'due') standings.set(name, 'tried');
    },
  };
}
