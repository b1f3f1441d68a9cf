/** Opens a realtime session: the checks of its model and money, its upstream, and the upgrade of its client. */
import { type Catalogue, hasFormat, type TextModel, type TextRoute } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextHold, UncountedRequest } from '../../db/text-money/billing.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isAllowedModel } from '../../domain/api-key.ts';
import { REALTIME } from '../../domain/policy.ts';
import type { UpstreamSocket } from '../../providers/text/socket.ts';
import { withPrices } from '../money/customer-prices.ts';
import { findModel } from '../text/choose-model.ts';
import type { TextServices } from '../text/services.ts';
import type { Peer } from './peer.ts';
import type { Places } from './places.ts';
import type { ResponseBounds } from './responses.ts';
import type { FoundSecret, SecretStore } from './secrets.ts';
import { Session } from './session.ts';

/** A request for a session whose credential was checked. */
export interface OpeningRequest {
  readonly requestId: string;
  readonly caller: Caller;
  readonly secret: FoundSecret | null;
  readonly endUser: string | null;
  readonly model: string;
  /** Counts the request against the limit of its key. @throws ServiceError 429 */
  readonly count: () => Promise<unknown>;
  /** The requests per minute that the key may make, of which each response is one; null to count none. */
  readonly requestLimit: number | null;
}

export interface SessionRequest extends OpeningRequest {
  /** Accepts the upgrade. @throws ServiceError if the client left */
  readonly accept: () => Promise<Peer>;
}

export interface OpeningServices {
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
  const model = await admit(request, text);
  return places.fill(caller.account.id, async () => {
    const upstream = await text.upstreams.openSocket({
      ...openingOf(request),
      routes: model.routes,
      pathOf: (route) => `/realtime?model=${encodeURIComponent(route.model)}`,
    });
    const client = await acceptFor(upstream, accept);
    const session: Session = new Session({
      requestId,
      caller,
      model,
      client,
      upstream,
      settings: secret === null ? null : secrets.settingsOf(secret),
      expiresAtMs: Date.now() + sessionSecondsOf(request) * 1000,
      hold: (bounds) => holdResponse(session.parts.caller, request, bounds, text),
      reserve: null,
      hangUp: null,
      transcription: {
        models: findTranscriptionModels(upstream.route.provider, caller.key, text.catalogue),
        hold: (modelId, audioSeconds) =>
          holdTranscription(session.parts.caller, request, { modelId, audioSeconds }, text),
      },
      log: text.log,
    });
    return session;
  });
}

/** Checks the model and the money, and counts the request. @throws ServiceError 401 to 404, 429 or 503 */
export async function admit({ caller, model: id, count }: OpeningRequest, text: TextServices): Promise<TextModel> {
  const model = findModel('realtime', id, caller.key, text.catalogue);
  text.assertEnabled(model.id);
  if (!(await text.hasCredit(caller.account.id))) {
    throw new ServiceError('insufficient_credits', `The account has no credit left for ${model.id}. Top up.`);
  }
  await count();
  return model;
}

/** The facts of an opening that every upstream gets. */
export function openingOf({ requestId, caller }: Pick<OpeningRequest, 'requestId' | 'caller'>) {
  return {
    requestId,
    account: caller.account.id,
    affinity: requestId,
    maxMessageBytes: REALTIME.maxMessageBytes,
  };
}

/** Accepts the client's upgrade, or else closes the upstream's connection. */
export async function acceptFor(
  { socket }: Pick<UpstreamSocket<TextRoute>, 'socket'>,
  accept: SessionRequest['accept'],
): Promise<Peer> {
  try {
    return await accept();
  } catch (error) {
    socket.terminate();
    throw error;
  }
}

export function sessionSecondsOf({ secret }: Pick<OpeningRequest, 'secret'>): number {
  return secret?.sessionSeconds ?? REALTIME.maxSessionSeconds;
}

