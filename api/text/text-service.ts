/** Serves text: admits calls, delivers their answers, and knows what is under way. */
import { admit, type TextAsk } from './admit.ts';
import { deliver } from './deliver.ts';
import { watchDepartures } from './departures.ts';
import type { TextServices } from './services.ts';

export interface TextService {
  /**
   * Answers a call whose caller may make it.
   *
   * @throws ServiceError for every reason not to call the model; what goes wrong from there on is answered here
   */
  serve(ask: TextAsk): Promise<void>;
  /** Waits for a call in `idle`, from before it was let in. */
  track(call: Promise<void>): Promise<void>;
  /** Resolves when no call is under way, nor any that its client left behind. */
  idle(): Promise<void>;
  /** To be called before all connections are closed in `graceMs`: who loses its connection then has not left. */
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
