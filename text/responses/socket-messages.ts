/**
 * The messages of responses over a WebSocket, as Codex uses it: requests from clients, and the events that no stream has.
 * https://developers.openai.com/api/docs/guides/websocket-mode
 */
import { badRequest, type ServiceError } from '../../domain/errors.ts';
import { isObject, type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { inputItemsOf, previousResponseIdOf } from './stored.ts';

/** A request for a response. */
export interface SocketRequest {
  /** The body of `POST /v1/responses`. */
  readonly body: JsonObject;
  /** The id of the response that the request continues; null for none. */
  readonly previousId: string | null;
  /** Whether the model should answer; a client may only prepare the conversation. */
  readonly isAnswered: boolean;
}

/** @throws ServiceError `bad_request` for another message */
export function readSocketRequest(message: unknown): SocketRequest {
  if (!isObject(message)) throw badRequest('A message must be a JSON object.');
  const { type, generate, ...body } = message;
  if (type !== 'response.create') throw badRequest('"type" must be "response.create"');
  return {
    body: { ...body, stream: true },
    previousId: previousResponseIdOf(message),
    isAnswered: generate !== false,
  };
}

/** The body with the conversation so far in the place of its reference. @param items the conversation */
export function continueConversation(
  { previous_response_id: _reference, ...body }: JsonObject,
  items: readonly unknown[],
): JsonObject {
  return { ...body, input: [...items, ...inputItemsOf(body)] };
}

/** The response in the last event of an answer; null in any other event. */
export function finishedResponseIn(event: JsonObject): JsonObject | null {
  const { type, response } = event;
  return type === 'response.completed' || type === 'response.incomplete' ? objectOf(response) : null;
}

/** Whether an event is the last of an answer. */
export function isLastEvent({ type }: JsonObject): boolean {
  return LAST_EVENTS.has(stringOf(type));
}

const LAST_EVENTS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

/** The events of a response that the model was not asked for. */
export function preparedEvents(id: string, { model }: JsonObject, nowSeconds: number): readonly JsonObject[] {
  const response = { id, object: 'response', created_at: nowSeconds, model, output: [], error: null };
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  return [
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress' } },
    { type: 'response.completed', sequence_number: 1, response: { ...response, status: 'completed', usage } },
  ];
}

/** The event of a refused request. @param body the answer's JSON */
export function refusedEvent(status: number, body: JsonObject, headers: JsonObject): JsonObject {
  return { type: 'error', status, error: objectOf(body['error']), headers };
}

/** The event for a request that never became one, and for the end of a connection. */
export function errorEvent({ status, code, formatCode = code, message }: ServiceError): JsonObject {
  return { type: 'error', status, error: { type: 'svc_error', code: formatCode, message } };
}
