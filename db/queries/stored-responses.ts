/** The stored responses of accounts: contract 4.8.2. Nothing here finds a response that has expired or is erased. */
import { RESPONSES } from '../../domain/policy.ts';
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { isDue } from './content.ts';

export interface NewStoredResponse {
  readonly id: string;
  readonly accountId: string;
  readonly responseId: string;
  /** The ids of its output items. */
  readonly itemIds: readonly string[];
  /** The stored response that it continues; null for none. */
  readonly previousId: string | null;
  readonly encryptedContent: Buffer;
  /** When its request started. An erasure since then applies to it. */
  readonly createdAt: Date;
  readonly minutes: number;
}

export interface StoredResponse extends Pick<NewStoredResponse, 'id' | 'previousId' | 'encryptedContent'> {
  /** The place in the conversation, from 1 for the response that was asked for. */
  readonly number: number;
}

/** Stores responses. May be repeated. */
export async function insertStoredResponses(
  database: Database,
  responses: readonly NewStoredResponse[],
): Promise<void> {
  await database('stored_responses')
    .insert(
      responses.map(({ minutes, ...response }) => ({
        ...columnsOf(response),
        expires_at: secondsFromNow(database, 60 * minutes),
      })),
    )
    .onConflict('id')
    .ignore();
}

/** SQL for whether a row `stored` of the account `owner` may be read. */
const IS_LIVE = /* sql */ `stored.account_id = :accountId AND stored.expires_at > now() AND NOT ${isDue('stored.created_at')}
  AND coalesce(owner.response_minutes, :minutes) > 0`;

/** The bindings of {@link IS_LIVE}, {@link READ} and the limits. */
const BINDINGS = { minutes: RESPONSES.defaultMinutes, ...RESPONSES.maxConversation };

/** Reads the rows of the table expression `found`, the oldest first. Those that expire soon are kept for longer. */
const READ = /* sql */ `
  used AS (
    UPDATE stored_responses SET expires_at = now() + make_interval(mins => coalesce(response_minutes, :minutes))
    FROM accounts AS owner
    WHERE owner.id = :accountId AND stored_responses.id = ANY (ARRAY(
      SELECT id FROM stored_responses WHERE id IN (SELECT id FROM found)
        AND expires_at < now() + make_interval(mins => coalesce(owner.response_minutes, :minutes)) / 2
      FOR UPDATE SKIP LOCKED)))
  SELECT id, previous_id, encrypted_content, number FROM found ORDER BY number DESC`;

/**
 * Finds a response and the responses before it in its conversation, the oldest first, within the limits of one request.
 *
 * @returns several responses with the number 1 if the account has got the id several times
 */
export async function findConversation(
  database: Database,
  { accountId, responseId }: Pick<NewStoredResponse, 'accountId' | 'responseId'>,
  limits: Partial<typeof RESPONSES.maxConversation> = {},
): Promise<readonly StoredResponse[]> {
  const { rows } = await database.raw<{ rows: RowOf<StoredResponse>[] }>(
    /* sql */ `
    WITH RECURSIVE found AS (
      SELECT stored.*, 1 AS number, octet_length(encrypted_content)::bigint AS total
      FROM stored_responses AS stored JOIN accounts AS owner ON owner.id = account_id
      WHERE response_id = :responseId AND ${IS_LIVE}
      UNION ALL
      SELECT stored.*, number + 1, total + octet_length(stored.encrypted_content)
      FROM found JOIN stored_responses AS stored ON stored.id = found.previous_id
        JOIN accounts AS owner ON owner.id = stored.account_id
      WHERE ${IS_LIVE} AND number < :responses AND total < :bytes),
    ${READ}`,
    { ...BINDINGS, ...limits, accountId, responseId },
  );
  return rows.map(camelCased);
}

/** Finds the responses that have one of these items, the oldest first, within the limits of one request. */
export async function findResponsesWithItems(
  database: Database,
  { accountId, itemIds }: Pick<NewStoredResponse, 'accountId' | 'itemIds'>,
): Promise<readonly StoredResponse[]> {
  const { rows } = await database.raw<{ rows: RowOf<StoredResponse>[] }>(
    /* sql */ `
    WITH newest AS (
      SELECT stored.*, (row_number() OVER latest)::integer AS number, sum(octet_length(encrypted_content)) OVER latest AS total
      FROM stored_responses AS stored JOIN accounts AS owner ON owner.id = account_id
      WHERE item_ids && :itemIds::text[] AND ${IS_LIVE}
      WINDOW latest AS (ORDER BY stored.created_at DESC, stored.id)),
    found AS (SELECT * FROM newest WHERE number <= :responses AND total <= :bytes),
    ${READ}`,
    { ...BINDINGS, accountId, itemIds },
  );
  return rows.map(camelCased);
}

/** @returns whether there was such a response */
export async function deleteStoredResponse(
  database: Database,
  { accountId, responseId }: Pick<NewStoredResponse, 'accountId' | 'responseId'>,
): Promise<boolean> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    DELETE FROM stored_responses AS stored USING accounts AS owner
    WHERE owner.id = stored.account_id AND response_id = :responseId AND ${IS_LIVE}`,
    { ...BINDINGS, accountId, responseId },
  );
  return rowCount > 0;
}

/** Removes what accounts have stored beyond their limits, the responses that expire first. */
export async function trimStoredResponses(
  database: Database,
  accountIds: readonly string[],
  limits: typeof RESPONSES.perAccount = RESPONSES.perAccount,
): Promise<void> {
  await database.raw(
    /* sql */ `
    DELETE FROM stored_responses WHERE id = ANY (ARRAY(
      SELECT id FROM stored_responses WHERE id = ANY (ARRAY(
        SELECT counted.id FROM unnest(:accountIds::text[]) AS given(account_id) CROSS JOIN LATERAL (
          SELECT id, row_number() OVER latest AS number, sum(octet_length(encrypted_content)) OVER latest AS total
          FROM stored_responses WHERE account_id = given.account_id
          WINDOW latest AS (ORDER BY expires_at DESC, id)) AS counted
        WHERE number > :responses OR total > :bytes))
      FOR UPDATE SKIP LOCKED))`,
    { accountIds, ...limits },
  );
}
