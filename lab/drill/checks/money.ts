/** Checks every sum of money, by the drill's own sums and by the product's reconciliation. */
import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import { dataReader } from '../../stack/answers.ts';
import { ask } from '../../stack/client.ts';
import { type Check, type CheckResult, type Evidence, sqlCheck } from './check.ts';

const BALANCES = sqlCheck(
  'what each account was given is what it has and what it paid',
  /* sql */ `
  SELECT format('%s was given %s, has %s and paid %s', account.id, given, has, paid) AS failure
  FROM accounts AS account, LATERAL (
    SELECT coalesce(sum(amount) FILTER (WHERE kind = 'topup'), 0) AS given,
      coalesce(sum(amount) FILTER (WHERE credit = 'revenue' AND debit <> 'absorbed_loss'), 0) AS paid,
      signup_available + funded_available + signup_reserved + funded_reserved AS has
    FROM transfers WHERE account_id = account.id) AS sums
  WHERE given <> has + paid`,
);

const BOOKS = sqlCheck(
  'all books together are zero, and those of customers are what their accounts say',
  /* sql */ `
  WITH legs AS (
    SELECT credit AS book, amount FROM transfers UNION ALL SELECT debit, -amount FROM transfers
  ), books AS (
    SELECT book, sum(amount) AS balance FROM legs GROUP BY book
  ), kept AS (
    SELECT 'available' AS book, sum(signup_available + funded_available) AS balance FROM accounts
    UNION ALL SELECT 'reserved', sum(signup_reserved + funded_reserved) FROM accounts
  )
  SELECT format('the books add up to %s', sum(balance)) AS failure FROM books HAVING sum(balance) <> 0
  UNION ALL
  SELECT format('%s: the ledger has %s, the accounts %s', book, coalesce(books.balance, 0), kept.balance)
  FROM kept LEFT JOIN books USING (book) WHERE coalesce(books.balance, 0) <> kept.balance`,
);

const REVENUE = sqlCheck(
  'what was earned is the price of every task that succeeded and of every text request',
  /* sql */ `
  SELECT format('%s were earned, %s is what everything cost', earned, cost) AS failure FROM (
    SELECT (SELECT coalesce(sum(amount), 0) FROM transfers WHERE credit = 'revenue') AS earned,
      (SELECT coalesce(sum(price), 0) FROM tasks WHERE status = 'succeeded')
        + (SELECT coalesce(sum(charge), 0) FROM text_requests) AS cost) AS sums
  WHERE earned <> cost`,
);

const LIMITS = sqlCheck(
  'no key was charged or holds more than its limit',
  /* sql */ `
  SELECT format('%s: %s of %s', id, used, usage_limit) AS failure FROM api_keys WHERE used > usage_limit`,
);

interface Reconciliation {
  readonly id: string;
  readonly status: string;
  readonly findings?: readonly { readonly check: string; readonly subject: string; readonly detail: string }[];
}

const readReconciliation = dataReader<Reconciliation>({
  id: Joi.string(),
  status: Joi.string(),
  findings: Joi.array().optional(),
});

const RECONCILIATION_TIMEOUT_MS = 120_000;

async function checkReconciliation({ stack }: Pick<Evidence, 'stack'>): Promise<CheckResult> {
  const url = `${stack.apiUrls[0]}/admin/v1/reconciliations`;
  const call = async (path: string, body?: object): Promise<Reconciliation> => {
    const { text } = await ask(url + path, { token: stack.adminToken, ...(body && { body }) });
    return readReconciliation(text);
  };
  const { id } = await call('', {});
  const deadline = performance.now() + RECONCILIATION_TIMEOUT_MS;
  let report = await call(`/${id}`);
  while (report.status === 'running' && performance.now() < deadline) {
    await sleep(500);
    report = await call(`/${id}`);
  }
  const findings = report.findings ?? [];
  return {
    promise: 'reconciliation finds nothing',
    failures:
      report.status === 'running'
        ? [`${id} has not ended`]
        : findings.map(({ check, subject, detail }) => `${check}: ${subject}: ${detail}`),
  };
}

export const MONEY_CHECKS: readonly Check<Pick<Evidence, 'database' | 'stack'>>[] = [
  BALANCES,
  BOOKS,
  REVENUE,
  LIMITS,
  checkReconciliation,
];
