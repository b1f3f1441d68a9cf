/** Do the usage of text requests, their prices and the ledger agree? */
import { priceText } from '../../domain/pricing.ts';
import { type Database, picoUsd } from '../database.ts';
import { STALLED_PROCESS_DEAD_AFTER_SECONDS, TEXT_HOLD_LIFETIME_SECONDS } from '../text-money/abandoned.ts';
import { IS_UNAWAITED } from '../text-money/processes.ts';
import { listTextRateCards } from '../queries/rate-cards.ts';
import { type Check, type Discrepancy, type Sources, sqlCheck } from './check.ts';

/** Stale holds are released every few seconds. */
const RELEASE_GRACE_SECONDS = 15 * 60;
const UNAWAITED_GRACE_SECONDS = 2 * 60;
const PAGE_SIZE = 5_000;

/** The database refuses a charge for these outcomes. */
const FREE_OUTCOMES: ReadonlySet<string> = new Set(['failed', 'abandoned']);

interface UsageRow {
  id: string;
  created_at: Date;
  model: string;
  catalogue_version: string;
  outcome: string;
  upstream: string | null;
  input_tokens: string;
  cache_read_tokens: string;
  cache_write_tokens: string;
  output_tokens: string;
  calls: number;
  charge: string;
}

export const TEXT_CHECKS: readonly Check[] = [
  sqlCheck({
    name: 'text_holds',
    question: 'Is every open reservation of a text request one that is still waited for, and what is waited for held?',
    remedy:
      'Nothing will release a reservation by itself that nobody waits for: insert its refund, which gives the money back. A request whose reservation is gone ends without help; adjust the account by what it then pays too much or too little.',
    sql: /* sql */ `
      WITH open AS (
        SELECT held.* FROM transfers AS held
        WHERE held.kind = 'reservation' AND held.text_request_id IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM transfers AS resolution
            WHERE resolution.pending_id = held.id AND resolution.opened_at = held.opened_at)
      ), waited AS (
        SELECT * FROM text_holds WHERE reservation_id IS NOT NULL
      )
      SELECT coalesce(open.id, waited.reservation_id) AS subject,
        CASE
          WHEN waited.id IS NULL THEN format('%s are held for %s, which nobody waits for', open.amount, open.text_request_id)
          WHEN open.id IS NULL THEN format('%s waits for it, but it is missing or resolved', waited.id)
          ELSE format('%s are held, of them %s of signup credit; %s waits for %s and %s', open.amount, open.signup_amount,
            waited.id, waited.amount, waited.signup_amount)
        END AS detail
      FROM open FULL JOIN waited ON waited.reservation_id = open.id AND waited.id = open.text_request_id
      WHERE (open.amount, open.signup_amount, open.account_id)
        IS DISTINCT FROM (waited.amount, waited.signup_amount, waited.account_id)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'overdue_text',
    question: 'Has every text request ended in its time?',
    remedy: 'See why the processes that serve text do not release it: is one running, and what does its log say?',
    sql: /* sql */ `
      SELECT id AS subject, format('%s are held since %s', amount, to_json(opened_at) #>> '{}') AS detail FROM text_holds
      WHERE opened_at < now() - make_interval(secs => ${TEXT_HOLD_LIFETIME_SECONDS + RELEASE_GRACE_SECONDS}) ORDER BY 1`,
  }),
  sqlCheck({
    name: 'unawaited_text',
    question: 'Is every text request that money is held for waited for by a process?',
    remedy: 'It is released within a minute while a process serves text: is one running, and what does its log say?',
    sql: /* sql */ `
      SELECT id AS subject, format('%s are held since %s, which nobody waits for', amount, to_json(opened_at) #>> '{}')
        AS detail
      FROM text_holds AS hold
      WHERE opened_at < now() - make_interval(secs => ${UNAWAITED_GRACE_SECONDS})
        AND (${IS_UNAWAITED} OR NOT EXISTS (
          SELECT 1 FROM processes WHERE processes.id = hold.process_id
            AND heartbeat_at >= now() - make_interval(secs => ${STALLED_PROCESS_DEAD_AFTER_SECONDS + UNAWAITED_GRACE_SECONDS})))
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'text_charges',
    question: 'Has every text request been paid for as its usage says?',
    remedy: 'Adjust the account by the difference between its charge and its transfers.',
    sql: /* sql */ `
      WITH beyond AS (
        SELECT text_request_id, sum(amount) FILTER (WHERE kind = 'excess') AS excess,
          sum(amount) FILTER (WHERE kind = 'absorbed_loss') AS absorbed
        FROM transfers WHERE kind IN ('excess', 'absorbed_loss') GROUP BY text_request_id
      )
      SELECT request.id AS subject,
        format('charge %s, held %s, absorbed %s; the ledger has %s of %s%s, excess %s, absorbed %s', charge, held,
          request.absorbed, coalesce(resolution.kind, 'no resolution'), coalesce(resolution.amount, 0),
          CASE WHEN resolution.account_id <> request.account_id THEN ' by another account' ELSE '' END,
          coalesce(beyond.excess, 0), coalesce(beyond.absorbed, 0)) AS detail
      FROM text_requests AS request
      LEFT JOIN transfers AS resolution
        ON resolution.pending_id = request.reservation_id AND resolution.opened_at = request.opened_at
      LEFT JOIN beyond ON beyond.text_request_id = request.id
      WHERE (coalesce(beyond.excess, 0), coalesce(beyond.absorbed, 0)) <> (request.excess, request.absorbed)
        OR (request.reservation_id IS NULL AND held > 0)
        OR resolution.account_id <> request.account_id
        OR (request.reservation_id IS NOT NULL AND CASE WHEN least(charge, held) > 0
          THEN (resolution.kind, resolution.amount) IS DISTINCT FROM ('settlement', least(charge, held))
          ELSE resolution.kind IS DISTINCT FROM 'refund' END)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'text_usage',
    question: 'Has every text request that was paid for a record of its usage?',
    remedy: 'Find the request in the logs of its process. Adjust the account if it should not have been charged.',
    sql: /* sql */ `
      SELECT transfers.text_request_id AS subject,
        format('%s of %s without usage', string_agg(kind, ' and ' ORDER BY kind), sum(amount)) AS detail
      FROM transfers WHERE text_request_id IS NOT NULL AND kind <> 'reservation'
        AND NOT EXISTS (SELECT 1 FROM text_requests WHERE id = transfers.text_request_id)
      GROUP BY transfers.text_request_id ORDER BY 1`,
  }),
  {
    name: 'text_prices',
    question: 'Does every text request cost what its tokens cost in its version of the catalogue?',
    remedy: 'Adjust the account by the difference between the charge and the price.',
    find: findWrongPrices,
  },
];

async function* findWrongPrices({ snapshot }: Sources): AsyncIterable<Discrepancy> {
  const cards = new Map(
    (await listTextRateCards(snapshot)).map(({ version, model, pricing }) => [`${version} ${model}`, pricing]),
  );
  for await (const row of readUsage(snapshot)) {
    if (FREE_OUTCOMES.has(row.outcome)) continue;
    const pricing = cards.get(`${row.catalogue_version} ${row.model}`);
    if (!pricing) {
      yield { subject: row.id, detail: `there is no rate card of ${row.model} in version ${row.catalogue_version}` };
      continue;
    }
    // A client that left before an upstream answered pays nothing.
    const isFree = row.outcome === 'disconnected' && row.upstream === null;
    const usage = {
      inputTotal: Number(row.input_tokens),
      cacheRead: Number(row.cache_read_tokens),
      cacheWrite: Number(row.cache_write_tokens),
      outputTotal: Number(row.output_tokens),
      calls: row.calls,
    };
    const price = isFree ? 0n : priceText(pricing, usage, row.created_at.getTime()).charge;
    if (price !== picoUsd(row.charge))
      yield { subject: row.id, detail: `charged ${row.charge}, its price is ${price}` };
  }
}

/** All usage, page by page. */
async function* readUsage(snapshot: Database): AsyncIterable<UsageRow> {
  await snapshot.raw(/* sql */ `
    DECLARE all_usage NO SCROLL CURSOR FOR
    SELECT id, created_at, model, catalogue_version, outcome, upstream, input_tokens, cache_read_tokens,
      cache_write_tokens, output_tokens, calls, charge
    FROM text_requests`);
  for (;;) {
    const { rows } = await snapshot.raw<{ rows: UsageRow[] }>(`FETCH ${PAGE_SIZE} FROM all_usage`);
    yield* rows;
    if (rows.length < PAGE_SIZE) break;
  }
  await snapshot.raw('CLOSE all_usage');
}
