/** Registrations as operators see them. */
import { firstIdAt } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { RegistrationState } from '../../domain/registration.ts';
import type { SignupCreditOutcome } from '../../domain/signup-credit.ts';
import type { Database } from '../database.ts';
import type { IdPage } from '../page.ts';
import type { Period } from '../period.ts';
import { type RowOf, readRow } from '../row.ts';
import type { Registration } from './registrations.ts';

export interface RegistrationFilter extends Period {
  readonly id?: string | undefined;
  readonly state?: RegistrationState | undefined;
  readonly source?: string | undefined;
  readonly signupCredit?: SignupCreditOutcome | undefined;
}

export interface ListedRegistration extends Pick<
  Registration,
  'id' | 'createdAt' | 'email' | 'network' | 'source' | 'state' | 'reason' | 'accountId' | 'userId'
> {
  /** The decision about credit; null before there is an account, or if the operator gives no credit. */
  readonly signupCredit: SignupCreditOutcome | null;
  /** Who decided, and why; null without a decision of an operator. */
  readonly decidedBy: string | null;
  readonly decisionReason: string | null;
}

/** Registrations of a day of UTC that ended alike. */
export interface RegistrationCount extends Pick<ListedRegistration, 'source' | 'state' | 'reason' | 'signupCredit'> {
  /** The day in UTC, such as `2026-11-30`. */
  readonly day: string;
  readonly registrations: number;
  /** The signup credit that the ledger has for them. */
  readonly granted: PicoUsd;
}

const JOINED = /* sql */ `registrations AS registration
  LEFT JOIN signup_credits AS credit ON credit.account_id = registration.account_id`;

const FILTERED = /* sql */ `(:id::text IS NULL OR registration.id = :id)
  AND (:fromId::text IS NULL OR registration.id >= :fromId)
  AND (:toId::text IS NULL OR registration.id < :toId)
  AND (:state::text IS NULL OR registration.state = :state)
  AND (:source::text IS NULL OR registration.source = :source)
  AND (:signupCredit::text IS NULL OR credit.outcome = :signupCredit)`;

/** Lists registrations of every account, newest first. */
export async function listRegistrations(
  database: Database,
  { before, limit, ...filter }: RegistrationFilter & IdPage,
): Promise<readonly ListedRegistration[]> {
  const { rows } = await database.raw<{ rows: RowOf<ListedRegistration>[] }>(
    /* sql */ `
    SELECT registration.id, registration.created_at, coalesce(registration.email, users.email) AS email,
      registration.network, registration.source, registration.state, registration.reason, registration.account_id,
      registration.user_id, credit.outcome AS signup_credit, decision.author AS decided_by,
      decision.reason AS decision_reason
    FROM ${JOINED}
    LEFT JOIN users ON users.id = registration.user_id
    LEFT JOIN LATERAL (
      SELECT author, reason FROM operator_actions
      WHERE registration_id = registration.id ORDER BY created_at DESC LIMIT 1
    ) AS decision ON true
    WHERE ${FILTERED} AND (:before::text IS NULL OR registration.id < :before)
    ORDER BY registration.id DESC LIMIT :limit`,
    { ...bindingsOf(filter), before: before ?? null, limit },
  );
  return rows.map((row) => readRow(row, {}));
}

/** Finds a registration of any account. */
export async function findListedRegistration(database: Database, id: string): Promise<ListedRegistration | null> {
  const [row] = await listRegistrations(database, { id, limit: 1 });
  return row ?? null;
}

/** Counts registrations by day, source and outcome, newest day first. @param limit the maximum number of counts */
export async function countRegistrations(
  database: Database,
  { limit, ...filter }: RegistrationFilter & { readonly limit: number },
): Promise<readonly RegistrationCount[]> {
  const { rows } = await database.raw<{ rows: RowOf<RegistrationCount>[] }>(
    /* sql */ `
    SELECT to_char(registration.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, registration.source,
      registration.state, registration.reason, credit.outcome AS signup_credit, count(*)::integer AS registrations,
      coalesce(sum(credit.amount) FILTER (WHERE credit.outcome = 'granted'), 0) AS granted
    FROM ${JOINED} WHERE ${FILTERED}
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1 DESC, 6 DESC, 2, 3, 4, 5 LIMIT :limit`,
    { ...bindingsOf(filter), limit },
  );
  return rows.map((row) => readRow(row, { amounts: ['granted'] }));
}

function bindingsOf({ id, from, to, state, source, signupCredit }: RegistrationFilter) {
  return {
    id: id ?? null,
    // Ids start with the time.
    fromId: from ? firstIdAt('registration', from.getTime()) : null,
    toId: to ? firstIdAt('registration', to.getTime()) : null,
    state: state ?? null,
    source: source ?? null,
    signupCredit: signupCredit ?? null,
  };
}
