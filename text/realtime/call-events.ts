/**
 * The events of an upstream of a call. Clients of calls send their own events to the upstream, past Genway, so Genway
 * checks what the upstream reports.
 */
import { badRequest } from '../../domain/errors.ts';
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { checkTools } from './settings.ts';

/** Settings that stop the transcription of the input, at a price that the catalogue does not have. */
export const WITHOUT_TRANSCRIPTION: JsonObject = { type: 'realtime', audio: { input: { transcription: null } } };

/** @throws ServiceError `bad_request` if the call does what `session.update` or `response.create` may not request */
export function checkCallEvent(event: JsonObject): void {
  const session = sessionOf(event);
  if (session !== null) {
    const { type, tools, prompt } = session;
    if (type !== undefined && type !== 'realtime') throw badRequest('"session.type" must be "realtime"');
    if (prompt !== undefined && prompt !== null) throw badRequest('"session.prompt" is not supported; remove it');
    checkTools(tools ?? null, 'session.tools');
  }
  // Tools of a single response show only in its items.
  const itemType = stringOf(objectOf(event['item'])['type']);
  if (itemType.startsWith('mcp_')) throw badRequest(`"${itemType}" is not supported: tools are functions`);
}

/** Whether an event reports that the input is transcribed. */
export function isTranscribing(event: JsonObject): boolean {
  const input = objectOf(objectOf(sessionOf(event)?.['audio'])['input']);
  return input['transcription'] !== undefined && input['transcription'] !== null;
}

function sessionOf({ type, session }: JsonObject): JsonObject | null {
  return type === 'session.created' || type === 'session.updated' ? objectOf(session) : null;
}
