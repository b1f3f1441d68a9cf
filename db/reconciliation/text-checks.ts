/** Checks whether the usage of text requests, their prices and the ledger agree. */
import type { PicoUsd } from '../../domain/money.ts';
import { PriceList } from '../../domain/price-list.ts';
import { batchPricing, priceText, type TextPricing } from '../../domain/pricing.ts';
import { type Database, picoUsd } from '../database.ts';
import { CHANGE, balanceSign } from '../ledger-sql.ts';
import { STALLED_PROCESS_DEAD_AFTER_SECONDS } from '../text-money/dead-processes.ts';
import { listAllPriceListVersions } from '../queries/price-lists.ts';
import { listTextRateCards } from '../queries/rate-cards.ts';
import { type Check, type Discrepancy, type Sources, sqlCheck } from './check.ts';

/** Allowances of dead processes are released every few seconds, so older ones are a finding. */
const STALE_GRACE_SECONDS = 2 * 60;
const PAGE_SIZE = 5_000;

interface UsageRow {
  id: string;
  created_at: Date;
  model: string;
  catalogue_version: string;
  price_list: string | null;
  batch_id: string | null;
  outcome: string;
  upstream: string | null;
  input_tokens: string;
  cache_read_tokens: string;
  cache_write_tokens: string;
  cache_write_1h_tokens: string;
  output_tokens: string;
  audio_input_tokens: string;
  audio_cache_read_tokens: string;
  audio_output_tokens: string;
  characters: string;
  audio_seconds: string;
  web_searches: string;
  search_units: string;
  calls: number;
  charge: string;
}

