/** Checks whether promo credit agrees with the ledger and with the balances that include it. */
import { MOVED_BY } from '../queries/promo-grants.ts';
import { sqlCheck } from './check.ts';

export const PROMO_CHECKS = [
  sqlCheck({
    name: 'promo_grants',
    question:
      'Do the available, reserved, spent and expired amounts of every promo grant match its transfers and holds?',
    remedy:
      'The transfers and holds are right. Find the statement that bypassed the triggers of promo_grants, and set the amounts to those of the transfers and holds.',
    sql: /* sql */ `
      WITH moved AS (
        SELECT reference AS id, sum(amount) FILTER (WHERE kind = 'promo_grant') AS given,
          sum(amount) FILTER (WHERE kind = 'promo_expiry') AS expired
        FROM transfers WHERE kind IN ('promo_grant', 'promo_expiry') GROUP BY reference
      ), held AS (
        SELECT grant_id AS id, sum(amount) AS reserved FROM promo_holds GROUP BY grant_id
      ), compared AS (
        -- Of months that were detached the transfers are gone.
        SELECT promo.*, moved.given, moved.expired AS taken_back, held.reserved AS held,
          EXISTS (SELECT FROM carried_balances AS carried WHERE carried.account_id = promo.account_id
            AND carried.month >= date_trunc('month', promo.created_at AT TIME ZONE 'UTC')::date) AS is_carried
        FROM promo_grants AS promo LEFT JOIN moved USING (id) LEFT JOIN held USING (id)
      )
      SELECT id AS subject, string_agg(format('%s is %s, but should be %s', part.name, part.kept, part.summed), '; ')
        AS detail
      FROM compared, LATERAL (VALUES
        ('reserved', reserved, coalesce(held, 0)),
        ('amount', amount, CASE WHEN is_carried THEN amount ELSE coalesce(given, 0) END),
        ('expired', expired, CASE WHEN is_carried THEN expired ELSE coalesce(taken_back, 0) END),
        ('the sum of its parts', available + reserved + spent + expired, amount)) AS part(name, kept, summed)
      WHERE part.kept <> part.summed GROUP BY id
      UNION ALL
      SELECT moved.id, format('%s were given for a grant that is not there', moved.given) FROM moved
      WHERE NOT EXISTS (SELECT FROM promo_grants WHERE id = moved.id)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'promo_balances',
    question:
      'Is the promo credit of every account part of its granted credit, and is the account marked as having promo credit?',
    remedy: 'Compare the grants with the ledger of the account, and set has_promo to whether one is open.',
    sql: /* sql */ `
      WITH sums AS (
        SELECT account_id, sum(available) AS available, sum(reserved) AS reserved FROM promo_grants
        WHERE is_open GROUP BY account_id
      )
      SELECT id AS subject, format('%s and %s reserved of promo credit, of %s and %s reserved that were given; %s',
        coalesce(sums.available, 0), coalesce(sums.reserved, 0), signup_available, signup_reserved,
        CASE WHEN has_promo THEN 'marked' ELSE 'not marked' END) AS detail
      FROM accounts LEFT JOIN sums ON sums.account_id = accounts.id
      WHERE has_promo <> (sums.account_id IS NOT NULL)
        OR sums.available > signup_available OR sums.reserved > signup_reserved ORDER BY 1`,
  }),
  sqlCheck({
    name: 'promo_holds',
    question: 'Does every hold of promo credit belong to an open reservation or allowance?',
    remedy: 'Compare the chain of the reservation with the grant, and adjust the account by the difference.',
    sql: /* sql */ `
      SELECT hold_id AS subject,
        format('%s of %s are held', sum(promo_holds.amount), string_agg(grant_id, ', '))
          || CASE WHEN held.signup_amount IS NULL THEN ', but there is no such reservation or allowance'
            WHEN resolution.id IS NOT NULL THEN format(', but it was resolved by %s', resolution.id)
            ELSE format(', but it holds %s of signup credit', held.signup_amount) END AS detail
      FROM promo_holds
      LEFT JOIN transfers AS reservation ON reservation.id = hold_id AND reservation.kind = 'reservation'
      LEFT JOIN text_allowances AS allowance ON allowance.id = hold_id
      LEFT JOIN transfers AS resolution
        ON resolution.pending_id = hold_id AND resolution.opened_at = reservation.opened_at,
        LATERAL (SELECT coalesce(reservation.signup_amount, allowance.signup_amount) AS signup_amount) AS held
      GROUP BY hold_id, held.signup_amount, resolution.id
      HAVING held.signup_amount IS NULL OR resolution.id IS NOT NULL OR sum(promo_holds.amount) > held.signup_amount
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'overdue_promo',
    question: 'Was all promo credit debited when it expired, or when its account was closed?',
    remedy: 'Read in the logs of the api processes why their relays cannot debit the expired credit.',
    sql: /* sql */ `
      SELECT promo.id AS subject,
        format('%s is still available, although it expired %s', available, to_json(least(expires_at, closed_at)) #>> '{}')
          AS detail
      FROM promo_grants AS promo JOIN accounts ON accounts.id = account_id
      WHERE is_open AND available > 0 AND least(expires_at, closed_at) < now() - interval '15 minutes' ORDER BY 1`,
  }),
  sqlCheck({
    name: 'plan_credit',
    question: 'Was the included credit of every paid period of a plan granted, once and until the end of the period?',
    remedy: 'The periods are right. Grant what is missing, and adjust the account by what was granted in excess.',
    sql: /* sql */ `
      SELECT coalesce(invoice_id, promo.reference) AS subject,
        CASE WHEN invoice_id IS NULL THEN format('%s was granted for no period of a plan', promo.amount)
          ELSE format('%s until %s is included, but granted was %s until %s', included, to_json(ends_at) #>> '{}',
            coalesce(promo.amount, 0), coalesce(to_json(promo.expires_at) #>> '{}', 'no time')) END AS detail
      FROM plan_periods AS period
      FULL JOIN (SELECT * FROM promo_grants WHERE is_paid AND NOT starts_with(reference, '${MOVED_BY}')) AS promo
        ON promo.id = grant_id AND promo.account_id = period.account_id AND promo.reference = 'invoice:' || invoice_id
      WHERE invoice_id IS NULL OR (included > 0 AND period.ends_at > period.created_at AND promo.id IS NULL)
        OR promo.amount <> included OR promo.expires_at > ends_at
        OR (promo.expires_at < ends_at
          AND NOT EXISTS (SELECT FROM returned_payments AS back WHERE back.reference = ANY (period.payments)))
      ORDER BY 1`,
  }),
];
