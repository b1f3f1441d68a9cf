import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import { suspendAccount } from '../../../db/queries/accounts.ts';
import { deleteApiKey, findApiKey, type KeySettings, updateApiKey } from '../../../db/queries/api-keys.ts';
import { listAccountBudgets, setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { deleteEndUserBudget, listEndUserBudgets, setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { claimIdempotencyKey } from '../../../db/queries/idempotency.ts';
import { type CreateOutcome, createTasks, type NewTask } from '../../../db/queries/tasks.ts';
import { findTransfer } from '../../../db/queries/transfers.ts';
import { newId } from '../../../domain/ids.ts';
import { BUDGET_CHECK } from '../../../db/reconciliation/budget-check.ts';
import { parseUsd } from '../../../domain/money.ts';
import { eventually } from '../../support/eventually.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createFundedKey,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newTask,
  reloadAccount,
  reloadTask,
  startNextPeriod,
  type TestKey,
} from '../../support/factories.ts';
import { checkBooks } from '../../support/reconciliation.ts';
import { rejectionOf } from '../../support/rejection.ts';

const USD = parseUsd(1);

describe('createTasks', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  async function create(key: TestKey, settings: Partial<NewTask> = {}): Promise<CreateOutcome | undefined> {
    const [outcome] = await createTasks(database, [newTask(key, settings)]);
    return outcome;
  }

  async function claim(key: TestKey, name: string): Promise<NonNullable<NewTask['idempotency']>> {
    const claimed = await claimIdempotencyKey(database, {
      accountId: key.accountId,
      key: name,
      requestDigest: randomBytes(32),
      leaseSeconds: 60,
    });
    if (claimed.outcome !== 'claimed') throw new Error(`the key is ${claimed.outcome}`);
    return { key: name, claimToken: claimed.claimToken, status: 201, encryptedBody: Buffer.from('encrypted') };
  }

  describe('repeated after a lost answer', () => {
    it('reports the created tasks, whatever would refuse them now, and creates the others', async () => {
      const key = await createFundedKey(database, 2);
      const task = newTask(key, { idempotency: await claim(key, 'lost') });
      const unsent = newTask(key);
      expect(await createTasks(database, [task])).to.deep.equal(['created']);
      expect(await createTasks(database, [task, unsent], { again: true })).to.deep.equal(['created', 'created']);
      expect(await createTasks(database, [task, unsent], { again: true })).to.deep.equal(['created', 'created']);
      const { fundedAvailable, fundedReserved } = await reloadAccount(database, { id: key.accountId });
      expect([fundedAvailable, fundedReserved]).to.deep.equal([0n, parseUsd(2)]);
    });

    it('waits for the first call if it is still in progress', async () => {
      const key = await createFundedKey(database, 1);
      const task = newTask(key);
      const second = await database.transaction(async (first) => {
        await createTasks(first, [task]);
        const again = createTasks(database, [task], { again: true });
        await waitForLock(database);
        return [again];
      });
      expect(await second[0]).to.deep.equal(['created']);
    });

    it('leaves nothing to create for a first call that arrives late', async () => {
      const key = await createFundedKey(database, 2);
      const task = newTask(key);
      await createTasks(database, [task], { again: true });
      const late = await rejectionOf(createTasks(database, [task]));
      expect(late).to.have.property('code', '23505');
      expect((await reloadAccount(database, { id: key.accountId })).fundedReserved).to.equal(parseUsd(1));
    });
  });

  describe('the order of the checks', () => {
    interface Situation {
      readonly outcome: CreateOutcome;
      readonly settings: KeySettings;
      readonly deleted?: true;
      readonly suspended?: true;
      readonly fundedUsd: number;
      readonly task: Partial<NewTask>;
    }

    const past = new Date(Date.now() - 1_000);
    const nothing = { usageLimit: 0n };
    const expired = { ...nothing, expiresAt: past };
    const disabled = { ...expired, disabled: true };
    const tooMany = { maxConcurrentTasks: 0 };
    const lost: Partial<NewTask> = {
      idempotency: {
        key: 'unclaimed',
        claimToken: crypto.randomUUID(),
        status: 201,
        encryptedBody: Buffer.from('encrypted'),
      },
    };

    /** Each case also has the faults of the cases below it. */
    const SITUATIONS: readonly Situation[] = [
      { outcome: 'key_deleted', settings: disabled, deleted: true, fundedUsd: 0, task: { ...tooMany, ...lost } }, // contract 4.1:5 4.1:6
      {
        outcome: 'account_suspended',
        settings: disabled,
        suspended: true,
        fundedUsd: 0,
        task: { ...tooMany, ...lost },
      },
      { outcome: 'key_disabled', settings: disabled, fundedUsd: 0, task: { ...tooMany, ...lost } },
      { outcome: 'key_expired', settings: expired, fundedUsd: 0, task: { ...tooMany, ...lost } },
      { outcome: 'key_exhausted', settings: nothing, fundedUsd: 0, task: { ...tooMany, ...lost } },
      { outcome: 'never_topped_up', settings: { usageLimit: 1n }, fundedUsd: 0, task: { ...tooMany, ...lost } },
      { outcome: 'key_limit', settings: { usageLimit: 1n }, fundedUsd: 0.5, task: { ...tooMany, ...lost } },
      { outcome: 'insufficient_credits', settings: {}, fundedUsd: 0.5, task: { ...tooMany, ...lost } },
      { outcome: 'too_many_tasks', settings: {}, fundedUsd: 1, task: { ...tooMany, ...lost } }, // contract 4.1:5 4.1:6
      { outcome: 'claim_lost', settings: {}, fundedUsd: 1, task: lost },
      { outcome: 'created', settings: {}, fundedUsd: 1, task: {} },
    ];

    for (const { outcome, settings, deleted, suspended, fundedUsd, task } of SITUATIONS) {
      it(`decides ${outcome} before the outcomes of later checks`, async () => {
        const { id } = await createAccount(database, { fundedUsd });
        if (suspended) await suspendAccount(database, id);
        const account = await reloadAccount(database, { id });
        const key = await createKey(database, account, settings);
        if (deleted) await deleteApiKey(database, key.id);
        expect(await create(key, task)).to.equal(outcome);
        if (outcome === 'created') return;
        expect(await reloadAccount(database, account), 'nothing is left behind').to.deep.equal(account);
        expect(await database('tasks').where({ account_id: account.id })).to.deep.equal([]);
      });
    }
  });

  it('writes the requested task, queued, with a reservation of its price', async () => {
    const key = await createFundedKey(database);
    const asked = newTask(key, {
      request: { kind: 'video', prompt: 'Ein Zitat: "\\ 雪 😀 ?"', routes: [{ provider: 'p', model: 'm' }] },
    });
    await createTasks(database, [asked]);
    expect({ ...asked, ...(await reloadTask(database, asked)) }).to.deep.equal({
      ...asked,
      status: 'queued',
      resolutionId: null,
      providerJobId: null,
      output: null,
      failure: null,
      updatedAt: asked.createdAt,
      completedAt: null,
    });
    const reservation = await findTransfer(database, asked.reservationId, asked.createdAt);
    expect(reservation).to.include({ kind: 'reservation', amount: asked.price, taskId: asked.id, apiKeyId: key.id });
    expect(await findApiKey(database, key.id)).to.include({ used: asked.price });
  });

  it('spends signup credit first, and a refund returns each kind of credit', async () => {
    // contract 5:22 5:24
    const account = await createAccount(database, { signupUsd: 5, fundedUsd: 10 });
    const task = await createTaskRow(database, await createKey(database, account), { price: parseUsd(7) });
    expect(await reloadAccount(database, account)).to.include({
      signupAvailable: 0n,
      signupReserved: parseUsd(5),
      fundedAvailable: parseUsd(8),
      fundedReserved: parseUsd(2),
    });
    await finishAsFailed(database, task);
    expect(await reloadAccount(database, account)).to.deep.equal(account);
  });

  it('accepts a price equal to the balance, and none that is one pico-USD higher', async () => {
    const key = await createKey(database, await createAccount(database, { signupUsd: 1, fundedUsd: 1 }));
    expect(await create(key, { price: parseUsd(2) + 1n })).to.equal('insufficient_credits');
    expect(await create(key, { price: parseUsd(2) })).to.equal('created');
  });

  it("counts reserved and charged amounts, but no refunded ones, against the key's limit", async () => {
    const account = await createAccount(database, { fundedUsd: 100 });
    const key = await createKey(database, account, { usageLimit: parseUsd('2.5') });
    const [first, second] = [await createTaskRow(database, key), await createTaskRow(database, key)];
    expect(await create(key)).to.equal('key_limit');
    await finishAsSucceeded(database, first);
    expect(await create(key)).to.equal('key_limit');
    await finishAsFailed(database, second);
    const third = await createTaskRow(database, key, { price: parseUsd('1.5') });
    expect(await create(key, { price: 1n }), 'what is only reserved may come back').to.equal('key_limit');
    await finishAsSucceeded(database, third);
    expect(await create(key, { price: 1n })).to.equal('key_exhausted');
    expect(await create(await createKey(database, account)), 'another key of the account').to.equal('created');
  });

  describe('a limit that renews', () => {
    const budget = { usageLimit: parseUsd(2), limitPeriod: 'day' } as const;

    it('counts reserved and charged amounts of this period, and none before it', async () => {
      const key = await createKey(database, await createAccount(database, { fundedUsd: 100 }), budget);
      await finishAsSucceeded(database, await createTaskRow(database, key, { price: parseUsd(2) }));
      expect(await create(key, { price: 1n })).to.equal('key_exhausted');
      await startNextPeriod(database, key);
      expect(await create(key, { price: parseUsd(2) + 1n })).to.equal('key_limit');
      expect(await create(key, { price: parseUsd(2) })).to.equal('created');
      expect(await create(key, { price: 1n })).to.equal('key_limit');
    });

    it('is not raised by the refund of a task of an earlier period', async () => {
      const key = await createKey(database, await createAccount(database, { fundedUsd: 100 }));
      const earlier = await createTaskRow(database, key, { price: parseUsd(2) });
      await updateApiKey(database, key.id, budget);
      const now = await createTaskRow(database, key, { price: parseUsd(2) });
      await finishAsFailed(database, earlier);
      expect(await create(key, { price: 1n })).to.equal('key_limit');
      await finishAsFailed(database, now);
      expect(await create(key, { price: parseUsd(2) + 1n })).to.equal('key_limit');
      expect(await create(key, { price: parseUsd(2) })).to.equal('created');
    });

    it('gets back the refund of a task of this period, and no more', async () => {
      const key = await createKey(database, await createAccount(database, { fundedUsd: 100 }), budget);
      await finishAsSucceeded(database, await createTaskRow(database, key, { price: parseUsd(2) }));
      await startNextPeriod(database, key);
      await finishAsFailed(database, await createTaskRow(database, key, { price: parseUsd(2) }));
      expect(await create(key, { price: parseUsd(2) + 1n })).to.equal('key_limit');
      expect(await create(key, { price: parseUsd(2) })).to.equal('created');
    });

    it('starts to count when it is set', async () => {
      const key = await createKey(database, await createAccount(database, { fundedUsd: 100 }));
      await createTaskRow(database, key, { price: parseUsd(5) });
      await updateApiKey(database, key.id, budget);
      expect(await create(key, { price: parseUsd(2) })).to.equal('created');
      expect(await create(key, { price: 1n })).to.equal('key_limit');
      await updateApiKey(database, key.id, { limitPeriod: null, usageLimit: parseUsd(8) });
      expect(await create(key, { price: parseUsd(1) }), 'a limit of all time counts everything').to.equal('created');
      expect(await create(key, { price: 1n })).to.equal('key_limit');
    });
  });

  describe('the budget of an end user', () => {
    /** A key of an account whose end user alice has a budget of 2 USD a day, with tasks that name her. */
    async function prepare() {
      const key = await createFundedKey(database);
      const setBudget = async (usd: number): Promise<string> => {
        const budget = {
          accountId: key.accountId,
          endUser: 'alice',
          usageLimit: parseUsd(usd),
          limitPeriod: 'day',
        } as const;
        return (await setEndUserBudget(database, budget))?.id ?? '';
      };
      const id = await setBudget(2);
      const used = async () =>
        (await listEndUserBudgets(database, { ...key, endUser: 'alice', limit: 1 }))[0]?.usedOfLimit;
      const ordered = (usd: number) => createTaskRow(database, key, { endUser: 'alice', price: parseUsd(usd) });
      const startNextDay = () =>
        database('budgets')
          .where({ id })
          .update({ period_since: database.raw(`period_since - interval '40 days'`) });
      return { key, id, setBudget, used, ordered, startNextDay };
    }

    it('pays for tasks that name the end user, and gets the reservations of failed tasks back', async () => {
      // contract 5:21 5:19
      const { key, used, ordered } = await prepare();
      const [succeeding, failing] = [await ordered(1), await ordered(1)];
      expect(await create(key, { endUser: 'alice', price: 1n })).to.equal('end_user_limit');
      await finishAsSucceeded(database, succeeding);
      await finishAsFailed(database, failing);
      expect(await used()).to.equal(parseUsd(1));
      expect(await create(key, { endUser: 'alice', price: parseUsd(1) })).to.equal('created');
      expect(await create(key, { endUser: 'alice', price: 1n })).to.equal('end_user_limit');
    });

    it('limits neither tasks without an end user nor those of others, also in other accounts', async () => {
      const { key, used } = await prepare();
      expect(await create(key, { price: parseUsd(3) })).to.equal('created');
      expect(await create(key, { endUser: 'bob', price: parseUsd(3) })).to.equal('created');
      const other = await createFundedKey(database);
      expect(await create(other, { endUser: 'alice', price: parseUsd(3) })).to.equal('created');
      expect(await used()).to.equal(0n);
    });

    it('with room for one lets exactly one of eight simultaneous tasks pass', async () => {
      // contract 5:21
      const { key } = await prepare();
      const task = { endUser: 'alice', price: parseUsd('1.5') };
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => create(key, task)));
      expect(count(outcomes)).to.deep.equal({ created: 1, end_user_limit: 7 });
      const batch = await createTasks(database, [newTask(key, { endUser: 'alice' }), newTask(key, { endUser: 'bob' })]);
      expect(batch).to.deep.equal(['end_user_limit', 'created']);
    });

    it('counts the running tasks when it is set, and when its period starts', async () => {
      const { key, id, setBudget, used, ordered, startNextDay } = await prepare();
      const running = await ordered(1);
      await finishAsSucceeded(database, await ordered(1));
      await startNextDay();
      expect(await used()).to.equal(parseUsd(1));
      expect(await create(key, { endUser: 'alice', price: parseUsd(1) + 1n })).to.equal('end_user_limit');
      await deleteEndUserBudget(database, { id });
      await setBudget(1);
      expect(await create(key, { endUser: 'alice', price: 1n })).to.equal('end_user_limit');
      await finishAsFailed(database, running);
      expect(await used()).to.equal(0n);
    });

    it('gets back a reservation of an earlier period, and nothing once it is deleted', async () => {
      const { id, used, ordered, startNextDay } = await prepare();
      const [earlier, last] = [await ordered(1), await ordered(1)];
      await startNextDay();
      await finishAsFailed(database, earlier);
      expect(await used()).to.equal(parseUsd(1));
      await deleteEndUserBudget(database, { id });
      await finishAsFailed(database, last);
      expect(await used()).to.equal(undefined);
    });
  });

  describe('the budgets of an account', () => {
    /** A key of an account with 3 USD a day, of them 2 USD for videos. */
    async function prepare() {
      const key = await createFundedKey(database);
      const budget = { accountId: key.accountId, isCeiling: false, limitPeriod: 'day' } as const;
      await setAccountBudget(database, { ...budget, models: null, usageLimit: parseUsd(3) });
      await setAccountBudget(database, { ...budget, models: ['vid*', 'imagea-1.0'], usageLimit: parseUsd(2) });
      const used = async () =>
        (await listAccountBudgets(database, { ...key, limit: 2 })).map(({ usedOfLimit }) => Number(usedOfLimit / USD));
      const ordered = (model: string) => createTaskRow(database, key, { model, price: USD });
      return { key, budget, used, ordered };
    }

    it('pay for the tasks of their models, whoever sends them, and get the reservations of failed tasks back', async () => {
      // contract 5:29
      const { key, used, ordered } = await prepare();
      const [succeeding, failing] = [await ordered('vidone-3.0'), await ordered('imagea-1.0')];
      expect(await create(key, { model: 'vidone-3.0', price: 1n, endUser: 'alice' })).to.equal('budget_limit');
      expect(await create(key, { model: 'imageb-1.0', price: USD + 1n })).to.equal('budget_limit');
      await finishAsSucceeded(database, succeeding);
      await finishAsFailed(database, failing);
      expect(await used()).to.deep.equal([1, 1]);
      expect(await create(key, { model: 'imageb-1.0', price: 2n * USD })).to.equal('created');
      expect(await used()).to.deep.equal([1, 3]);
      expect((await checkBooks(database, [BUDGET_CHECK])).findings).to.deep.equal([]);
    });

    it('let exactly the tasks pass for which they have room, of eight simultaneous ones', async () => {
      // contract 5:29
      const { key } = await prepare();
      const outcomes = await Promise.all(
        ['vidone-3.0', 'vidtwo', 'imagea-1.0', 'imageb-1.0', 'vidone-3.0', 'vidtwo', 'imagea-1.0', 'vidone-3.0'].map(
          (model) => create(key, { model, price: USD }),
        ),
      );
      expect(count(outcomes)).to.deep.equal({ created: 3, budget_limit: 5 });
    });

    it('count the running tasks when they are set, and in a new period', async () => {
      const { key, budget, used, ordered } = await prepare();
      const running = await ordered('vidone-3.0');
      await finishAsSucceeded(database, await ordered('vidone-3.0'));
      await database('budgets')
        .where({ account_id: key.accountId })
        .update({ period_since: database.raw(`period_since - interval '40 days'`) });
      expect(await used()).to.deep.equal([1, 1]);
      await setAccountBudget(database, { ...budget, models: ['vidone-3.0'], usageLimit: USD });
      expect(await create(key, { model: 'vidone-3.0', price: 1n })).to.equal('budget_limit');
      await finishAsFailed(database, running);
      expect(await create(key, { model: 'vidone-3.0', price: USD })).to.equal('created');
    });
  });

  it('permits as many running tasks as the account allows, or the call if the account sets no limit', async () => {
    // contract 8.1:4
    const account = await createAccount(database, { fundedUsd: 100 });
    const key = await createKey(database, account);
    const running = await createTaskRow(database, key, { maxConcurrentTasks: 1 });
    expect(await create(key, { maxConcurrentTasks: 1 })).to.equal('too_many_tasks');
    await database('accounts').where({ id: account.id }).update({ max_concurrent_tasks: 2 });
    expect(await create(key, { maxConcurrentTasks: 1 })).to.equal('created');
    expect(await create(key, { maxConcurrentTasks: 1 })).to.equal('too_many_tasks');
    await finishAsSucceeded(database, running);
    expect(await create(key, { maxConcurrentTasks: 1 })).to.equal('created');
  });

  it('refuses a key of another account', async () => {
    const [key, stranger] = [await createFundedKey(database), await createFundedKey(database)];
    await rejectionOf(createTasks(database, [newTask(key, { apiKeyId: stranger.id })]));
    expect(await findApiKey(database, stranger.id)).to.include({ used: 0n });
  });

  it('completes the idempotency key with the task, valid for 24 hours', async () => {
    const key = await createFundedKey(database);
    const idempotency = await claim(key, 'once');
    expect(await create(key, { idempotency })).to.equal('created');
    const row = await database('idempotency_keys')
      .where({ account_id: key.accountId, key: 'once' })
      .first(
        'status',
        'encrypted_body',
        database.raw('extract(epoch FROM expires_at - completed_at)::integer AS validity_seconds'),
      );
    expect(row.status).to.equal(201);
    expect(row.encrypted_body).to.deep.equal(Buffer.from('encrypted'));
    expect(row.validity_seconds).to.equal(24 * 60 * 60);
  });

  describe('as a batch', () => {
    it('answers in the order of the tasks, whatever the order of accounts and keys', async () => {
      const keys = [
        await createFundedKey(database),
        await createFundedKey(database, 0.5),
        await createFundedKey(database),
      ];
      const tasks = [...keys, ...keys.toReversed()].map((key) => newTask(key));
      expect(await createTasks(database, tasks)).to.deep.equal([
        'created',
        'insufficient_credits',
        'created',
        'created',
        'insufficient_credits',
        'created',
      ]);
    });

    it('lets each task see the ones before it', async () => {
      const key = await createFundedKey(database, 2);
      const outcomes = await createTasks(database, [newTask(key), newTask(key), newTask(key)]);
      expect(outcomes.toSorted()).to.deep.equal(['created', 'created', 'insufficient_credits']);
    });

    it('creates nothing when one of the tasks is invalid', async () => {
      const key = await createFundedKey(database);
      await rejectionOf(createTasks(database, [newTask(key), newTask(key, { accountId: newId('account') })]));
      expect(await reloadAccount(database, { id: key.accountId })).to.include({ fundedReserved: 0n });
    });

    it('creates nothing twice when it is sent again', async () => {
      const key = await createFundedKey(database);
      const batch = [newTask(key), newTask(key)];
      await createTasks(database, batch);
      await rejectionOf(createTasks(database, batch));
      expect(await reloadAccount(database, { id: key.accountId })).to.include({ fundedReserved: parseUsd(2) });
    });
  });

  describe('at the same time', () => {
    it('creates 10 of 100 tasks on a balance for 10', async () => {
      const key = await createFundedKey(database, 10);
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => create(key)));
      expect(count(outcomes)).to.deep.equal({ created: 10, insufficient_credits: 90 });
      expect(await reloadAccount(database, { id: key.accountId })).to.include({
        fundedAvailable: 0n,
        fundedReserved: parseUsd(10),
      });
    });

    it('creates one of 50 tasks with one idempotency claim', async () => {
      const key = await createFundedKey(database);
      const idempotency = await claim(key, 'shared');
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => create(key, { idempotency })));
      expect(count(outcomes)).to.deep.equal({ created: 1, claim_lost: 49 });
      expect(await reloadAccount(database, { id: key.accountId })).to.include({ fundedReserved: parseUsd(1) });
    });

    it("enforces the key's limit and the number of tasks", async () => {
      const account = await createAccount(database, { fundedUsd: 100 });
      const limited = await createKey(database, account, { usageLimit: parseUsd(3) });
      const byLimit = await Promise.all(Array.from({ length: 10 }, () => create(limited)));
      expect(count(byLimit)).to.deep.equal({ created: 3, key_limit: 7 });
      const key = await createKey(database, account);
      const byNumber = await Promise.all(Array.from({ length: 10 }, () => create(key, { maxConcurrentTasks: 5 })));
      expect(count(byNumber)).to.deep.equal({ created: 2, too_many_tasks: 8 });
    });

    it('lets batches over the same accounts run without a deadlock, whatever their order of accounts', async () => {
      const keys = await Promise.all(Array.from({ length: 5 }, () => createFundedKey(database)));
      const orders = [keys, keys.toReversed(), [...keys.slice(2), ...keys.slice(0, 2)]];
      const batches = Array.from({ length: 24 }, (_, index) => orders[index % orders.length] ?? keys);
      const outcomes = await Promise.all(
        batches.map((batch) =>
          createTasks(
            database,
            batch.map((key) => newTask(key)),
          ),
        ),
      );
      expect(count(outcomes.flat())).to.deep.equal({ created: 24 * 5 });
    });
  });
});

function count(outcomes: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1;
  return counts;
}

async function waitForLock(database: Database): Promise<void> {
  await eventually(async () => {
    const { rows } = await database.raw<{ rows: unknown[] }>(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  });
}
