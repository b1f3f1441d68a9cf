/** Causes each kind of damage here, with the rules of the database switched off: reconciliation must name it. */
import { expect } from 'chai';
import { FINDINGS_ZH } from '../../../console/texts/findings-zh.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import type { Database } from '../../../db/database.ts';
import { setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { moveMergedMoney } from '../../../db/queries/account-merges.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { recordPlanPeriod, storeSubscription } from '../../../db/queries/plans.ts';
import { setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { finishTask } from '../../../db/queries/finish-task.ts';
import { issueGiftBatch, redeemGiftCode } from '../../../services/money/gift-codes.ts';
import { requestMerge } from '../../../services/money/merge-accounts.ts';
import { grantPromoCredit } from '../../../db/queries/promo-grants.ts';
import { recordSignupCredit } from '../../../db/queries/signup-credits.ts';
import { recordRateCards } from '../../../db/queries/rate-cards.ts';
import type { FileLookup, Finding, WorkflowLookup } from '../../../db/reconciliation/check.ts';
import { CHECKS, reconcile, runChecks } from '../../../db/reconciliation/reconcile.ts';
import type { NewTextHold } from '../../../db/text-money/ledger.ts';
import { priceText } from '../../../domain/pricing.ts';
import { digestToken } from '../../../domain/bearer-token.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { type SuiteDatabase, useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newEvent,
  newGiftBatch,
  reloadTask,
  type TestKey,
} from '../../support/factories.ts';
import {
  CATALOGUE_VERSION,
  failureOf,
  newFreeHold,
  newHold,
  openTextLedger,
  settlementOf,
} from '../../support/text-money.ts';

/** The damaged rows, by the names under which SQL finds them. */
interface Given {
  /** The current month, as `2026-11`. */
  readonly month: string;
  /** A model in a bill of this month. */
  readonly billed: string;
  readonly account: string;
  readonly key: string;
  readonly poorAccount: string;
  readonly topUp: string;
  readonly processing: string;
  readonly processingReservation: string;
  readonly succeeded: string;
  readonly settlement: string;
  readonly failed: string;
  readonly refund: string;
  readonly charged: string;
  readonly overrun: string;
  readonly allowance: string;
  readonly budget: string;
  readonly ofEndUser: string;
  /** The budget of an end user with a running task and a charged one. */
  readonly taskBudget: string;
  /** The budget of the models of both tasks. */
  readonly groupBudget: string;
  readonly planAccount: string;
  readonly planInvoice: string;
  readonly promoAccount: string;
  readonly promo: string;
  readonly promoAllowance: string;
  /** A batch of gift codes, and the code that an account redeemed. */
  readonly giftBatch: string;
  readonly gift: string;
  readonly giftAccount: string;
  /** An account that registered, with signup credit. */
  readonly registered: string;
  /** An account that was merged into another one. */
  readonly merged: string;
}

interface Damage {
  /** The check that must find it. */
  readonly check: string;
  /** The row that must be named. */
  readonly subject: keyof Given;
  readonly sql: string;
  /** The text of the report. */
  readonly says: RegExp;
}

/** By what is damaged. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  'a closed month that has lost a transfer': {
    check: 'closed_months',
    subject: 'month',
    sql: `INSERT INTO closed_months (month, author, transfers, amounts, checksum)
      SELECT month, 'ada', transfers + 1, amounts, checksum
      FROM to_date(:month, 'YYYY-MM') AS month, ledger_of_month(month)`,
    says: /^closed with \d+ transfers .*, now \d+ \(the same amounts\)$/,
  },
  'a balance that was changed by hand': {
    check: 'account_balances',
    subject: 'account',
    sql: 'UPDATE accounts SET funded_available = funded_available + 1 WHERE id = :account',
    says: /^funded_available is \d+, its transfers add up to \d+$/,
  },
  'a transfer that was removed': {
    check: 'account_balances',
    subject: 'account',
    sql: `DELETE FROM transfers WHERE account_id = :account AND kind = 'signup_grant'`,
    says: /^signup_available is/,
  },
  'a transfer for an account that was removed': {
    check: 'account_balances',
    subject: 'poorAccount',
    sql: 'DELETE FROM accounts WHERE id = :poorAccount',
    says: /^funded_available is missing, its transfers add up to 0; funded_reserved is missing/,
  },
  'a payment that was credited with another amount than was announced': {
    check: 'payments',
    subject: 'topUp',
    sql: `INSERT INTO contradicted_payments (reference, account_id, amount)
      SELECT reference, account_id, amount + 1 FROM top_ups WHERE transfer_id = :topUp`,
    says: /^\S+ was announced with \d+ for acc_\w+, but credited with \d+ to acc_\w+$/,
  },
  'a payment that went back to its payer, while its account kept it': {
    check: 'returned_payments',
    subject: 'topUp',
    sql: `WITH payment AS (UPDATE top_ups SET reference = 'payment:pi_1' WHERE transfer_id = :topUp RETURNING reference)
      INSERT INTO returned_payments (reference, refunded, disputes)
      SELECT reference, 1, '{"dp_1": {"amount": "2", "is_won": false}, "dp_2": {"amount": "4", "is_won": true}}' FROM payment`,
    says: /^payment:pi_1: 3 returned, 0 taken back$/,
  },
  'a payment of which one refund failed, while its account kept the others': {
    check: 'returned_payments',
    subject: 'topUp',
    sql: `WITH payment AS (UPDATE top_ups SET reference = 'payment:pi_1' WHERE transfer_id = :topUp RETURNING reference)
      INSERT INTO returned_payments (reference, refunded, refunded_at, failed_refunds)
      SELECT reference, 7, 20, '{"re_1": {"amount": "4", "failed_at": 20}, "re_2": {"amount": "2", "failed_at": 19}}' FROM payment`,
    says: /^payment:pi_1: 3 returned, 0 taken back$/,
  },
  'a debt that no returned payment explains': {
    check: 'returned_payments',
    subject: 'account',
    sql: 'UPDATE accounts SET debt = 1, funded_available = 0 WHERE id = :account',
    says: /^owes 1, and its returned payments lack 0$/,
  },
  'an account that is taken for one that never topped up': {
    check: 'topped_up',
    subject: 'account',
    sql: 'UPDATE accounts SET topped_up_at = NULL WHERE id = :account',
    says: /^topped_up_at is not set, but the account has topped up$/,
  },
  'a key that has used more or less than its transfers': {
    check: 'key_usage',
    subject: 'key',
    sql: 'UPDATE api_keys SET used = used - 1 WHERE id = :key',
    says: /^used is \d+, its transfers add up to \d+$/,
  },
  'a key that has more or less reserved than its open reservations': {
    check: 'key_usage',
    subject: 'key',
    sql: 'UPDATE api_keys SET reserved = reserved + 1 WHERE id = :key',
    says: /^reserved is \d+, its transfers add up to \d+$/,
  },
  'a top-up whose reference is missing': {
    check: 'top_ups',
    subject: 'topUp',
    sql: 'DELETE FROM top_ups WHERE transfer_id = :topUp',
    says: /^reference first: 10000000000000 credited, 0 noted$/,
  },
  'a top-up of another amount than was paid': {
    check: 'top_ups',
    subject: 'topUp',
    sql: 'UPDATE transfers SET amount = amount * 10 WHERE id = :topUp',
    says: /^reference first: 100000000000000 credited, 10000000000000 noted$/,
  },
  'a final task without a resolution': {
    check: 'task_resolutions',
    subject: 'succeeded',
    sql: 'DELETE FROM transfers WHERE id = :settlement',
    says: /^the task is succeeded, resolved by nothing$/,
  },
  'a failed task that was charged': {
    check: 'task_resolutions',
    subject: 'failed',
    sql: `UPDATE transfers SET kind = 'settlement', credit = 'revenue' WHERE id = :refund`,
    says: /^the task is failed, resolved by settlement$/,
  },
  'a task that failed after it was charged': {
    check: 'task_resolutions',
    subject: 'succeeded',
    sql: `UPDATE tasks SET status = 'failed', output = NULL, error_code = 'bad_request', error_message = ''
      WHERE id = :succeeded`,
    says: /^the task is failed, resolved by settlement$/,
  },
  'a task that is resolved while it runs': {
    check: 'task_resolutions',
    subject: 'processing',
    sql: `UPDATE transfers SET (task_id, opened_at, pending_id) = (SELECT id, created_at, reservation_id FROM tasks
      WHERE id = :processing) WHERE id = :refund`,
    says: /^the task is processing, resolved by refund$/,
  },
  'a refund of another amount than what was reserved': {
    check: 'task_amounts',
    subject: 'failed',
    sql: 'UPDATE transfers SET amount = amount + 1 WHERE id = :refund',
    says: /reserved 1000000000000, refunded 1000000000001$/,
  },
  'a reservation that is not the price': {
    check: 'task_amounts',
    subject: 'processing',
    sql: 'UPDATE transfers SET amount = amount + 1 WHERE id = :processingReservation',
    says: /^priced at 1000000000000, reserved 1000000000001$/,
  },
  'a task whose reservation was removed': {
    check: 'task_amounts',
    subject: 'processing',
    sql: 'DELETE FROM transfers WHERE id = :processingReservation',
    says: /reserved nothing$/,
  },
  'a task that another account reserved for': {
    check: 'task_amounts',
    subject: 'processing',
    sql: 'UPDATE tasks SET account_id = :poorAccount WHERE id = :processing',
    says: /by another account$/,
  },
  'transfers for a task that was removed': {
    check: 'task_transfers',
    subject: 'processing',
    sql: 'DELETE FROM tasks WHERE id = :processing',
    says: /^reservation of 1000000000000, but there is no such task$/,
  },
  'a resolution that does not fit its reservation': {
    check: 'resolutions',
    subject: 'refund',
    sql: 'UPDATE transfers SET amount = amount + 1 WHERE id = :refund',
    says: /is resolved, but the reservation tr_\w+ is of/,
  },
  'a refund that gives back another kind of credit': {
    check: 'resolutions',
    subject: 'refund',
    sql: 'UPDATE transfers SET signup_amount = 1 WHERE id = :refund',
    says: /of signup credit is resolved/,
  },
  'a refund to another account': {
    check: 'resolutions',
    subject: 'refund',
    sql: 'UPDATE transfers SET account_id = :poorAccount WHERE id = :refund',
    says: /is of another account, key or task$/,
  },
  'a reservation that is resolved twice': {
    check: 'resolutions',
    subject: 'processingReservation',
    sql: `UPDATE transfers SET pending_id = :processingReservation WHERE id IN (:refund, :settlement)`,
    says: /^2 transfers resolve it$/,
  },
  'a task that runs past its deadline': {
    check: 'overdue_tasks',
    subject: 'processing',
    sql: 'UPDATE tasks SET deadline_at = to_timestamp(0) WHERE id = :processing',
    says: /^still processing, its deadline was 1970/,
  },
  'a text request that costs what its tokens do not': {
    check: 'text_prices',
    subject: 'charged',
    sql: 'UPDATE text_requests SET output_tokens = output_tokens + 1 WHERE id = :charged',
    says: /^charged \d+, its price is \d+$/,
  },
  'prices that were changed after they were charged': {
    check: 'text_prices',
    subject: 'charged',
    sql: `UPDATE rate_cards SET pricing = jsonb_set(pricing, '{rates,output}', '"1"')`,
    says: /^charged \d+, its price is \d+$/,
  },
  'a text request whose prices are not known any more': {
    check: 'text_prices',
    subject: 'charged',
    sql: `UPDATE text_requests SET catalogue_version = 'lost' WHERE id = :charged`,
    says: /^there is no rate card of textc-M3 in version lost$/,
  },
  'a sum of usage that nothing adds up to': {
    check: 'daily_usage',
    subject: 'account',
    sql: `INSERT INTO daily_usage SELECT :account, (now() AT TIME ZONE 'UTC')::date, 'text', 'gone', :key, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 4`,
    says: /^text of gone by .* on .*: 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 4 kept, its rows add up to nothing$/,
  },
  'a sum of transfers that nothing adds up to': {
    check: 'daily_transfers',
    subject: 'account',
    sql: `INSERT INTO daily_transfers SELECT :account, (now() AT TIME ZONE 'UTC')::date, 'gone', 1, 2, -3`,
    says: /^gone on .*: 1, 2, -3 kept, its transfers add up to nothing$/,
  },
  'a bill with a line that is not ours': {
    check: 'vendor_bills',
    subject: 'billed',
    sql: `
      WITH bill AS (INSERT INTO vendor_bills (vendor, month, upstreams, columns, author)
        SELECT split_part(:billed, ' ', 1), to_date(:month, 'YYYY-MM'), ARRAY['fal'], '{}', 'ada' RETURNING *)
      INSERT INTO vendor_bill_lines (vendor, month, line, job_id, model, amount)
      SELECT vendor, month, 1, 'job', 'unknown', 1e12 FROM bill`,
    says: /^1 job billed without a record: \$1\.00 \(first: job\)$/,
  },
  'a text request that was charged otherwise than its usage says': {
    check: 'text_charges',
    subject: 'charged',
    sql: 'UPDATE text_requests SET charge = charge - 1 WHERE id = :charged',
    says: /^charge \d+, held 1000000000, excess 0, absorbed 0; the ledger has \d+, excess 0, absorbed 0$/,
  },
  'a text request that another account paid for': {
    check: 'text_charges',
    subject: 'charged',
    sql: 'UPDATE text_requests SET account_id = :poorAccount WHERE id = :charged',
    says: /by another account/,
  },
  'a text request of which nothing was absorbed although its usage says so': {
    check: 'text_charges',
    subject: 'overrun',
    sql: `DELETE FROM transfers WHERE kind = 'absorbed_loss' AND text_request_id = :overrun`,
    says: /absorbed 0$/,
  },
  'a text request that was paid for and has no usage': {
    check: 'text_usage',
    subject: 'charged',
    sql: 'DELETE FROM text_requests WHERE id = :charged',
    says: /^charge of \d+ without usage$/,
  },
  'an allowance without a row': {
    check: 'text_allowances',
    subject: 'allowance',
    sql: 'DELETE FROM text_allowances WHERE id = :allowance',
    says: /^0 of acc_\w+ are left, of them 0 of signup credit; its transfers add up to \d+ and \d+$/,
  },
  'an allowance that has more than it took': {
    check: 'text_allowances',
    subject: 'allowance',
    sql: 'UPDATE text_allowances SET amount = amount + 1 WHERE id = :allowance',
    says: /^1000000001 of acc_\w+ are left, .* add up to 1000000000 and \d+$/,
  },
  'an allowance of a process that is gone': {
    check: 'stale_allowances',
    subject: 'allowance',
    sql: `UPDATE text_allowances SET opened_at = to_timestamp(0), process_id = gen_random_uuid() WHERE id = :allowance`,
    says: /^1000000000 of acc_\w+ since 1970/,
  },
  'a budget of an end user of which more is used than was charged and is held': {
    check: 'budgets',
    subject: 'budget',
    sql: 'UPDATE budgets SET used = used + 1 WHERE id = :budget',
    says: /^\d+ used, of it 1000000000 held; charged \d+$/,
  },
  'a budget of an end user of which less is used than was charged and is held': {
    check: 'budgets',
    subject: 'budget',
    // Long after the text processes have read the change.
    sql: `
      WITH later AS (UPDATE text_requests SET created_at = created_at + interval '1 minute' WHERE id = :ofEndUser),
        charged_later AS (UPDATE transfers SET opened_at = opened_at + interval '1 minute',
          created_at = created_at + interval '1 minute' WHERE text_request_id = :ofEndUser)
      UPDATE budgets SET used = used - 1 WHERE id = :budget`,
    says: /^\d+ used, of it 1000000000 held; charged \d+$/,
  },
  'a budget of an end user to which a failed task returned its price twice': {
    check: 'budgets',
    subject: 'taskBudget',
    sql: 'UPDATE budgets SET used = used - 1 WHERE id = :taskBudget',
    says: /^\d+ used, of it 1000000000000 held; charged 1000000000000$/,
  },
  'a budget of a group of models of which more is used than was charged': {
    check: 'budgets',
    subject: 'groupBudget',
    sql: 'UPDATE budgets SET used = used + 1 WHERE id = :groupBudget',
    says: /^2000000000001 used, of it 1000000000000 held; charged 1000000000000$/,
  },
  'promo credit that was spent by hand': {
    check: 'promo_grants',
    subject: 'promo',
    sql: 'UPDATE promo_grants SET reserved = reserved - 1, spent = spent + 1 WHERE id = :promo',
    says: /^reserved is 999999999, but should be 1000000000$/,
  },
  'promo credit that was given without a transfer': {
    check: 'promo_grants',
    subject: 'promo',
    sql: `DELETE FROM transfers WHERE kind = 'promo_grant' AND reference = :promo`,
    says: /^amount is 1000000000000, but should be 0$/,
  },
  'promo credit that its account does not know of': {
    check: 'promo_balances',
    subject: 'promoAccount',
    sql: 'UPDATE accounts SET has_promo = false WHERE id = :promoAccount',
    says: /; not marked$/,
  },
  'promo credit that is held for an allowance which is gone': {
    check: 'promo_holds',
    subject: 'promoAllowance',
    sql: 'DELETE FROM text_allowances WHERE id = :promoAllowance',
    says: /^1000000000 of prm_\w+ are held, but there is no such reservation or allowance$/,
  },
  'a paid period of a plan whose credit was granted otherwise': {
    check: 'plan_credit',
    subject: 'planInvoice',
    sql: 'UPDATE plan_periods SET included = included + 1 WHERE invoice_id = :planInvoice',
    says: /^1000000000001 until \S+ is included, but granted was 1000000000000 until /,
  },
  'an account that is taken for one that never paid for a plan': {
    check: 'topped_up',
    subject: 'planAccount',
    sql: 'UPDATE accounts SET topped_up_at = NULL WHERE id = :planAccount',
    says: /has topped up$/,
  },
  'promo credit whose time is long over': {
    check: 'overdue_promo',
    subject: 'promo',
    sql: 'UPDATE promo_grants SET created_at = to_timestamp(0), expires_at = to_timestamp(1) WHERE id = :promo',
    says: /^999000000000 is still available, although it expired 1970/,
  },
  'a gift that was credited without its code': {
    check: 'gift_codes',
    subject: 'gift',
    sql: 'UPDATE gift_codes SET account_id = NULL, redeemed_at = NULL, credit_id = NULL WHERE id = :gift',
    says: /^1000000000000 credited to acc_\w+ by tr_\w+, 0 redeemed by nobody$/,
  },
  'a code that was redeemed without a credit': {
    check: 'gift_codes',
    subject: 'gift',
    sql: `DELETE FROM transfers WHERE kind = 'gift' AND reference = :gift`,
    says: /^0 credited to nobody by nothing, 1000000000000 redeemed by acc_\w+$/,
  },
  'a batch of gift codes that lost one': {
    check: 'gift_codes',
    subject: 'giftBatch',
    sql: 'DELETE FROM gift_codes WHERE batch_id = :giftBatch AND redeemed_at IS NULL',
    says: /^2 codes were issued, but 1 are there$/,
  },
  'signup credit that was posted for no registration': {
    check: 'signup_credits',
    subject: 'registered',
    sql: 'DELETE FROM signup_credits WHERE account_id = :registered',
    says: /^1000000000000 credited by tr_\w+, 0 granted to the registration$/,
  },
  'a registration whose signup credit was never posted': {
    check: 'signup_credits',
    subject: 'registered',
    sql: `DELETE FROM transfers WHERE kind = 'signup_grant' AND account_id = :registered`,
    says: /^0 credited by nothing, 1000000000000 granted to the registration$/,
  },
  'a mailbox that got signup credit twice': {
    check: 'signup_credits',
    subject: 'registered',
    sql: `INSERT INTO transfers SELECT (jsonb_populate_record(transfer, jsonb_build_object('id', 'tr_' || repeat('0', 32)))).* FROM transfers AS transfer
      WHERE kind = 'signup_grant' AND account_id = :registered`,
    says: /^1000000000000 credited by tr_0{32}, 0 granted to the registration$/,
  },
  'a merge whose money did not arrive': {
    check: 'account_merges',
    subject: 'merged',
    sql: `DELETE FROM transfers WHERE kind = 'merge_in' AND reference = :merged`,
    says: /^moved 5 to acc_\w+, which got 0$/,
  },
  'a merged account whose late money was left behind': {
    check: 'account_merges',
    subject: 'merged',
    sql: `WITH left_behind AS (UPDATE accounts SET funded_available = 7 WHERE id = :merged),
        merge AS (UPDATE account_merges SET completed_at = '1970-01-01Z' WHERE source_id = :merged)
      DELETE FROM transfers WHERE :merged IN (account_id, reference)`,
    says: /^merged 1970-01-01T00:00:00\+00:00, and has 7 to spend$/,
  },
  'an account whose gift left no mark': {
    check: 'topped_up',
    subject: 'giftAccount',
    sql: 'UPDATE accounts SET topped_up_at = NULL WHERE id = :giftAccount',
    says: /^topped_up_at is not set, but the account has topped up$/,
  },
};

/** Asserts that no part of a text was left in English. */
function expectChinese(text: string): void {
  expect(
    text.split('；').filter((part) => !/[\u3400-\u9fff]/.test(part)),
    text,
  ).to.deep.equal([]);
}

describe('reconciliation', () => {
  const testDatabase = useTestDatabase();
  let database: Database;
  let given: Given;

  before(async () => {
    database = testDatabase.database;
    given = await prepare(testDatabase);
  });

  /** The findings after some damage, all of which is undone again. */
  async function findAfter(
    sql: string,
    workflows = openFor(given.processing),
    files = EVERY_FILE,
  ): Promise<readonly Finding[]> {
    const copy = await database.transaction();
    try {
      await copy.raw('SET LOCAL session_replication_role = replica');
      await copy.raw(sql, { ...given });
      const { findings } = await runChecks(CHECKS, { snapshot: copy, database: copy, workflows, files });
      return findings;
    } finally {
      await copy.rollback();
    }
  }

  /** Asserts that one finding of the check names the row, the damage and the remedy. */
  function expectFinding(findings: readonly Finding[], { check, subject, says }: Omit<Damage, 'sql'>): void {
    const found = findings.filter((finding) => finding.check === check && finding.subject === given[subject]);
    expect(found, JSON.stringify(findings, null, 2)).to.have.length(1);
    expect(found[0]?.detail).to.match(says);
    expect(found[0]?.remedy).to.equal(CHECKS.find(({ name }) => name === check)?.remedy);
    expectChinese(FINDINGS_ZH.detail(found[0]?.detail ?? ''));
    expectChinese(FINDINGS_ZH.remedy(check, ''));
    expectChinese(FINDINGS_ZH.question(check, ''));
  }

  it('finds nothing where nothing is wrong', async () => {
    const { findings, checks } = await reconcile(database, {
      workflows: openFor(given.processing),
      files: EVERY_FILE,
    });
    expect(findings).to.deep.equal([]);
    expect(checks.map(({ check }) => check)).to.deep.equal(CHECKS.map(({ name }) => name));
  });

  for (const [what, { sql, ...finding }] of Object.entries(DAMAGES)) {
    it(`finds ${what}`, async () => {
      expectFinding(await findAfter(sql), finding);
    });
  }

  it('finds a task without a workflow', async () => {
    expectFinding(await findAfter('SELECT', openFor()), {
      check: 'workflows',
      subject: 'processing',
      says: /^the task is processing, but its workflow is closed or missing$/,
    });
  });

  it('finds a workflow that continues although its task is final', async () => {
    const sql = 'UPDATE tasks SET completed_at = to_timestamp(0) WHERE id = :succeeded';
    expectFinding(await findAfter(sql, openFor(given.processing, given.succeeded)), {
      check: 'workflows',
      subject: 'succeeded',
      says: /^the task is succeeded, but its workflow is open$/,
    });
  });

  it('finds a workflow of a task that does not exist', async () => {
    const sql = 'DELETE FROM tasks WHERE id = :failed';
    expectFinding(await findAfter(sql, openFor(given.processing, given.failed)), {
      check: 'workflows',
      subject: 'failed',
      says: /^there is no such task$/,
    });
  });

  it('finds a task whose file is missing', async () => {
    expectFinding(await findAfter('SELECT', openFor(given.processing), { ...EVERY_FILE, sizeOf: async () => null }), {
      check: 'results',
      subject: 'succeeded',
      says: /^the task succeeded, but its file https?:\S+ is missing$/,
    });
  });

  it('does not look for files that the customer of a task deleted', async () => {
    const deleted = 'INSERT INTO deleted_results (task_id) VALUES (:succeeded)';
    const files = { ...EVERY_FILE, sizeOf: async () => null };
    expect(await findAfter(deleted, openFor(given.processing), files)).to.deep.equal([]);
  });

  it('also samples older tasks for missing files', async () => {
    const ids = Array.from({ length: 500 }, () => newId('task')).map((id) => `'${id}'`);
    const newerTasks = `INSERT INTO tasks SELECT (jsonb_populate_record(tasks, jsonb_build_object('id', newer.id,
      'created_at', id_created_at(newer.id), 'output', '[]'::jsonb))).* FROM tasks, unnest(ARRAY[${ids.join()}]) AS newer(id)
      WHERE tasks.id = :succeeded`;
    const findings = await findAfter(newerTasks, openFor(given.processing), {
      ...EVERY_FILE,
      sizeOf: async () => null,
    });
    const gone = findings.filter(({ check }) => check === 'results');
    expect(gone.map(({ subject }) => subject)).to.deep.equal([given.succeeded]);
  });

  it('gives a workflow time to close after its task is final', async () => {
    expect(await findAfter('SELECT', openFor(given.processing, given.succeeded))).to.deep.equal([]);
  });

  it('finds a delivery without a workflow, once its next attempt is long overdue', async () => {
    const id = newId('delivery');
    const startedBefore = (minutes: number): string =>
      `INSERT INTO deliveries (id, event_id, endpoint_id, account_id, created_at, workflow_started_at)
        VALUES ('${id}', 'event', 'endpoint', :account, now(), now() - interval '${minutes} minutes')`;
    expect(await findAfter(startedBefore(60))).to.deep.equal([
      {
        check: 'deliveries',
        subject: id,
        detail: 'the delivery is pending, but its workflow is closed or missing',
        remedy: CHECKS.find(({ name }) => name === 'deliveries')?.remedy,
      },
    ]);
    const running = { ...openFor(given.processing), isOpen: async () => true };
    expect(await findAfter(startedBefore(60), running)).to.deep.equal([]);
    expect(await findAfter(startedBefore(1))).to.deep.equal([]);
  });

  it('finds a delivery that was never started, unless others of its endpoint or account come first', async () => {
    const [endpoint, waiting, other] = [newId('webhookEndpoint'), newId('delivery'), newId('delivery')];
    const withWaiting = (timeouts: number, otherUnderWay = 'NULL::timestamptz'): string => `
      WITH endpoint AS (INSERT INTO webhook_endpoints (id, account_id, url, events, encrypted_secret, timeouts, created_at,
        updated_at) VALUES ('${endpoint}', :account, 'https://receiver.test/', ARRAY['task.failed'], 'x', ${timeouts}, now(),
        now()))
      INSERT INTO deliveries (id, event_id, endpoint_id, account_id, created_at, next_start_at, under_way_until)
      SELECT id, id, '${endpoint}', :account, now(), start_at, under_way FROM (VALUES
        ('${waiting}', now() - interval '1 hour', NULL::timestamptz), ('${other}', now(), ${otherUnderWay}))
        AS delivery(id, start_at, under_way)`;
    const findings = await findAfter(withWaiting(0));
    expect(findings.map(({ check, subject }) => [check, subject])).to.deep.equal([['deliveries', waiting]]);
    expect(await findAfter(withWaiting(3))).to.deep.equal([]);
    expect(await findAfter(withWaiting(0, `now() + interval '1 minute'`))).to.deep.equal([]);
  });

  it('finds a workflow of a delivery that does not exist', async () => {
    const workflows: WorkflowLookup = {
      ...openFor(given.processing),
      async *listOpen(workflowType) {
        yield workflowType === 'mediaTask' ? given.processing : 'del_unknown';
      },
    };
    const findings = await findAfter('SELECT', workflows);
    expect(findings.map(({ check, subject, detail }) => [check, subject, detail])).to.deep.equal([
      ['deliveries', 'del_unknown', 'there is no such delivery, but its workflow is open'],
    ]);
  });

  it('runs every check', () => {
    const tried = new Set([...Object.values(DAMAGES).map(({ check }) => check), 'workflows', 'deliveries', 'results']);
    expect([...tried]).to.have.members(CHECKS.map(({ name }) => name));
  });

  it('shows the first hundred findings of a check, and counts them all', async () => {
    const { checks, findings } = await runChecks(
      [
        {
          name: 'many',
          question: 'Is all well?',
          remedy: 'None.',
          async *find() {
            for (let number = 1; number <= 120; number += 1) yield { subject: String(number), detail: 'wrong' };
          },
        },
      ],
      { snapshot: database, database, workflows: openFor(), files: EVERY_FILE },
    );
    expect(checks[0]?.findings).to.equal(120);
    expect(findings).to.have.length(100);
  });
});

/** A store that has all files. */
const EVERY_FILE: FileLookup = { sizeOf: async () => 1, keyOf: (url) => url };

/** Temporal, where exactly these tasks have an open workflow. */
function openFor(...taskIds: readonly string[]): WorkflowLookup {
  return {
    async *listOpen(workflowType) {
      if (workflowType === 'mediaTask') yield* taskIds;
    },
    isOpen: async (taskId) => taskIds.includes(taskId),
  };
}

async function prepare({ database, url }: SuiteDatabase): Promise<Given> {
  const key = await createKey(database, await createAccount(database, { fundedUsd: 10, signupUsd: 5 }));
  const processing = await createTaskRow(database, key);
  const succeeded = await createTaskRow(database, key);
  const failed = await createTaskRow(database, key);
  const topUp = await database<{ transfer_id: string; account_id: string }>('top_ups')
    .where('account_id', key.accountId)
    .first('transfer_id');
  await database('tasks')
    .where('id', processing.id)
    .update({ status: 'processing', provider_job_id: 'job', workflow_started_at: new Date() });
  await finishAsSucceeded(database, succeeded);
  await finishAsFailed(database, failed);
  return {
    month: new Date().toISOString().slice(0, 7),
    billed: `fal ${new Date().toISOString().slice(0, 7)} unknown`,
    account: key.accountId,
    key: key.id,
    topUp: topUp?.transfer_id ?? '',
    processing: processing.id,
    processingReservation: processing.reservationId,
    succeeded: succeeded.id,
    settlement: (await reloadTask(database, succeeded)).resolutionId ?? '',
    failed: failed.id,
    refund: (await reloadTask(database, failed)).resolutionId ?? '',
    ...(await prepareText(database, url, key)),
    ...(await preparePromo(database, url)),
    ...(await prepareBudget(database, url)),
    ...(await prepareGift(database)),
    registered: await prepareRegistered(database),
    merged: await prepareMerge(database),
    ...(await preparePlan(database)),
  };
}

/** An account that paid for a plan. */
async function preparePlan(database: Database): Promise<Pick<Given, 'planAccount' | 'planInvoice'>> {
  const { id: accountId } = await createAccount(database);
  const subscription = { id: 'sub_1', accountId, customer: 'cus_1', status: 'active', item: 'si_1', price: 'price_1' };
  await storeSubscription(database, async () => ({ ...subscription, endsAt: null }));
  const [startsAt, endsAt] = [new Date(), new Date(Date.now() + 30 * 86_400_000)];
  await recordPlanPeriod(database, {
    invoiceId: 'in_1',
    subscriptionId: 'sub_1',
    accountId,
    plan: 'basic',
    included: parseUsd(1),
    models: null,
    rateLimitRpm: null,
    seats: null,
    invoicedAt: startsAt,
    startsAt,
    endsAt,
    limitsUntil: endsAt,
    paid: parseUsd(1),
    payments: [],
  });
  return { planAccount: accountId, planInvoice: 'in_1' };
}

/** An account with promo credit, of which some is held. */
async function preparePromo(
  database: Database,
  url: string,
): Promise<Pick<Given, 'promoAccount' | 'promo' | 'promoAllowance'>> {
  const key = await createKey(database, await createAccount(database, { fundedUsd: 1 }));
  const { grant } = await grantPromoCredit(database, {
    accountId: key.accountId,
    amount: 10n ** 12n,
    expiresAt: new Date(Date.now() + 86_400_000),
    reference: 'launch',
    author: 'ada',
    reason: 'a test',
  });
  const hold = newHold(key, { amount: 10n ** 9n });
  const ledger = openTextLedger(url, { poolSize: 1 });
  await ledger.hold([hold]);
  await ledger.close();
  return { promoAccount: key.accountId, promo: grant.id, promoAllowance: await allowanceOf(database, key) };
}

/** @returns the id of the merged account */
async function prepareMerge(database: Database): Promise<string> {
  const [{ id: sourceId }, { id: targetId }] = [await createAccount(database), await createAccount(database)];
  await topUp(database, { accountId: sourceId, amount: 5n, reference: 'merged' });
  const services = { database, money: { secondApprovalAbove: null } };
  await requestMerge(services, { id: newId('accountMerge'), sourceId, targetId, author: 'ada', reason: 'a test' });
  await moveMergedMoney(database, 1);
  return sourceId;
}

/** A batch of two gift codes, of which an account redeemed one. */
async function prepareGift(database: Database): Promise<Pick<Given, 'giftBatch' | 'gift' | 'giftAccount'>> {
  const { id: giftAccount } = await createAccount(database);
  const issued = await issueGiftBatch(
    { database, money: { secondApprovalAbove: null } },
    newGiftBatch({ amount: 10n ** 12n, codes: 2 }),
  );
  const redeemer = { accountId: giftAccount, email: null, ip: '127.0.0.1' };
  const { id } = await redeemGiftCode(database, issued.giftCodes[0] ?? '', redeemer);
  return { giftBatch: issued.id, gift: id, giftAccount };
}

async function prepareRegistered(database: Database): Promise<string> {
  const { id: accountId } = await createAccount(database);
  const credit = { amount: 10n ** 12n, perNetworkPerDay: 1, perDay: 1, afterFirstPayment: false };
  const person = { accountId, normalAddressDigest: digestToken('ada@example.com'), network: '192.0.2.0/24' };
  await database.transaction((transaction) =>
    recordSignupCredit(transaction, { ...person, isDisposable: false }, credit),
  );
  return accountId;
}

/** An end user with a budget, with the charge of one request and the hold of another. */
async function prepareBudget(
  database: Database,
  url: string,
): Promise<Pick<Given, 'budget' | 'ofEndUser' | 'taskBudget' | 'groupBudget'>> {
  const key = await createKey(database, await createAccount(database, { fundedUsd: 10 }));
  const setBudget = (endUser: string, usageLimit: bigint) =>
    setEndUserBudget(database, { accountId: key.accountId, endUser, usageLimit, limitPeriod: 'month' });
  const [budget, taskBudget] = [await setBudget('erin', 10n ** 10n), await setBudget('fred', parseUsd(2))];
  const groupBudget = await setAccountBudget(database, {
    accountId: key.accountId,
    models: ['vidone*'],
    isCeiling: false,
    usageLimit: parseUsd(3),
    limitPeriod: 'month',
  });
  if (!budget || !taskBudget || !groupBudget) throw new Error('the account has few budgets');
  await createTaskRow(database, key, { endUser: 'fred' });
  const { id } = await createTaskRow(database, key, { endUser: 'fred' });
  await finishTask(database, id, { status: 'succeeded', output: [] }, newEvent('task.succeeded'));
  const ledger = openTextLedger(url, { poolSize: 1 });
  const [charged, open] = [1, 2].map(() => newHold(key, { amount: 10n ** 9n, endUser: 'erin', budgets: [budget] }));
  if (!charged || !open) throw new Error('there are two');
  await ledger.hold([charged, open]);
  await ledger.settle([settlementOf(charged, { charge: priceOf(charged, 20) })]);
  await ledger.close();
  return { budget: budget.id, ofEndUser: charged.id, taskBudget: taskBudget.id, groupBudget: groupBudget.id };
}

async function allowanceOf(database: Database, { id }: TestKey): Promise<string> {
  const [allowance] = await database('text_allowances').where({ api_key_id: id }).pluck<string[]>('id');
  return allowance ?? '';
}

/** The price by the catalogue, for 10 tokens of input. */
function priceOf(hold: NewTextHold, outputTotal: number): bigint {
  const pricing = CATALOGUE.textModels.get(hold.model)?.pricing;
  if (!pricing) throw new Error(`there is no model ${hold.model}`);
  const usage = { inputTotal: 10, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, outputTotal };
  return priceText(pricing, usage, hold.createdAt.getTime()).charge;
}

/** Text requests of every outcome, charged by the catalogue. */
async function prepareText(
  database: Database,
  url: string,
  key: TestKey,
): Promise<Pick<Given, 'poorAccount' | 'charged' | 'overrun' | 'allowance'>> {
  const models = CATALOGUE.textModels;
  await recordRateCards(
    database,
    [...models.values()].map(({ id, family, pricing }) => ({
      version: CATALOGUE_VERSION,
      model: id,
      kind: 'text' as const,
      family,
      pricing,
    })),
  );
  const poor = await createKey(database, await createAccount(database, { fundedUsd: 0.00001 }));
  const ledger = openTextLedger(url, { poolSize: 1 });
  const charged = newHold(key, { amount: 10n ** 9n });
  const failed = newHold(key, { amount: 10n ** 9n });
  const free = newFreeHold(key);
  const open = newHold(key, { amount: 10n ** 9n });
  const overrun = newHold(poor, { amount: 9_999_000n });
  await ledger.hold([charged, failed, free, open, overrun]);
  await ledger.settle([
    settlementOf(charged, { charge: priceOf(charged, 20) }),
    settlementOf(free, { charge: 0n }),
    settlementOf(overrun, { charge: priceOf(overrun, 2_000), tokens: { outputTokens: 2_000 } }),
    failureOf(failed),
  ]);
  await ledger.close();
  return {
    poorAccount: poor.accountId,
    charged: charged.id,
    overrun: overrun.id,
    allowance: await allowanceOf(database, key),
  };
}