export const TEXT_CHECKS: readonly Check[] = [
  sqlCheck({
    name: 'text_allowances',
    question: 'Does every allowance equal its grants, less its charges and releases?',
    remedy:
      'The transfers are right. Find the statement that bypassed `write_text`, and set the amount in text_allowances to the sum of the transfers. Release the rest of an allowance without a row.',
    sql: /* sql */ `
      WITH moved AS (
        SELECT allowance_id AS id, account_id, sum(${CHANGE.reserved}) AS amount,
          sum(${balanceSign('reserved')} * signup_amount) AS signup_amount
        FROM transfers WHERE allowance_id IS NOT NULL GROUP BY allowance_id, account_id
      )
      SELECT coalesce(kept.id, moved.id) AS subject,
        format('%s of %s are left, of them %s of signup credit; its transfers add up to %s and %s', coalesce(kept.amount, 0),
          coalesce(kept.account_id, moved.account_id), coalesce(kept.signup_amount, 0), coalesce(moved.amount, 0),
          coalesce(moved.signup_amount, 0)) AS detail
      FROM text_allowances AS kept FULL JOIN moved ON moved.id = kept.id AND moved.account_id = kept.account_id
      WHERE (coalesce(kept.amount, 0), coalesce(kept.signup_amount, 0))
        <> (coalesce(moved.amount, 0), coalesce(moved.signup_amount, 0))
        -- Of months that were detached the transfers are gone.
        AND NOT EXISTS (SELECT FROM carried_balances AS carried
          WHERE carried.account_id = coalesce(kept.account_id, moved.account_id)
            AND carried.month >= date_trunc('month', id_created_at(coalesce(kept.id, moved.id)) AT TIME ZONE 'UTC')::date)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'stale_allowances',
    question: 'Does every allowance belong to a process that serves text?',
    remedy:
      'A text process releases the allowances of dead processes within a minute. Check that one is running, and read its log.',
    sql: /* sql */ `
      SELECT id AS subject, format('%s of %s since %s', amount, account_id, to_json(opened_at) #>> '{}') AS detail
      FROM text_allowances
      WHERE opened_at < now() - make_interval(secs => ${STALE_GRACE_SECONDS}) AND NOT EXISTS (
        SELECT FROM processes WHERE processes.id = process_id
          AND heartbeat_at >= now() - make_interval(secs => ${STALLED_PROCESS_DEAD_AFTER_SECONDS + STALE_GRACE_SECONDS}))
        AND NOT EXISTS (SELECT FROM batch_jobs AS job WHERE job.id = process_id AND job.ended_at IS NULL)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'text_charges',
    question: 'Does the charge of every text request match its usage record?',
    remedy: 'Adjust the account by the difference between its charge and its transfers.',
    sql: /* sql */ `
      WITH charged AS (
        SELECT text_request_id, account_id, coalesce(sum(amount) FILTER (WHERE kind = 'charge'), 0) AS paid,
          coalesce(sum(amount) FILTER (WHERE kind = 'excess'), 0) AS excess,
          coalesce(sum(amount) FILTER (WHERE kind = 'absorbed_loss'), 0) AS absorbed
        FROM transfers WHERE text_request_id IS NOT NULL GROUP BY text_request_id, account_id
      )
      SELECT request.id AS subject,
        format('charge %s, held %s, excess %s, absorbed %s; the ledger has %s%s, excess %s, absorbed %s', charge, held,
          request.excess, request.absorbed, coalesce(charged.paid, 0),
          CASE WHEN charged.account_id <> request.account_id THEN ' by another account' ELSE '' END,
          coalesce(charged.excess, 0), coalesce(charged.absorbed, 0)) AS detail
      FROM text_requests AS request LEFT JOIN charged ON charged.text_request_id = request.id
      WHERE (coalesce(charged.paid, 0), coalesce(charged.excess, 0), coalesce(charged.absorbed, 0))
          <> (least(charge, held), request.excess, request.absorbed)
        OR charged.account_id <> request.account_id
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'text_usage',
    question: 'Does every charged text request have a usage record?',
    remedy: 'Find the request in the logs of its process. Adjust the account if it should not have been charged.',
    sql: /* sql */ `
      SELECT transfers.text_request_id AS subject,
        format('%s of %s without usage', string_agg(kind, ' and ' ORDER BY kind), sum(amount)) AS detail
      FROM transfers WHERE text_request_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM text_requests WHERE id = transfers.text_request_id)
      GROUP BY transfers.text_request_id ORDER BY 1`,
  }),
  {
    name: 'text_prices',
    question: 'Does the charge of every text request match the price of its tokens in its catalogue and price list?',
    remedy: 'Adjust the account by the difference between the charge and the price.',
    find: findWrongPrices,
  },
];

async function* findWrongPrices({ snapshot }: Sources): AsyncIterable<Discrepancy> {
  const cards = new Map((await listTextRateCards(snapshot)).map((card) => [`${card.version} ${card.model}`, card]));
  const lists = new Map(
    (await listAllPriceListVersions(snapshot)).map((version) => [version.id, new PriceList(version)]),
  );
  for await (const row of readUsage(snapshot)) {
    // The database refuses a charge for a failure.
    if (row.outcome === 'failed') continue;
    const card = cards.get(`${row.catalogue_version} ${row.model}`);
    if (!card) {
      yield { subject: row.id, detail: `there is no rate card of ${row.model} in version ${row.catalogue_version}` };
      continue;
    }
    const list = row.price_list === null ? null : lists.get(row.price_list);
    if (list === undefined) {
      yield { subject: row.id, detail: `there is no version ${row.price_list} of a price list` };
      continue;
    }
    const pricing = list === null ? card.pricing : list.textPricing({ ...card, id: card.model });
    const price = priceOf(row, row.batch_id === null ? pricing : batchPricing(pricing));
    if (price !== picoUsd(row.charge))
      yield { subject: row.id, detail: `charged ${row.charge}, its price is ${price}` };
  }
}

function priceOf(row: UsageRow, pricing: TextPricing): PicoUsd {
  // A client that left before an upstream answered pays nothing.
  if (row.outcome === 'disconnected' && row.upstream === null) return 0n;
  const usage = {
    inputTotal: Number(row.input_tokens),
    cacheRead: Number(row.cache_read_tokens),
    cacheWrite: Number(row.cache_write_tokens),
    cacheWrite1h: Number(row.cache_write_1h_tokens),
    outputTotal: Number(row.output_tokens),
    audioInput: Number(row.audio_input_tokens),
    audioCacheRead: Number(row.audio_cache_read_tokens),
    audioOutput: Number(row.audio_output_tokens),
    characters: Number(row.characters),
    audioSeconds: Number(row.audio_seconds),
    webSearches: Number(row.web_searches),
    searchUnits: Number(row.search_units),
    calls: row.calls,
  };
  return priceText(pricing, usage, row.created_at.getTime()).charge;
}

/** Streams the usage of all text requests. */
async function* readUsage(snapshot: Database): AsyncIterable<UsageRow> {
  await snapshot.raw(/* sql */ `
    DECLARE all_usage NO SCROLL CURSOR FOR
    SELECT id, created_at, model, catalogue_version, price_list, batch_id, outcome, upstream, input_tokens, cache_read_tokens,
      cache_write_tokens, cache_write_1h_tokens, output_tokens, audio_input_tokens, audio_cache_read_tokens, audio_output_tokens, characters, audio_seconds,
      web_searches, search_units, calls, charge
    FROM text_requests`);
  for (;;) {
    const { rows } = await snapshot.raw<{ rows: UsageRow[] }>(`FETCH ${PAGE_SIZE} FROM all_usage`);
    yield* rows;
    if (rows.length < PAGE_SIZE) break;
  }
  await snapshot.raw('CLOSE all_usage');
}
