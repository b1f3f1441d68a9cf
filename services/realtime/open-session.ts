/** Opens a realtime session: the checks of its model and money, its upstream, and the upgrade of its client. */
import type { WebSocket } from 'ws';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextHold, UncountedRequest } from '../../db/text-money/billing.ts';
import { ServiceError } from '../../domain/errors.ts';
import { REALTIME } from '../../domain/policy.ts';
import { withPrices } from '../money/customer-prices.ts';
import { findModel } from '../text/choose-model.ts';
import type { TextServices } from '../text/services.ts';
import type { Places } from './places.ts';
import type { ResponseBounds } from './responses.ts';
import type { FoundSecret, SecretStore } from './secrets.ts';
import { Session } from './session.ts';

/** A request for a session whose credential was checked. */
export interface SessionRequest {
  readonly requestId: string;
  readonly caller: Caller;
  readonly secret: FoundSecret | null;
  readonly model: string;
  /** Counts the request against the limit of its key. @throws ServiceError 429 */
  readonly count: () => Promise<unknown>;
  /** The requests per minute that the key may make. */
  readonly requestLimit: number;
  /** Accepts the upgrade. @throws ServiceError if the client left */
  readonly accept: () => Promise<WebSocket>;
}

interface OpeningServices {
  readonly text: TextServices;
  readonly places: Places;
  readonly secrets: Pick<SecretStore, 'settingsOf'>;
}

/**
 * Opens a session, which takes a place until it has ended.
 *
 * @throws ServiceError for every reason not to accept the upgrade
 */
export async function openSession(
  request: SessionRequest,
  { text, places, secrets }: OpeningServices,
): Promise<Session> {
  const { requestId, caller, secret, accept } = request;
  const model = findModel('realtime', request.model, caller.key, text.catalogue);
  text.assertEnabled(model.id);
  if (!(await text.hasCredit(caller.account.id))) {
    throw new ServiceError('insufficient_credits', `The account has no credit left for ${model.id}. Top up.`);
  }
  await request.count();
  places.take(caller.account.id);
  try {
    const upstream = await text.upstreams.openSocket({
      requestId,
      account: caller.account.id,
      routes: model.routes,
      affinity: requestId,
      pathOf: (route) => `/realtime?model=${encodeURIComponent(route.model)}`,
      maxMessageBytes: REALTIME.maxMessageBytes,
    });
    let client: WebSocket;
    try {
      client = await accept();
    } catch (error) {
      upstream.socket.terminate();
      throw error;
    }
    const seconds = secret?.sessionSeconds ?? REALTIME.maxSessionSeconds;
    const session: Session = new Session({
      requestId,
      caller,
      model,
      client,
      upstream,
      settings: secret === null ? null : secrets.settingsOf(secret),
      expiresAtMs: Date.now() + seconds * 1000,
      hold: (bounds) => holdResponse(session.parts.caller, request, bounds, text),
      log: text.log,
    });
    return session;
  } catch (error) {
    places.leave(caller.account.id);
    throw error;
  }
}

/** Holds a response at the current price of the model. */
async function holdResponse(
  caller: Caller,
  { requestId, model: id, requestLimit }: SessionRequest,
  { maxOutputTokens, promptTokens, hasAudioInput, hasAudioOutput }: ResponseBounds,
  text: TextServices,
): Promise<TextHold> {
  // The response keeps this catalogue even if a new one replaces it.
  const { catalogue } = text;
  const model = findModel('realtime', id, caller.key, catalogue);
  text.assertEnabled(model.id);
  const startedAtMs = text.clock.nowMs();
  const prices = await text.findPrices(caller.account, startedAtMs);
  return text.billing.hold({
    caller,
    model: withPrices(model, prices),
    catalogueVersion: catalogue.version,
    priceList: prices?.id ?? null,
    endUser: null,
    budget: null,
    format: 'realtime',
    streamed: true,
    requestId,
    uncounted: uncounted(requestLimit),
    startedAtMs,
    estimateInputTokens: () => Math.min(promptTokens, model.maxInputTokens),
    maxInputTokens: Math.min(promptTokens, model.maxInputTokens),
    maxOutputTokens: Math.min(maxOutputTokens, model.outputTokenLimit),
    isCachedFor1h: false,
    hasAudioInput,
    hasAudioOutput,
    characters: 0,
    audioSeconds: 0,
    choiceCount: 1,
    callCount: 1,
  });
}

/** Counts each response with its hold; a session has no headers to report the count in. */
function uncounted(limit: number): UncountedRequest {
  return { limit, counted: () => undefined, count: async () => undefined };
}
