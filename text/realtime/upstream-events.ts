/** The events of an upstream of a realtime session, as the client gets them. */
import type { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { isObject, type JsonObject, objectOf, stringOf } from '../../domain/json.ts';

/** Whether a failure is about the operator's account at the vendor, and not about the client's event. */
const CLIENT_ERROR = 'invalid_request_error';
const OPERATOR_CODES = /key|quota|billing|rate_limit|organi[sz]ation|project|account|permission|model/;
const CODE = /^[a-z][a-z_]{0,63}$/;
const PARAM = /^[\w.[\]-]{1,100}$/;

const REFUSED = 'The model refused the event: check its fields, and the state of the session.';
const FAILED = 'The model failed to answer; try again.';

const ITEM = /^\{\s*"type":\s*"conversation\.item\.(?:added|created|done|retrieved)"/;
const MAX_TYPE_BYTES = 100;

/** Whether an event, of which only the start is read, reports an item of the conversation. */
export function isItem(message: Buffer): boolean {
  return ITEM.test(message.toString('latin1', 0, MAX_TYPE_BYTES));
}

/** @returns null if the upstream sent something else than an event */
export function readUpstreamEvent(message: Buffer): JsonObject | null {
  try {
    const value: unknown = JSON.parse(message.toString());
    return isObject(value) && typeof value['type'] === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** The session as the client knows it. */
export interface ShownSession {
  readonly model: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  /** Whether a response follows the end of speech; null if the upstream reports it. */
  readonly answersSpeech: boolean | null;
  /** The model that transcribes speech; null for none. */
  readonly transcription: string | null;
}

/** The settings in `session.created` and `session.updated`, without the operator's own. */
export function showSession(session: unknown, { model, expiresAt, ...ofAudio }: ShownSession): JsonObject {
  if (!isObject(session)) return { type: 'realtime', model, expires_at: expiresAt };
  const { client_secret: _secret, tracing: _tracing, prompt: _prompt, audio, ...shown } = session;
  return {
    ...shown,
    ...(audio !== undefined && { audio: showAudio(audio, ofAudio) }),
    model,
    expires_at: expiresAt,
  };
}

/** The client sees its own settings: Genway requests the answers to speech, and has other names for models. */
function showAudio(
  audio: unknown,
  { answersSpeech, transcription: model }: Pick<ShownSession, 'answersSpeech' | 'transcription'>,
): unknown {
  const input = isObject(audio) ? audio['input'] : undefined;
  if (!isObject(audio) || !isObject(input)) return audio;
  const { turn_detection: detection, transcription } = input;
  return {
    ...audio,
    input: {
      ...input,
      ...(isObject(detection) &&
        answersSpeech !== null && { turn_detection: { ...detection, create_response: answersSpeech } }),
      ...(isObject(transcription) && { transcription: model === null ? null : { ...transcription, model } }),
    },
  };
}

/** The failure of a transcription, without the vendor's words. */
export function showTranscriptionFailure(event: JsonObject): JsonObject {
  return { ...event, error: { type: 'server_error', code: 'processing_failed', message: FAILED, param: null } };
}

/**
 * An error of the upstream in the words of Genway: the vendor's own may name addresses and accounts.
 *
 * @param clientEventId the client's id of the event that caused the error; null if none did
 * @param redact returns the part of the vendor's message that a client may read; empty for none
 */
export function showError(
  error: unknown,
  clientEventId: string | null,
  redact: (message: string) => string,
): JsonObject {
  const sent = objectOf(error);
  const code = stringOf(sent['code']);
  const param = stringOf(sent['param']);
  const isClients = sent['type'] === CLIENT_ERROR && !OPERATOR_CODES.test(code);
  const words = isClients ? redact(stringOf(sent['message'])) : '';
  return errorEvent({
    type: isClients ? CLIENT_ERROR : 'server_error',
    code: isClients && CODE.test(code) ? code : isClients ? 'bad_request' : 'processing_failed',
    message: isClients ? `${REFUSED}${words === '' ? '' : ` The model reported: ${words}`}` : FAILED,
    param: isClients && PARAM.test(param) ? param : null,
    event_id: clientEventId,
  });
}

/** A refusal of Genway as an event. */
export function refusalEvent(error: ServiceError, requestId: string, clientEventId: string | null = null): JsonObject {
  return errorEvent({
    type: error.status < 500 ? CLIENT_ERROR : 'server_error',
    code: error.code,
    message: `${error.message} (request id: ${requestId})`,
    param: null,
    event_id: clientEventId,
  });
}

/** A response whose failure names nothing of the operator's. */
export function showFailure(response: JsonObject): JsonObject {
  const { status_details: details } = response;
  if (!isObject(details) || !isObject(details['error'])) return response;
  const { type, code } = details['error'];
  const isClients = type === CLIENT_ERROR && !OPERATOR_CODES.test(stringOf(code));
  if (isClients) return response;
  return { ...response, status_details: { ...details, error: { type: 'server_error', code: 'processing_failed' } } };
}

function errorEvent(error: JsonObject): JsonObject {
  return { type: 'error', event_id: newId('realtimeEvent'), error };
}
