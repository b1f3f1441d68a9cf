/** Failed attempts of text requests that used tokens: see `db/schema/0007-text.sql`. */
import type { PicoUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import { SUMMED_TOKEN_COUNTS, type SummedTokens } from '../../domain/text-tokens.ts';
import type { Database } from '../database.ts';
import { FAILED_ATTEMPTS_WITH_RATES } from './text-rates.ts';
import { readRow, type RowOf } from '../row.ts';
import { streamPages } from '../stream-pages.ts';

/** The token counts are strings, as in the rows of a month's transfers. */
export interface FailedTextAttempt extends SummedTokens<string> {
  readonly textRequestId: string;
  /** Counts the attempts of the request from 1. */
  readonly number: number;
  /** When the request started. */
  readonly createdAt: Date;
  readonly accountId: string;
  readonly accountName: string;
  readonly externalId: string | null;
  readonly apiKeyId: string;
  readonly model: string;
  readonly upstream: string;
  readonly upstreamModel: string;
  readonly catalogueVersion: string;
  readonly estimated: boolean;
  /** Null if unknown. */
  readonly cost: PicoUsd | null;
}

const ATTEMPTS = /* sql */ `
  SELECT attempt.text_request_id, attempt.number, attempt.created_at, attempt.account_id, account.name AS account_name,
    account.external_id, attempt.api_key_id, attempt.model, attempt.upstream, attempt.upstream_model, attempt.catalogue_version,
    ${SUMMED_TOKEN_COUNTS.map(({ name, column }) => `attempt.${column} AS "${name}"`).join(', ')}, attempt.estimated,
    cost_of_failed_attempt(attempt.*, rates.*) AS cost
  FROM ${FAILED_ATTEMPTS_WITH_RATES} JOIN accounts AS account ON account.id = attempt.account_id`;

type Row = RowOf<FailedTextAttempt>;

/** Streams the failed attempts of the requests that started in a month. */
export function streamFailedAttempts(database: Database, { from, to }: Month): AsyncIterable<FailedTextAttempt> {
  return streamPages(async (after, limit) => {
    const { rows } = await database.raw<{ rows: Row[] }>(
      /* sql */ `${ATTEMPTS}
      WHERE attempt.created_at >= :from AND attempt.created_at < :to
        AND (attempt.created_at, attempt.text_request_id, attempt.number) > (:afterTime, :afterId, :afterNumber)
      ORDER BY attempt.created_at, attempt.text_request_id, attempt.number LIMIT :limit`,
      {
        from,
        to,
        afterTime: after?.createdAt ?? from,
        afterId: after?.textRequestId ?? '',
        afterNumber: after?.number ?? 0,
        limit,
      },
    );
    return rows.map(toAttempt);
  });
}

/** Lists the failed attempts of a request in order. */
export async function listFailedAttempts(
  database: Database,
  textRequestId: string,
): Promise<readonly FailedTextAttempt[]> {
  const { rows } = await database.raw<{ rows: Row[] }>(
    `${ATTEMPTS} WHERE attempt.text_request_id = :textRequestId ORDER BY attempt.number`,
    { textRequestId },
  );
  return rows.map(toAttempt);
}

function toAttempt(row: Row): FailedTextAttempt {
  return readRow(row, { amounts: ['cost'] });
}
