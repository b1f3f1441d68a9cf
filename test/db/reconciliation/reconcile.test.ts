/** Each kind of damage is done here, with the rules of the database switched off, and must be found and named. */
import { expect } from 'chai';
import { loadCatalogue } from '../../../catalogue/load.ts';
import type { Database } from '../../../db/database.ts';
import { recordRateCards } from '../../../db/queries/rate-cards.ts';
import type { Finding, WorkflowLookup } from '../../../db/reconciliation/check.ts';
import { CHECKS, reconcile, runChecks } from '../../../db/reconciliation/reconcile.ts';
import type { NewTextHold } from '../../../db/text-ledger.ts';
import { priceText } from '../../../domain/pricing.ts';
import type { Task } from '../../../domain/task.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
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

interface Given {
  readonly key: TestKey;
  readonly topUpId: string;
  readonly processing: Task;
  readonly succeeded: Task;
  readonly failed: Task;
  readonly charged: NewTextHold;
  readonly overrun: NewTextHold;
  readonly open: NewTextHold;
}

describe('reconciliation', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let given: Given;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    given = await prepare(testDatabase);
  });

  after(() => testDatabase.drop());

  /** What is found after some damage, all of which is undone again. */
  async function findAfter(
    damage: (transaction: Database) => PromiseLike<unknown>,
    workflows: WorkflowLookup = openFor(given.processing),
  ): Promise<readonly Finding[]> {
    const transaction = await database.transaction();
    try {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await damage(transaction);
      const { findings } = await runChecks(CHECKS, { snapshot: transaction, database: transaction, workflows });
      return findings;
    } finally {
      await transaction.rollback();
    }
  }

  it('finds nothing where nothing is wrong', async () => {
    const { findings, checks } = await reconcile(database, openFor(given.processing));
    expect(findings).to.deep.equal([]);
    expect(checks.map(({ check }) => check)).to.deep.equal(CHECKS.map(({ name }) => name));
  });

  /** The check that must find the damage, and the row that it must name. */
  function finds(
    what: string,
    check: string,
    subject: () => string,
    damage: (transaction: Database) => PromiseLike<unknown>,
    workflows?: () => WorkflowLookup,
  ): void {
    it(`finds ${what}`, async () => {
      const findings = await findAfter(damage, workflows?.());
      const found = findings.filter((finding) => finding.check === check && finding.subject === subject());
      expect(found, JSON.stringify(findings, null, 2)).to.have.length(1);
      expect(found[0]?.detail).to.not.equal('');
      expect(found[0]?.remedy).to.not.equal('');
    });
  }

  finds(
    'a balance that was changed by hand',
    'account_balances',
    () => given.key.accountId,
    (transaction) => transaction('accounts').where('id', given.key.accountId).increment('funded_available', 1),
  );
  finds(
    'a transfer that was removed',
    'account_balances',
    () => given.key.accountId,
    (transaction) => transaction('transfers').where({ account_id: given.key.accountId, kind: 'topup' }).delete(),
  );
  finds(
    'a key that has used more or less than its transfers',
    'key_usage',
    () => given.key.id,
    (transaction) => transaction('api_keys').where('id', given.key.id).decrement('used', 1),
  );
  finds(
    'a top-up whose reference is missing',
    'top_ups',
    () => given.topUpId,
    (transaction) => transaction('top_ups').where('transfer_id', given.topUpId).delete(),
  );
  finds(
    'a final task without a resolution',
    'task_resolutions',
    () => given.succeeded.id,
    (transaction) => resolutionOf(transaction, given.succeeded).delete(),
  );
  finds(
    'a failed task that was charged',
    'task_resolutions',
    () => given.failed.id,
    (transaction) => resolutionOf(transaction, given.failed).update({ kind: 'settlement', credit: 'revenue' }),
  );
  finds(
    'a task that is resolved while it runs',
    'task_resolutions',
    () => given.processing.id,
    (transaction) =>
      resolutionOf(transaction, given.failed).update({
        task_id: given.processing.id,
        opened_at: given.processing.createdAt,
        pending_id: given.processing.reservationId,
      }),
  );
  finds(
    'a refund of another amount than what was reserved',
    'task_amounts',
    () => given.failed.id,
    (transaction) => resolutionOf(transaction, given.failed).increment('amount', 1),
  );
  finds(
    'a reservation that is not the price',
    'task_amounts',
    () => given.processing.id,
    (transaction) => transaction('transfers').where('id', given.processing.reservationId).increment('amount', 1),
  );
  finds(
    'a resolution that does not fit its reservation',
    'resolutions',
    () => given.failed.resolutionId ?? '',
    (transaction) => resolutionOf(transaction, given.failed).increment('amount', 1),
  );
  finds(
    'a task that runs past its deadline',
    'overdue_tasks',
    () => given.processing.id,
    (transaction) =>
      transaction('tasks')
        .where('id', given.processing.id)
        .update({ deadline_at: new Date(0) }),
  );
  finds(
    'a text request that costs what its tokens do not',
    'text_prices',
    () => given.charged.id,
    (transaction) => transaction('text_requests').where('id', given.charged.id).increment('output_tokens', 1),
  );
  finds(
    'a text request whose prices are not known any more',
    'text_prices',
    () => given.charged.id,
    (transaction) => transaction('text_requests').where('id', given.charged.id).update({ catalogue_version: 'lost' }),
  );
  finds(
    'a text request that was charged otherwise than its usage says',
    'text_charges',
    () => given.charged.id,
    (transaction) => transaction('text_requests').where('id', given.charged.id).decrement('charge', 1),
  );
  finds(
    'a text request of which nothing was absorbed although its usage says so',
    'text_charges',
    () => given.overrun.id,
    (transaction) =>
      transaction('transfers').where({ kind: 'absorbed_loss', text_request_id: given.overrun.id }).delete(),
  );
  finds(
    'a text request that was paid for and has no usage',
    'text_usage',
    () => given.charged.id,
    (transaction) => transaction('text_requests').where('id', given.charged.id).delete(),
  );
  finds(
    'a reservation of a text request that nobody waits for',
    'text_holds',
    () => given.open.reservationId,
    (transaction) => transaction('text_holds').where('id', given.open.id).delete(),
  );
  finds(
    'a text request that nobody ends',
    'overdue_text',
    () => given.open.id,
    (transaction) =>
      transaction('text_holds')
        .where('id', given.open.id)
        .update({ opened_at: new Date(0) }),
  );
  finds(
    'a task whose workflow is gone',
    'workflows',
    () => given.processing.id,
    () => Promise.resolve(),
    () => openFor(),
  );
  finds(
    'a workflow that goes on although its task is final',
    'workflows',
    () => given.succeeded.id,
    (transaction) =>
      transaction('tasks')
        .where('id', given.succeeded.id)
        .update({ completed_at: new Date(0) }),
    () => openFor(given.processing, given.succeeded),
  );

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
      { snapshot: database, database, workflows: openFor() },
    );
    expect(checks[0]?.findings).to.equal(120);
    expect(findings).to.have.length(100);
  });
});

