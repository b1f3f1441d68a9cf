/**
 * Calls over WebRTC: audio and events pass between the client and the upstream. Genway follows a call over a WebSocket
 * of its own, the sideband: https://developers.openai.com/api/docs/guides/realtime-server-controls
 */
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import type { UpstreamRequest } from '../../text/wire-format.ts';
import { FAILED, SILENT, UpstreamError } from '../../text/upstream-errors.ts';
import { encodeForm } from '../media/form.ts';
import { Answer } from './answer.ts';
import { CancelSignal } from './cancel-signal.ts';
import { type Candidate, keyHint, type UpstreamRoute } from './candidates.ts';
import {
  connect,
  type ConnectedSocket,
  HANDSHAKE_TIMEOUT_MS,
  keysWith,
  openAtBest,
  type Opening,
  type SocketParts,
  type UpstreamSocket,
} from './socket.ts';
import type { UpstreamEndpoint } from './upstream-endpoint.ts';
import type { UpstreamSnapshot } from './upstream-set.ts';

/** A client's offer of a call. */
export interface CallOffer<Route extends UpstreamRoute> extends Opening<Route> {
  /** The client's description of its media: RFC 8866. */
  readonly sdp: string;
  /** The settings of the session, with the upstream's name for the model. */
  readonly sessionOf: (route: Route) => JsonObject;
}

/** Where a call is, for a later request about it. */
export interface CallAddress {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  /** The end of the key that opened the call. */
  readonly keyHint: string;
  /** The upstream's id of the call. */
  readonly callId: string;
}

/** A call with the WebSocket of its sideband. */
export interface UpstreamCall<Route extends UpstreamRoute> extends UpstreamSocket<Route>, CallAnswer {
  readonly keyHint: string;
}

interface CallAnswer {
  readonly callId: string;
  /** The upstream's description of its media. */
  readonly sdp: string;
}

export const MAX_SDP_BYTES = 64 * 1024;
/** An answer may be longer than its offer, which must not look like a fault of the upstream. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Ids are part of paths. */
const CALL_ID = /^[\w-]{1,200}$/;
/** Upstreams that no longer know a call. */
const ENDED_STATUSES: readonly (number | null)[] = [404, 410];

/** @throws ServiceError the client's error if no upstream opens the call */
export function openCall<Route extends UpstreamRoute>(
  offer: CallOffer<Route>,
  parts: SocketParts,
): Promise<UpstreamCall<Route>> {
  return openAtBest(offer, parts, async (candidate) => {
    const { route, key } = candidate;
    const endpoint = endpointOf(route, parts.upstreams);
    const answer = await createCall(candidate, offer, endpoint);
    try {
      return { ...(await follow(candidate, answer.callId, offer, parts)), ...answer, keyHint: keyHint(key) };
    } catch (error) {
      await post(endpoint, hangUpRequest(answer.callId, key)).catch(() => undefined);
      throw error;
    }
  });
}

/** The path of the sideband of a call. */
export function sidebandPath(callId: string): string {
  return `/realtime?call_id=${callId}`;
}

function follow(
  candidate: Candidate,
  callId: string,
  offer: Opening<UpstreamRoute>,
  parts: SocketParts,
): Promise<ConnectedSocket> {
  return connect(candidate, sidebandPath(callId), offer, parts);
}

/** @throws UpstreamError */
async function createCall<Route extends UpstreamRoute>(
  { route, key }: Candidate<Route>,
  { sdp, sessionOf }: CallOffer<Route>,
  endpoint: UpstreamEndpoint,
): Promise<CallAnswer> {
  const { contentType, bytes } = encodeForm([
    { name: 'sdp', value: sdp },
    { name: 'session', value: JSON.stringify(sessionOf(route)) },
  ]);
  const content = { type: contentType, byteLength: bytes.byteLength, read: () => once(bytes) };
  const { headers, body } = await post(endpoint, { ...requestTo('', key), content });
  const { location } = headers;
  const callId = (typeof location === 'string' && location.split('/').at(-1)) || '';
  if (!CALL_ID.test(callId) || !body.startsWith('v=0')) throw new UpstreamError(FAILED);
  return { callId, sdp: withoutWords(body) };
}

/** Removes what only describes the vendor from a description of media: RFC 8866, sections 5 and 6. */
function withoutWords(sdp: string): string {
  return sdp
    .replaceAll(/^(?:[iuep]=|a=tool:).*\r?\n/gm, '')
    .replace(/^o=\S+/m, 'o=-')
    .replace(/^s=.*/m, 's=-');
}

/** Ends a call; also succeeds if the call has ended. @throws ServiceError if the upstream does not end it */
export async function hangUp({ callId, ...address }: CallAddress, upstreams: UpstreamSnapshot): Promise<void> {
  const [key] = keysWith(address.keyHint, upstreams.keysOf(address));
  if (key === undefined) throw new ServiceError('processing_unavailable', 'The key of the call is gone.');
  try {
    await post(endpointOf(address, upstreams), hangUpRequest(callId, key));
  } catch (error) {
    if (!(error instanceof UpstreamError) || !ENDED_STATUSES.includes(error.upstreamStatus)) throw error;
  }
}

function hangUpRequest(callId: string, key: string): UpstreamRequest {
  return requestTo(`/${callId}/hangup`, key);
}

function requestTo(path: string, key: string): UpstreamRequest {
  return { path: `/realtime/calls${path}`, headers: { authorization: `Bearer ${key}` }, body: {} };
}

function endpointOf(address: Pick<CallAddress, 'provider' | 'format'>, upstreams: UpstreamSnapshot): UpstreamEndpoint {
  const endpoint = upstreams.endpointOf(address);
  if (endpoint === undefined) throw new ServiceError('processing_unavailable', 'No upstream serves the model.');
  return endpoint;
}

/** Sends a request and reads its whole answer. @throws UpstreamError */
async function post(
  endpoint: UpstreamEndpoint,
  request: UpstreamRequest,
): Promise<{ readonly headers: Readonly<Record<string, unknown>>; readonly body: string }> {
  const answer = new Answer(new CancelSignal());
  const timer = setTimeout(() => answer.giveUp(new UpstreamError(SILENT)), HANDSHAKE_TIMEOUT_MS);
  try {
    await endpoint.send(request, answer);
    const { headers } = await answer.head;
    return { headers, body: (await answer.readAll(MAX_ANSWER_BYTES)).toString() };
  } finally {
    clearTimeout(timer);
    answer.discard();
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
