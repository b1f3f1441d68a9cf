/** Serves text: admits calls, delivers answers, and tracks the calls that are running. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalogue } from '../../catalogue/types.ts';
import { retryOnLostConnection } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { hasCredit } from '../../db/queries/accounts.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextHold } from '../../db/text-money/billing.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import { createFindPrices } from '../money/customer-prices.ts';
import { createFindBudgets } from '../money/budgets.ts';
import { admit, type IncomingTextRequest } from './admit.ts';
import { checkEarly } from './check-early.ts';
import { type CountRequest, countInput, type InputTokens } from './count-input.ts';
import { deliver } from './deliver.ts';
import { trackDepartedClients } from './departed-clients.ts';
import { BufferedReply, type Reply } from './reply.ts';
import type { TextServices } from './services.ts';
import type { ResponseStore } from './stored-responses.ts';
import type { Encryption } from '../../db/encryption.ts';
import { createRealtimeService, type RealtimeService } from '../realtime/realtime-service.ts';

/** If recording a charge takes longer, the answer does not wait for it. */
const MAX_RECORDING_MS = 2_000;

/** The parts that replace those of the process. */
export interface TextDetour extends Pick<TextServices, 'billing' | 'clock'> {
  readonly call: TextServices['upstreams']['call'];
}

export interface TextService {
  /**
   * Answers an authenticated call.
   *
   * @throws ServiceError for every reason not to call the model; later failures are answered here
   */
  serve(incoming: IncomingTextRequest): Promise<void>;
  /**
   * Answers an authenticated call that does not stream, for a page that shows the answer.
   *
   * @returns the answer as JSON, in the format of the call
   * @throws ServiceError for every reason not to call the model, and for every failure
   */
  answer(incoming: IncomingTextRequest): Promise<string>;
  /**
   * Answers a request without a client.
   *
   * @param reply gets the answer, or the error
   * @param holdOf the hold that is settled, around that of the request
   * @returns when the charge is recorded
   * @throws ServiceError for every reason not to call the model
   */
  answerInto(incoming: IncomingTextRequest, reply: Reply, holdOf: (hold: TextHold) => TextHold): Promise<void>;
  /** Answers requests whose upstream answers by other means than a request, and whose money is held elsewhere. */
  over(parts: TextDetour): Pick<TextService, 'answerInto'>;
  /** The current catalogue. */
  catalogue(): Catalogue;
  readonly useBatches: TextServices['upstreams']['useBatches'];
  /**
   * Checks a request whose file is still arriving.
   *
   * @throws ServiceError the refusal that the request would get later
   */
  check(format: RequestFormatName, modelId: string, caller: Caller): Promise<void>;
  /** The stored responses. */
  readonly responses: Pick<ResponseStore, 'complete' | 'find' | 'remove'>;
  /** Realtime sessions. */
  readonly realtime: RealtimeService;
  /** Counts the input tokens of a request, free of charge. */
  countInput(request: CountRequest): Promise<InputTokens>;
  /** Includes a call in `idle` even before it is admitted. */
  track<Result>(call: Promise<Result>): Promise<Result>;
  /** Resolves when no call is running, including those whose client has left. */
  idle(): Promise<void>;
  /** Call it before closing all connections in `graceMs`: clients that lose the connection then have not left. */
  stop(graceMs: number): void;
}

/** The dependencies that the process provides. The other services of text read its database. */
export interface GivenTextServices extends Omit<
  TextServices,
  'catalogue' | 'findPrices' | 'findBudgets' | 'hasCredit'
> {
  readonly database: Database;
  readonly catalogue: () => Catalogue;
  /** Encrypts the settings of client secrets. */
  readonly encryption: Encryption;
}

export function createTextService({ database, catalogue, encryption, ...given }: GivenTextServices): TextService {
  const services: TextServices = {
    ...given,
    get catalogue() {
      return catalogue();
    },
    findPrices: createFindPrices(database),
    findBudgets: createFindBudgets(database),
    hasCredit: (accountId) => retryOnLostConnection(() => hasCredit(database, accountId)),
  };
  return createTextServiceOf(services, createRealtimeService({ database, encryption, text: services }));
}

export function createTextServiceOf(services: TextServices, realtime: RealtimeService): TextService {
  const running = new Set<Promise<unknown>>();
  const departedClients = trackDepartedClients(services.settings.readOnMs);
  return {
    realtime,
    serve: async (incoming) => {
      await deliver(await admit(incoming, services), services, departedClients);
    },
    answer: async (incoming) => {
      const reply = new BufferedReply();
      const { recorded } = await deliver(await admit(incoming, services), services, departedClients, reply);
      // A page that shows the answer also shows its cost.
      await Promise.race([recorded, sleep(MAX_RECORDING_MS, undefined, { ref: false })]);
      return reply.take();
    },
    answerInto: async (incoming, reply, holdOf) => {
      const call = await admit(incoming, services);
      const { recorded } = await deliver({ ...call, hold: holdOf(call.hold) }, services, departedClients, reply);
      await recorded;
    },
    catalogue: () => services.catalogue,
    useBatches: (address, use) => services.upstreams.useBatches(address, use),
    over: ({ billing, clock, call }) => {
      const upstreams = { ...services.upstreams, call };
      return createTextServiceOf({ ...services, billing, clock, upstreams, assertEnabled: () => {} }, realtime);
    },
    check: (format, modelId, caller) => checkEarly(format, modelId, caller, services),
    responses: services.responses,
    countInput: (request) => countInput(request, services),
    track: (call) => {
      running.add(call);
      return call.finally(() => running.delete(call));
    },
    idle: async () => {
      await Promise.allSettled(running);
    },
    stop: (graceMs) => departedClients.stop(graceMs),
  };
}
