/** Serves text: admits calls, delivers answers, and tracks the calls that are running. */
import { admit, type TextAsk } from './admit.ts';
import { deliver } from './deliver.ts';
import { watchDepartures } from './departures.ts';
import type { TextServices } from './services.ts';

export interface TextService {
  /**
   * Answers an authenticated call.
   *
   * @throws ServiceError for every reason not to call the model; later failures are answered here
   */
  serve(ask: TextAsk): Promise<void>;
  /** Includes a call in `idle` even before it is admitted. */
  track(call: Promise<void>): Promise<void>;
  /** Resolves when no call is running, including those whose client has left. */
  idle(): Promise<void>;
  /** To be called before all connections are closed in `graceMs`: clients that are disconnected then have not left. */
  stop(graceMs: number): void;
}

export function createTextService(services: TextServices): TextService {
  const underWay = new Set<Promise<void>>();
  const departures = watchDepartures(services.settings.readOnMs);
  return {
    serve: async (ask) => {
      const startedAtMs = services.clock.nowMs();
      const timedFromMs = ask.context.state.receivedAtMs;
      const call = await admit({ ...ask, startedAtMs, timedFromMs }, services);
      await deliver(call, services, departures);
    },
    track: (call) => {
      underWay.add(call);
      return call.finally(() => underWay.delete(call));
    },
    idle: async () => {
      await Promise.allSettled(underWay);
    },
    stop: (graceMs) => departures.stop(graceMs),
  };
}
