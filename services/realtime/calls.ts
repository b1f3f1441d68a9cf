/** Opens calls over WebRTC, and the WebSockets of clients to their calls: contract 4.16. */
import type { TextModel, TextRoute } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { TextHold } from '../../db/text-money/billing.ts';
import { endRealtimeCall, findRealtimeCall, insertRealtimeCall } from '../../db/queries/realtime-calls.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import { notFoundError } from '../../domain/not-found.ts';
import { type CallAddress, sidebandPath, type UpstreamCall } from '../../providers/text/realtime-call.ts';
import { checkSession } from '../../text/realtime/settings.ts';
import { findModel } from '../text/choose-model.ts';
import type { TextServices } from '../text/services.ts';
import {
  acceptFor,
  admit,
  holdResponse,
  openingOf,
  type OpeningRequest,
  type OpeningServices,
  type SessionRequest,
  sessionSecondsOf,
} from './open-session.ts';
import type { ResponseBounds } from './responses.ts';
import { NO_PROMPT } from './prompt-bound.ts';
import { boundsOfCall, expired, Session } from './session.ts';

export interface CallRequest extends OpeningRequest {
  /** The client's description of its media. */
  readonly sdp: string;
  /** Settings of the session in the form of `session.update`, besides those of the client secret. */
  readonly settings: JsonObject;
}

export interface OpenedCall {
  readonly id: string;
  /** The upstream's description of its media. */
  readonly sdp: string;
}

/** A client's request for a WebSocket to a call. */
export interface AttachRequest extends Pick<SessionRequest, 'requestId' | 'count' | 'accept'> {
  readonly caller: Caller;
  readonly callId: string;
}

/** The wire format beside which upstreams have realtime sessions. */
const FORMAT = 'chat-completions';

/**
 * Opens a call, which takes a place until it has ended.
 *
 * @throws ServiceError for every reason not to open it
 */
export async function openCall(
  request: CallRequest,
  { text, places, secrets, database }: OpeningServices & { readonly database: Database },
): Promise<OpenedCall & { readonly session: Session }> {
  const { requestId, caller, secret, sdp } = request;
  const routes = webRtcRoutes(findModel('realtime', request.model, caller.key, text.catalogue));
  const model = await admit(request, text);
  const { id: modelId, outputTokenLimit: maxOutputTokens } = model;
  const rules = { model: modelId, maxOutputTokens, vendorAnswersSpeech: true, transcriptions: new Map() };
  const { settings } = checkSession(request.settings, rules);
  const ofSecret = secret === null ? null : secrets.settingsOf(secret);
  const expiresAtMs = Date.now() + sessionSecondsOf(request) * 1000;
  const holdAhead = (payer: Caller, bounds: ResponseBounds): Promise<TextHold> =>
    holdResponse(payer, { ...request, requestLimit: null }, bounds, text);
  const open = async (): Promise<{ readonly id: string; readonly upstream: UpstreamCall<TextRoute> }> => {
    const upstream = await text.upstreams.openCall({
      ...openingOf(request),
      routes,
      sdp,
      sessionOf: (route) => ({ ...ofSecret, ...settings, type: 'realtime', model: route.model }),
    });
    const expiresAt = new Date(expiresAtMs);
    return { id: await recordCall({ caller, model: model.id, upstream, expiresAt }, text, database), upstream };
  };
  const first = await holdAhead(caller, boundsOfCall(model, NO_PROMPT));
  const opened = places.fill(caller.account.id, async () => {
    const { id, upstream } = await open();
    const session: Session = new Session({
      requestId,
      caller,
      model,
      client: null,
      upstream,
      settings: null,
      expiresAtMs,
      hold: (bounds) => holdResponse(session.parts.caller, request, bounds, text),
      reserve: { first, hold: (bounds) => holdAhead(session.parts.caller, bounds) },
      hangUp: () => endCall(id, addressOf(upstream), text, database),
      transcription: null,
      log: text.log,
    });
    return { id, sdp: upstream.sdp, session };
  });
  return opened.catch((error: unknown) => {
    first.release();
    throw error;
  });
}

/** @throws ServiceError `transport_not_allowed` if no route of the model has calls */
export function webRtcRoutes({ id, routes }: TextModel): readonly TextRoute[] {
  const offering = routes.filter(({ webrtc }) => webrtc === true);
  if (offering.length > 0) return offering;
  throw new ServiceError('transport_not_allowed', `${id} has no sessions over WebRTC. Open a WebSocket.`);
}

/** @returns the id of the call @throws an error of the database, after which the upstream has no call */
async function recordCall(
  given: {
    readonly caller: Caller;
    readonly model: string;
    readonly upstream: UpstreamCall<TextRoute>;
    readonly expiresAt: Date;
  },
  text: TextServices,
  database: Database,
): Promise<string> {
  const { caller, model, upstream, expiresAt } = given;
  const id = newId('realtimeCall');
  try {
    await insertRealtimeCall(database, {
      id,
      accountId: caller.account.id,
      apiKeyId: caller.key.id,
      model,
      provider: upstream.route.provider,
      keyHint: upstream.keyHint,
      upstreamCallId: upstream.callId,
      expiresAt,
    });
    return id;
  } catch (error) {
    upstream.socket.terminate();
    await text.upstreams.hangUp(addressOf(upstream)).catch(() => undefined);
    throw error;
  }
}

function addressOf({ route, keyHint, callId }: UpstreamCall<TextRoute>): CallAddress {
  return { provider: route.provider, format: FORMAT, keyHint, callId };
}

/** Ends a call at its upstream. If that fails, a process tries again later: {@link followCalls}. Never throws. */
export async function endCall(id: string, address: CallAddress, text: TextServices, database: Database): Promise<void> {
  try {
    await text.upstreams.hangUp(address);
    await endRealtimeCall(database, id);
  } catch (error) {
    text.log.warn({ err: error, call: id, upstream: address.provider }, 'could not end a call');
  }
}

/** The place of a call at its upstream. */
export function addressOfCall({
  provider,
  keyHint,
  upstreamCallId: callId,
}: {
  readonly provider: string;
  readonly keyHint: string;
  readonly upstreamCallId: string;
}): CallAddress {
  return { provider, format: FORMAT, keyHint, callId };
}

/**
 * Opens a client's WebSocket to a call, in a place of its own. The call's own session bills the responses.
 *
 * @throws ServiceError for every reason not to accept the upgrade
 */
export async function attach(
  request: AttachRequest,
  { text, places, database }: Pick<OpeningServices, 'text' | 'places'> & { readonly database: Database },
): Promise<Session> {
  const { requestId, caller, callId, count, accept } = request;
  const call = await findRealtimeCall(database, { id: callId, apiKeyId: caller.key.id });
  if (call === null) throw notFoundError('realtimeCall', caller);
  if (call.hasEnded) throw expired();
  const model = findModel('realtime', call.model, caller.key, text.catalogue);
  await count();
  return places.fill(caller.account.id, async () => {
    const upstream = await text.upstreams.openSocket({
      ...openingOf(request),
      routes: model.routes.filter(({ provider }) => provider === call.provider).slice(0, 1),
      keyHint: call.keyHint,
      pathOf: () => sidebandPath(call.upstreamCallId),
    });
    const client = await acceptFor(upstream, accept);
    const expiresAtMs = call.expiresAt.getTime();
    const shared = { requestId, caller, model, client, upstream, expiresAtMs, log: text.log };
    return new Session({ ...shared, settings: null, hold: null, reserve: null, hangUp: null, transcription: null });
  });
}
