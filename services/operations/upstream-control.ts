/** Lets operators list upstreams with the calls of all processes, and override them in every process. */
import type { Logger } from 'pino';
import type { Catalogue, TextModel } from '../../catalogue/types.ts';
import type { CallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../../db/database-clock.ts';
import { listUpstreamOverrides } from '../../db/queries/upstream-overrides.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import type { TextCircuitState } from '../../providers/text/circuits.ts';
import { mergeFleetHealth, type UpstreamHealth } from './fleet-health.ts';
import { listMediaCircuitStates, type MediaVendor } from './media-circuits.ts';
import type { OpenCircuit } from '../../db/queries/upstream-calls.ts';
import { repeat } from '../../domain/background-loop.ts';

export interface UpstreamControl {
  /** The health of each route of the catalogue's models, with each key for text, over all processes. */
  list(): Promise<readonly UpstreamHealth[]>;
  /** The circuit of each route and key of a text model, as this process sees it. */
  listText(): readonly TextCircuitState[];
  /** Whether any route of a text model leads to an upstream that is in service. */
  hasRoute(model: Pick<TextModel, 'routes'>): boolean;
  /** Applies new overrides of operators now instead of at the next interval. */
  applyOverrides(): Promise<void>;
  /** Stops applying overrides. */
  stop(): void;
}

interface UpstreamControlOptions {
  readonly database: Database;
  readonly catalogue: () => Catalogue;
  readonly upstreams: TextUpstreams;
  readonly calls: CallRecorder;
  readonly log: Logger;
  /** The media upstreams that are configured; by default none is known. */
  readonly media?: () => readonly MediaVendor[];
  readonly clock?: Clock;
  readonly pauseMs?: number;
}

const PAUSE_MS = 2_000;

/** Starts polling for overrides. While the database is unavailable, the last ones stay in force. */
export function startUpstreamControl(options: UpstreamControlOptions): UpstreamControl {
  const { database, catalogue, upstreams, calls, log, pauseMs = PAUSE_MS } = options;
  const { media = () => [], clock = MACHINE_CLOCK } = options;
  const routes = () => [...catalogue().textModels.values()].flatMap((model) => model.routes);
  const applyOverrides = async (): Promise<void> => upstreams.applyOverrides(await listUpstreamOverrides(database));
  const repeating = repeat(applyOverrides, {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot read overrides for upstreams'),
  });
  const listText = (): readonly TextCircuitState[] => upstreams.list(routes());
  calls.reportCircuits(() => openCircuitsOf(listText()));
  return {
    list: async () => {
      await calls.flush();
      const circuits = await listMediaCircuitStates(database, catalogue(), media(), clock.nowMs());
      return mergeFleetHealth(database, [...listText(), ...circuits], clock.nowMs());
    },
    listText,
    hasRoute: (model) => upstreams.list(model.routes).some(({ cause }) => cause !== 'operator'),
    applyOverrides,
    stop: () => void repeating.stop(),
  };
}

/** Omits overrides of operators, which apply to every process. */
function openCircuitsOf(circuits: readonly TextCircuitState[]): readonly OpenCircuit[] {
  return circuits.flatMap(({ name: upstream, format, model, key, cause, sinceMs, untilMs }) =>
    cause === null || cause === 'operator' || sinceMs === null || untilMs === null
      ? []
      : [{ upstream, format, model, key, cause, sinceMs, untilMs }],
  );
}
