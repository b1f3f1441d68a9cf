/** The events of a client of a realtime session, checked, as the upstream gets them. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { JsonSizer } from '../json/size.ts';
import { bytesOfAudio, cutAudio, type LongAudio } from './long-audio.ts';
import { checkResponse, checkSession, type CheckedSettings, type SessionRules } from './settings.ts';

/** An event to pass on. */
export interface ClientEvent {
  readonly type: string;
  /** The id that the client gave the event; null for none. */
  readonly eventId: string | null;
  /** The event for the upstream. */
  readonly body: JsonObject;
  /** The settings in `session.update` and `response.create`. */
  readonly checked: CheckedSettings | null;
  /** The bytes of audio in the event. */
  readonly audioBytes: number;
  /** The audio that `body` names and does not have. */
  readonly longAudio: LongAudio;
}

/** An event that is refused, with the id that the client gave it. */
export class RefusedEventError extends Error {
  override readonly name = 'RefusedEventError';
  readonly eventId: string | null;
  constructor(eventId: string | null, cause: unknown) {
    super('an event was refused', { cause });
    this.eventId = eventId;
  }
}

const LIMITS = { maxDepth: 64, maxValues: 60_000 };
const MAX_EVENT_ID = 512;

/** Events that are passed on. Any other could have a price that Genway does not know. */
const PASSED_ON: ReadonlySet<string> = new Set([
  'input_audio_buffer.append',
  'input_audio_buffer.clear',
  'input_audio_buffer.commit',
  'output_audio_buffer.clear',
  'conversation.item.create',
  'conversation.item.delete',
  'conversation.item.retrieve',
  'conversation.item.truncate',
  'response.cancel',
]);
const ITEM_TYPES: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'item_reference',
]);

/** @throws RefusedEventError because of a ServiceError `bad_request` */
export function readClientEvent(message: Buffer, rules: SessionRules): ClientEvent {
  let eventId: string | null = null;
  try {
    new JsonSizer(LIMITS).push(message);
    const { message: short, longAudio } = cutAudio(message);
    const body = parse(short);
    const { type, event_id: given } = body;
    if (typeof given === 'string' && given.length <= MAX_EVENT_ID) eventId = given;
    else if (given !== undefined && given !== null)
      throw badRequest(`"event_id" must be a text of at most ${MAX_EVENT_ID} characters`);
    if (typeof type !== 'string') throw badRequest('"type" is required');
    const event = readEvent(type, body, rules);
    return { ...event, eventId, longAudio, audioBytes: event.audioBytes + bytesOfAudio(longAudio) };
  } catch (error) {
    throw new RefusedEventError(eventId, error);
  }
}

function parse(message: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(message.toString());
  } catch {
    throw badRequest('the event is not valid JSON');
  }
  if (!isObject(value)) throw badRequest('the event must be an object');
  return value;
}

function readEvent(type: string, body: JsonObject, rules: SessionRules): Omit<ClientEvent, 'eventId' | 'longAudio'> {
  if (type === 'session.update') {
    const checked = checkSession(body['session'], rules);
    return { type, body: { type, session: { type: 'realtime', ...checked.settings } }, checked, audioBytes: 0 };
  }
  if (type === 'response.create') {
    const checked = checkResponse(body['response'], rules);
    checkItems(checked.settings['input'], 'response.input');
    const audioBytes = audioBytesOf(checked.settings['input']);
    return { type, body: { type, response: checked.settings }, checked, audioBytes };
  }
  if (!PASSED_ON.has(type)) throw badRequest(`the event type "${type.slice(0, 100)}" is not supported`);
  if (type === 'conversation.item.create') checkItems([body['item']], 'item');
  return { type, body, checked: null, audioBytes: audioBytesOf([{ content: [body] }, body['item']]) };
}

/** The bytes of base64 audio in the content of items. */
function audioBytesOf(items: unknown): number {
  const parts = objectsIn(items).flatMap((item) => objectsIn(item['content']));
  return parts.reduce(
    (sum, { audio }) => sum + (typeof audio === 'string' ? Math.floor((audio.length * 3) / 4) : 0),
    0,
  );
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Items of tools that the vendor calls would have a price of their own. */
function checkItems(items: unknown, path: string): void {
  if (items === undefined || items === null) return;
  if (!Array.isArray(items)) throw badRequest(`"${path}" must be an array`);
  for (const item of items) {
    if (!isObject(item)) throw badRequest(`"${path}" must be an object`);
    const { type = 'message' } = item;
    if (!ITEM_TYPES.has(type)) throw badRequest(`"${path}.type" is not supported`);
  }
}
