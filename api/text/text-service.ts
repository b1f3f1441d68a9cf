/** Serves text: admits calls, delivers answers, and tracks the calls that are running. */
import { setTimeout as sleep } from 'node:timers/promises';
import { admit, type TextAsk } from './admit.ts';
import { type CountAsk, countInput, type InputTokens } from './count-input.ts';
import { deliver } from './deliver.ts';
import { watchDepartures } from './departures.ts';
import { KeptReply } from './reply.ts';
import type { TextServices } from './services.ts';

/** If recording a charge takes longer, the answer does not wait for it. */
const MAX_RECORDING_MS = 2_000;

export interface TextService {
  /**
   * Answers an authenticated call.
   *
   * @throws ServiceError for every reason not to call the model; later failures are answered here
   */
  serve(ask: TextAsk): Promise<void>;
  /**
   * Answers an authenticated call that does not stream, for a page that shows the answer.
   *
   * @returns the answer as JSON, in the format of the call
   * @throws ServiceError for every reason not to call the model, and for every failure
   */
  answer(ask: TextAsk): Promise<string>;
  /** Counts the input tokens of a request, free of charge. */
  countInput(ask: CountAsk): Promise<InputTokens>;
  /** Includes a call in `idle` even before it is admitted. */
  track<Result>(call: Promise<Result>): Promise<Result>;
  /** Resolves when no call is running, including those whose client has left. */
  idle(): Promise<void>;
  /** Call it before closing all connections in `graceMs`: clients that lose the connection then have not left. */
  stop(graceMs: number): void;
}

export function createTextService(services: TextServices): TextService {
  const running = new Set<Promise<unknown>>();
  const departures = watchDepartures(services.settings.readOnMs);
  return {
    serve: async (ask) => {
      await deliver(await admit(ask, services), services, departures);
    },
    answer: async (ask) => {
      const reply = new KeptReply();
      const { recorded } = await deliver(await admit(ask, services), services, departures, reply);
      // A page that shows the answer also shows its cost.
      await Promise.race([recorded, sleep(MAX_RECORDING_MS, undefined, { ref: false })]);
      return reply.take();
    },
    countInput: (ask) => countInput(ask, services),
    track: (call) => {
      running.add(call);
      return call.finally(() => running.delete(call));
    },
    idle: async () => {
      await Promise.allSettled(running);
    },
    stop: (graceMs) => departures.stop(graceMs),
  };
}
