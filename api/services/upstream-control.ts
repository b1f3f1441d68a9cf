/** Lets operators list upstreams, and take them out of service in all processes, through the database. */
import type { Logger } from 'pino';
import type { Catalogue, TextModel } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../../db/database-clock.ts';
import { listUpstreamOverrides } from '../../db/queries/upstream-overrides.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import type { TextCircuitState } from '../../providers/text/circuit-state.ts';
import { listMediaCircuits, type MediaVendor, type MediaCircuitState } from './media-ways.ts';
import { repeat } from '../../domain/repeat.ts';

export interface UpstreamControl {
  /** The state of each route and key of a model of the catalogue, as this process sees it. */
  list(): readonly TextCircuitState[];
  /** Whether any route of a text model leads to an upstream that is in service. */
  hasRoute(model: Pick<TextModel, 'routes'>): boolean;
  /** The state of each route of a media model of the catalogue, from the latest submissions of all workers. */
  listMedia(): Promise<readonly MediaCircuitState[]>;
  /** Applies new overrides of operators now instead of at the next interval. */
  obey(): Promise<void>;
  /** Stops applying overrides. */
  stop(): void;
}

interface UpstreamControlOptions {
  readonly database: Database;
  readonly catalogue: () => Catalogue;
  readonly upstreams: TextUpstreams;
  readonly log: Logger;
  /** The media upstreams that are configured; by default none is known. */
  readonly media?: () => readonly MediaVendor[];
  readonly clock?: Clock;
  readonly pauseMs?: number;
}

const PAUSE_MS = 2_000;

/** Starts polling for overrides. While the database is unavailable, the last ones stay in force. */
export function startUpstreamControl(options: UpstreamControlOptions): UpstreamControl {
  const { database, catalogue, upstreams, log, media = () => [], clock = MACHINE_CLOCK, pauseMs = PAUSE_MS } = options;
  const routes = () => [...catalogue().textModels.values()].flatMap((model) => model.routes);
  const obey = async (): Promise<void> => upstreams.obey(await listUpstreamOverrides(database));
  const obeying = repeat(obey, {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot read overrides for upstreams'),
  });
  return {
    list: () => upstreams.list(routes()),
    hasRoute: (model) => upstreams.list(model.routes).some(({ cause }) => cause !== 'operator'),
    listMedia: () => listMediaCircuits(database, catalogue(), media(), clock.nowMs()),
    obey,
    stop: () => void obeying.stop(),
  };
}
