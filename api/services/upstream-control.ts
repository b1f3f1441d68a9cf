/** Lets operators see upstreams, take them out of service and back: in all processes, by way of the database. */
import type { Logger } from 'pino';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import { listUpstreamOrders } from '../../db/queries/upstream-orders.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import type { WayState } from '../../providers/text/way-state.ts';

export interface UpstreamControl {
  /** Each way to a model of the catalogue, as this process knows it. */
  list(): readonly WayState[];
  /** Does what operators ordered, now rather than in a while. */
  obey(): Promise<void>;
  /** Leaves the orders that come to others. */
  stop(): void;
}

interface UpstreamControlOptions {
  readonly database: Database;
  readonly catalogue: Catalogue;
  readonly upstreams: TextUpstreams;
  readonly log: Logger;
  readonly pauseMs?: number;
}

const PAUSE_MS = 2_000;

/** Looks for orders from time to time. Without the database the last ones stay in force. */
export function startUpstreamControl(options: UpstreamControlOptions): UpstreamControl {
  const { database, catalogue, upstreams, log, pauseMs = PAUSE_MS } = options;
  const routes = [...catalogue.textModels.values()].flatMap((model) => model.routes);
  const obey = async (): Promise<void> => upstreams.obey(await listUpstreamOrders(database));
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function look(): Promise<void> {
    await obey().catch((error: unknown) => log.debug({ err: error }, 'cannot look for orders to upstreams'));
    if (!isStopped) timer = setTimeout(() => void look(), pauseMs).unref();
  }

  void look();
  return {
    list: () => upstreams.list(routes),
    obey,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
