/** Reads the end user whom a text request names. */
import { endUserName } from '../../domain/end-user.ts';
import type { JsonObject } from '../../domain/json.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';

/**
 * The name of the end user; null for none. A request that has several fields for it is that of the first.
 *
 * @param body the request as sent, in any format
 */
export function endUserOf(body: JsonObject): string | null {
  const named = [body['safety_identifier'], body['user'], objectOf(body['metadata'])['user_id']].map(stringOf);
  const sent = named.find((name) => name !== '');
  return sent === undefined ? null : endUserName(sent);
}