/** The settlement or refund of a task. */
function resolutionOf(transaction: Database, { id }: Task) {
  return transaction('transfers').where('task_id', id).whereNotNull('pending_id');
}

/** Temporal, where exactly these tasks have an open workflow. */
function openFor(...tasks: readonly Task[]): WorkflowLookup {
  const ids = tasks.map(({ id }) => id);
  return {
    async *listOpenTaskIds() {
      yield* ids;
    },
    isOpen: async (taskId) => ids.includes(taskId),
  };
}

async function prepare({ database, url }: TestDatabase): Promise<Given> {
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
    key,
    topUpId: topUp?.transfer_id ?? '',
    processing: await reloadTask(database, processing),
    succeeded: await reloadTask(database, succeeded),
    failed: await reloadTask(database, failed),
    ...(await prepareText(database, url, key)),
  };
}

/** Text requests of every outcome, charged as the catalogue says. */
async function prepareText(
  database: Database,
  url: string,
  key: TestKey,
): Promise<Pick<Given, 'charged' | 'overrun' | 'open'>> {
  const models = loadCatalogue().textModels;
  await recordRateCards(
    database,
    [...models.values()].map(({ id, pricing }) => ({ version: CATALOGUE_VERSION, model: id, pricing })),
  );
  const priceOf = (hold: NewTextHold, outputTotal: number): bigint => {
    const pricing = models.get(hold.model)?.pricing;
    if (!pricing) throw new Error(`there is no model ${hold.model}`);
    const usage = { inputTotal: 10, cacheRead: 0, cacheWrite: 0, outputTotal };
    return priceText(pricing, usage, hold.createdAt.getTime()).charge;
  };
  const poor = await createKey(database, await createAccount(database, { fundedUsd: 0.00001 }));
  const ledger = openTextLedger(url, { poolSize: 1 });
  const charged = newHold(key, { amount: 10n ** 9n });
  const failed = newHold(key, { amount: 10n ** 9n });
  const abandoned = newHold(key, { amount: 10n ** 9n });
  const free = newFreeHold(key);
  const open = newHold(key, { amount: 10n ** 9n });
  const overrun = newHold(poor, { amount: 9_999_000n });
  await ledger.hold([charged, failed, abandoned, free, open, overrun]);
  const abandonment = settlementOf(abandoned, { outcome: 'abandoned', charge: 0n });
  const late = settlementOf(abandoned, { charge: priceOf(abandoned, 20) });
  await ledger.settle([
    settlementOf(charged, { charge: priceOf(charged, 20) }),
    settlementOf(free, { charge: 0n }),
    settlementOf(overrun, { charge: priceOf(overrun, 2_000), outputTokens: 2_000 }),
    failureOf(failed),
    abandonment,
  ]);
  await ledger.settleWithoutHold(late);
  await ledger.close();
  return { charged, overrun, open };
}
