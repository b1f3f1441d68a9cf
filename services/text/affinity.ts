/** Groups requests that belong together, so that they reach the same upstream and hit its prompt cache. */
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';

/**
 * The group of a request: the conversation or user that the client named, within the account; otherwise the account.
 *
 * @param body the request as sent, in any format
 */
export function affinityOf(accountId: string, body: JsonObject): string {
  const named = [body['prompt_cache_key'], body['user'], objectOf(body['metadata'])['user_id']].map(stringOf);
  return JSON.stringify([accountId, named.find((name) => name !== '') ?? '']);
}
