/** Reads the end user's name in a text request. */
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
