/** Reads the end user's name in a text request. */
import type { IncomingHttpHeaders } from 'node:http';
import { endUserName } from '../../domain/end-user.ts';
import type { JsonObject } from '../../domain/json.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';

/**
 * Returns the name of the end user, from the first field that has one; null for none.
 *
 * @param body the request as sent, in any format
 */
export function endUserOf(body: JsonObject): string | null {
  const named = [body['safety_identifier'], body['user'], objectOf(body['metadata'])['user_id']].map(stringOf);
  const sent = named.find((name) => name !== '');
  return sent === undefined ? null : endUserName(sent);
}

/**
 * Returns the name of the end user of realtime sessions, in the header of OpenAI's API; null for none:
 * https://platform.openai.com/docs/guides/safety-best-practices
 */
export function endUserOfSessions(headers: IncomingHttpHeaders): string | null {
  const sent = stringOf(headers['openai-safety-identifier']);
  return sent === '' ? null : endUserName(sent);
}