/** What the charges of a session have in common, at the current price of the model. */
async function chargeOf(caller: Caller, { requestId, endUser }: OpeningRequest, model: TextModel, text: TextServices) {
  // The charge keeps this catalogue even if a new one replaces it.
  const { version: catalogueVersion } = text.catalogue;
  text.assertEnabled(model.id);
  const startedAtMs = text.clock.nowMs();
  const prices = await text.findPrices(caller.account, startedAtMs);
  return {
    caller,
    model: withPrices(model, prices),
    catalogueVersion,
    priceList: prices?.id ?? null,
    endUser,
    batchId: null,
    budgets: await text.findBudgets(caller.account, { endUser, model: model.id }),
    format: 'realtime' as const,
    streamed: true,
    requestId,
    startedAtMs,
    isCachedFor1h: false,
    characters: 0,
    searchUnits: 0,
    choiceCount: 1,
    callCount: 1,
  };
}

/** Holds a response. */
export async function holdResponse(
  caller: Caller,
  request: OpeningRequest,
  { maxOutputTokens, prompt, hasAudioInput, hasAudioOutput }: ResponseBounds,
  text: TextServices,
): Promise<TextHold> {
  const model = findModel('realtime', request.model, caller.key, text.catalogue);
  return text.billing.hold({
    ...(await chargeOf(caller, request, model, text)),
    uncounted: request.requestLimit === null ? null : uncounted(request.requestLimit),
    estimateInputTokens: () => Math.min(prompt.estimated, model.maxInputTokens),
    estimateAudioInputTokens: () => Math.min(prompt.estimatedAudio, model.maxInputTokens),
    maxInputTokens: Math.min(prompt.max, model.maxInputTokens),
    maxOutputTokens: Math.min(maxOutputTokens, model.outputTokenLimit),
    hasAudioInput,
    hasAudioOutput,
    audioSeconds: 0,
  });
}

/** The upstream's names of the models that transcribe at an upstream and that a key may use, by their ids. */
function findTranscriptionModels(
  provider: string,
  key: Caller['key'],
  { textModels }: Catalogue,
): ReadonlyMap<string, string> {
  const models = [...textModels.values()].filter(
    (model) => hasFormat(model, 'transcriptions') && isAllowedModel(key, model.id),
  );
  return new Map(
    models.flatMap(({ id, routes }) => {
      const route = routes.find((one) => one.provider === provider);
      return route === undefined ? [] : [[id, route.model] as const];
    }),
  );
}

/** Vendors count at most so many tokens for each second of audio, and of its transcript. */
const TOKENS_PER_SECOND = 20;
const TOKENS_PER_TRANSCRIPTION = 2_048;

/** Holds a transcription, which is no request of its own: its key pays for it without a count. */
async function holdTranscription(
  caller: Caller,
  request: OpeningRequest,
  { modelId, audioSeconds }: { readonly modelId: string; readonly audioSeconds: number },
  text: TextServices,
): Promise<TextHold> {
  const model = findModel('transcriptions', modelId, caller.key, text.catalogue);
  const tokens = TOKENS_PER_TRANSCRIPTION + Math.ceil(audioSeconds * TOKENS_PER_SECOND);
  const isPricedBySeconds = model.pricing.rates.audioSecond > 0n;
  return text.billing.hold({
    ...(await chargeOf(caller, request, model, text)),
    uncounted: null,
    estimateInputTokens: () => Math.min(Math.ceil(audioSeconds * TOKENS_PER_SECOND), model.maxInputTokens),
    maxInputTokens: Math.min(tokens, model.maxInputTokens),
    maxOutputTokens: Math.min(tokens, model.outputTokenLimit),
    hasAudioInput: true,
    hasAudioOutput: false,
    audioSeconds: isPricedBySeconds ? Math.ceil(audioSeconds) : 0,
  });
}

/** Counts each response with its hold; a session has no headers to report the count in. */
function uncounted(limit: number): UncountedRequest {
  return { limit, counted: () => undefined, count: async () => undefined };
}
