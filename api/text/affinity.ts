/** Which requests belong together, so that they go to the same upstream while they can and find its prompt cache warm. */
import type { JsonObject } from '../../domain/json.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';

/**
 * The name of what a request belongs to: a conversation or user of an account, in the words of the client, or the account.
 *
 * @param body the request as it was sent, in any format
 */
export function affinityOf(accountId: string, body: JsonObject): string {
  const named = [body['prompt_cache_key'], body['user'], objectOf(body['metadata'])['user_id']].map(stringOf);
  return JSON.stringify([accountId, named.find((name) => name !== '') ?? '']);
}
