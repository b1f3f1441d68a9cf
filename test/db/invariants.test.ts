/**
 * What must stay true whatever the code does: each rule of the schema is broken here with plain statements, and refuses.
 * The last test counts: no constraint and no trigger is left out.
 */
import { expect } from 'chai';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { Account } from '../../db/queries/accounts.ts';
import { deleteApiKey } from '../../db/queries/api-keys.ts';
import { recordOperatorAction } from '../../db/queries/operator-actions.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import type { Task } from '../../domain/task.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  createAccount,
  createEndpoint,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadAccount,
  type TestKey,
} from '../support/factories.ts';
import { readRules, type Rules } from './refusals.ts';

type Row = Readonly<Record<string, unknown>>;

/** What stands in the database while the rules are tried; nothing of it changes. */
interface Given {
  readonly account: Account;
  readonly other: Account;
  readonly key: TestKey;
  readonly otherKey: TestKey;
  readonly deletedKey: TestKey;
  readonly queued: Task;
  readonly processing: Task;
  readonly succeeded: Task;
  readonly failed: Task;
  /** Reservations, as the ledger has them: of the queued task, of a text request, and one that the settlement resolved. */
  readonly reservation: Row;
  readonly hold: Row;
  readonly settledHold: Row;
  readonly settlement: Row;
  readonly endpoint: Row;
  /** Made after the events. */
  readonly lateEndpoint: Row;
  readonly event: Row;
  readonly delivery: Row;
  /** By which the queued task was cancelled, as far as the log knows. */
  readonly action: Row;
}

/** Rules that nothing can reach, because the one named refuses before, and those that refuse nothing. */
const SHADOWED: Readonly<Record<string, string>> = {
  tasks_account_id_fkey: 'transfers_move_balances',
  tasks_api_key_id_fkey: 'transfers_move_balances',
  tasks_price_check: 'transfers_amount_check',
  accounts_low_no_more: 'refuses nothing: it notes that a balance is no longer low',
  submissions_claim_jobs: 'vendor_jobs_of_one_task refuses what it does',
  tasks_ended_late: 'refuses nothing: it marks a day whose usage is to be summed again',
  text_requests_changed_late: 'refuses nothing: it marks a day whose usage is to be summed again',
  text_requests_recorded_late: 'refuses nothing: it marks a day whose usage is to be summed again',
  transfers_dated_late: 'refuses nothing: it adds the transfer to a sum',
};

describe('the rules of the database', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let rules: Rules;
  let given: Given;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    rules = await readRules(database);
    given = await prepare(database);
  });

  after(() => testDatabase.drop());

  /** Each attempt must be refused, and by that rule. */
  function refuses(what: string, rule: string, ...attempts: ((given: Given) => PromiseLike<unknown>)[]): void {
    it(`refuse ${what}`, async () => {
      for (const attempt of attempts) expect(await rules.refusing(attempt(given)), String(attempt)).to.equal(rule);
    });
  }

  const insert = (table: string, row: Row): PromiseLike<unknown> => database(table).insert(row);
  const update = (table: string, { id }: Pick<Row, 'id'>, changes: Row): PromiseLike<unknown> =>
    database(table).where({ id }).update(changes);
  const statement = (sql: string, bindings: readonly string[] = []): PromiseLike<unknown> =>
    database.raw(sql, [...bindings]);

  const insertAccount = (changes: Row): PromiseLike<unknown> =>
    insert('accounts', { id: newId('account'), name: 'A', ...changes });

  const insertKey = (changes: Row): PromiseLike<unknown> =>
    insert('api_keys', {
      id: newId('apiKey'),
      account_id: given.account.id,
      digest: randomBytes(32),
      hint: 'test',
      ...changes,
    });

  const insertTextRequest = (changes: Row): PromiseLike<unknown> =>
    insert('text_requests', textRequestOf(given.key, changes));
  /** What happens to a row that is there; nothing of it stays. */
  const afterInserting = (
    changes: Row,
    attempt: (transaction: Database, row: Row) => PromiseLike<unknown>,
  ): PromiseLike<unknown> =>
    database.transaction(async (transaction) => {
      const row = textRequestOf(given.key, changes);
      await transaction('text_requests').insert(row);
      await attempt(transaction, row);
    });

  const insertReconciliation = (changes: Row): PromiseLike<unknown> =>
    insert('reconciliations', { id: newId('reconciliation'), requested_by: 'operator', ...changes });

  const insertAdjustment = (changes: Row): PromiseLike<unknown> =>
    insert('transfers', adjustmentOf(given.account, changes));

  const resolve = (reservation: Row, changes: Row = {}): PromiseLike<unknown> =>
    insert('transfers', resolutionOf(reservation, changes));

  /** A top-up with its transfer, as one transaction. */
  const insertTopUp = ({
    row = {},
    transfer = {},
  }: {
    row?: Row | null;
    transfer?: Row | null;
  }): PromiseLike<unknown> =>
    database.transaction(async (transaction) => {
      const topUpRow = {
        account_id: given.account.id,
        reference: newId('request'),
        amount: 1_000,
        transfer_id: newId('transfer'),
        created_at: new Date(),
        ...row,
      };
      if (row) await transaction('top_ups').insert(topUpRow);
      if (!transfer) return;
      const { account_id, amount, reference, created_at } = topUpRow;
      await transaction('transfers').insert({
        ...adjustmentOf(given.account, { kind: 'topup', debit: 'payments', author: null, reason: null }),
        id: topUpRow.transfer_id,
        account_id,
        amount,
        reference,
        created_at,
        opened_at: created_at,
        ...transfer,
      });
    });

  /** A task with its reservation, as one transaction. */
  const insertTask = (changes: Row = {}, reserved: Row = {}): PromiseLike<unknown> =>
    database.transaction(async (transaction) => {
      const row = await newTaskRow(transaction, given.queued, changes);
      const { id: task_id, created_at } = row;
      await transaction('transfers').insert(
        reservationOf(given.key, {
          id: row['reservation_id'],
          amount: row['price'],
          signup_amount: 0,
          opened_at: created_at,
          created_at,
          task_id,
          text_request_id: null,
          ...reserved,
        }),
      );
      await transaction('tasks').insert(row);
    });

  /** Resolves the reservation of a task and ends it, as one transaction. */
  function finish({ id }: Task, resolution: Row, ending: Row): PromiseLike<unknown> {
    return database.transaction(async (transaction) => {
      const resolutionRow = resolutionOf(given.reservation, resolution);
      await transaction('transfers').insert(resolutionRow);
      await transaction('tasks')
        .where({ id })
        .update({ completed_at: new Date(), resolution_id: resolutionRow['id'], ...ending });
    });
  }

  /** The row alone, of a payment that was announced. */
  const paymentOf = ({ id: account_id }: Pick<Account, 'id'>): Row => ({
    account_id,
    reference: 'payment:pi_1',
    amount: 1_000,
    transfer_id: newId('transfer'),
    created_at: new Date(),
  });

  const insertClaim = (changes: Row): PromiseLike<unknown> =>
    insert('idempotency_keys', {
      account_id: given.account.id,
      key: newId('request'),
      request_digest: randomBytes(32),
      claim_token: crypto.randomUUID(),
      lease_until: new Date(),
      ...changes,
    });

  const insertEndpoint = (changes: Row): PromiseLike<unknown> =>
    insert('webhook_endpoints', { ...given.endpoint, id: newId('webhookEndpoint'), ...changes });

  const insertEvent = (changes: Row): PromiseLike<unknown> =>
    insert('events', { ...given.event, id: newId('event'), type: 'endpoint.test', task_id: null, ...changes });

  const insertDelivery = (changes: Row): PromiseLike<unknown> =>
    insert('deliveries', { ...given.delivery, id: newId('delivery'), ...changes });

  const insertAction = (changes: Row): PromiseLike<unknown> =>
    insert('operator_actions', { ...given.action, id: newId('operatorAction'), kind: 'redeliver', ...changes });

  const insertAttempt = (changes: Row): PromiseLike<unknown> =>
    insert('delivery_attempts', {
      delivery_id: given.delivery['id'],
      number: 1,
      started_at: new Date(),
      latency_ms: 5,
      status: 200,
      ...changes,
    });

  describe('accounts', () => {
    refuses('an id of another form', 'accounts_id_check', () => insertAccount({ id: 'acc_1' }));
    refuses('an id twice', 'accounts_pkey', ({ account: { id } }) => insertAccount({ id }));
    refuses(
      'no name, and one that is too long',
      'accounts_name_check',
      () => insertAccount({ name: '' }),
      () => insertAccount({ name: 'a'.repeat(201) }),
    );
    refuses(
      'an e-mail address that cannot be one',
      'accounts_email_check',
      () => insertAccount({ email: 'a@' }),
      () => insertAccount({ email: 'a'.repeat(321) }),
    );
    refuses(
      'an external id that is empty or too long',
      'accounts_external_id_check',
      () => insertAccount({ external_id: '' }),
      () => insertAccount({ external_id: 'a'.repeat(201) }),
    );
    refuses('an external id twice', 'accounts_one_per_external_id', ({ account }) =>
      database.transaction(async (transaction) => {
        await transaction('accounts').where({ id: account.id }).update({ external_id: 'crm-1' });
        await transaction('accounts').insert({ id: newId('account'), name: 'A', external_id: 'crm-1' });
      }),
    );
    refuses('a limit of no tasks', 'accounts_max_concurrent_tasks_check', () =>
      insertAccount({ max_concurrent_tasks: 0 }),
    );

    const balances = ['signup_available', 'signup_reserved', 'funded_available', 'funded_reserved'];
    refuses(
      'an account that begins with money',
      'accounts_start_empty',
      ...balances.map((column) => () => insertAccount({ [column]: 1 })),
    );
    refuses('an account that begins as topped up', 'accounts_start_empty', () =>
      insertAccount({ topped_up_at: new Date() }),
    );
    refuses(
      'a balance written by hand',
      'accounts_balances',
      ...balances.map((column) => (given: Given) => update('accounts', given.account, { [column]: 5 })),
    );
    refuses(
      'a first top-up written or erased by hand',
      'accounts_balances',
      ({ account }) => update('accounts', account, { topped_up_at: null }),
      ({ other }) => update('accounts', other, { topped_up_at: new Date() }),
    );
    refuses(
      'another id or age',
      'accounts_keep_identity',
      ({ other }) => update('accounts', other, { id: newId('account') }),
      ({ other }) => update('accounts', other, { created_at: new Date(0) }),
    );
    refuses('removal, because the ledger speaks of it', 'accounts_are_kept', ({ other }) =>
      database('accounts').where({ id: other.id }).delete(),
    );
    refuses('removal of all', 'accounts_not_truncated', () => statement('TRUNCATE accounts CASCADE'));
  });

  describe('money', () => {
    refuses(
      'a balance below zero',
      'pico_usd_check',
      ({ other, otherKey }) => insert('transfers', reservationOf(otherKey, { amount: 1, account_id: other.id })),
      ({ account }) => insert('transfers', adjustmentOf(account, { amount: 10n ** 15n, ...TAKEN })),
    );
    refuses('signup credit spent that the account does not have, though it has funds', 'pico_usd_check', ({ key }) =>
      insert('transfers', reservationOf(key, { amount: 1, signup_amount: 1 })),
    );
    refuses(
      'an amount that is no number: it would be above every price',
      'pico_usd_check',
      ({ account }) => insert('transfers', adjustmentOf(account, { amount: 'NaN' })),
      ({ key }) => update('api_keys', key, { usage_limit: 'NaN' }),
    );
    refuses('a negative amount', 'pico_usd_check', ({ account }) =>
      insert('transfers', adjustmentOf(account, { amount: -1 })),
    );
    refuses('an amount of nothing', 'transfers_amount_check', ({ account }) =>
      insert('transfers', adjustmentOf(account, { amount: 0 })),
    );
    refuses(
      'an amount, or a balance, of more than 38 digits',
      '22003',
      ({ account }) => insert('transfers', adjustmentOf(account, { amount: `1${'0'.repeat(38)}` })),
      ({ account }) => insert('transfers', adjustmentOf(account, { amount: '9'.repeat(38) })),
    );
  });

  describe('API keys', () => {
    refuses('an id of another form', 'api_keys_id_check', () => insertKey({ id: newId('account') }));
    refuses('an id twice', 'api_keys_pkey', ({ key: { id } }) => insertKey({ id }));
    refuses('a key of no account', 'api_keys_account_id_fkey', () => insertKey({ account_id: newId('account') }));
    refuses('a name that is too long', 'api_keys_name_check', () => insertKey({ name: 'k'.repeat(201) }));
    refuses('a digest of another length', 'api_keys_digest_check', () => insertKey({ digest: randomBytes(31) }));
    refuses('a digest twice', 'api_keys_digest_key', ({ key: { digest } }) => insertKey({ digest }));
    refuses('a rate of no requests', 'api_keys_rate_limit_rpm_check', () => insertKey({ rate_limit_rpm: 0 }));
    refuses('a negative usage limit', 'pico_usd_check', () => insertKey({ usage_limit: -1 }));
    refuses('a key that begins as used', 'api_keys_start_unused', () => insertKey({ used: 1 }));
    refuses('a key that begins with a reservation', 'api_keys_start_unused', () => insertKey({ reserved: 1 }));
    refuses('usage written by hand', 'api_keys_usage', ({ key }) => update('api_keys', key, { used: 0 }));
    refuses('reservations of a key written by hand', 'api_keys_usage', ({ key }) =>
      update('api_keys', key, { reserved: 7 }),
    );
    refuses(
      'another account, digest, id or age',
      'api_keys_keep_identity',
      ({ key, other }) => update('api_keys', key, { account_id: other.id }),
      ({ key }) => update('api_keys', key, { digest: randomBytes(32) }),
      ({ otherKey }) => update('api_keys', otherKey, { id: newId('apiKey') }),
      ({ key }) => update('api_keys', key, { created_at: new Date(0) }),
    );
    refuses('the return of a deleted key', 'api_keys_stay_deleted', ({ deletedKey }) =>
      update('api_keys', deletedKey, { deleted_at: null }),
    );
    refuses('removal', 'api_keys_are_kept', ({ otherKey }) => database('api_keys').where({ id: otherKey.id }).delete());
    refuses('removal of all', 'api_keys_not_truncated', () => statement('TRUNCATE api_keys CASCADE'));
  });

  describe('transfers', () => {
    refuses('an id of another form', 'transfers_id_check', () => insertAdjustment({ id: 'tr_1' }));
    refuses('a transfer twice', 'transfers_pkey', ({ reservation: { id, opened_at } }) =>
      insertAdjustment({ id, opened_at, created_at: opened_at }),
    );
    refuses('a transfer of no account', 'transfers_move_balances', () =>
      insertAdjustment({ account_id: newId('account') }),
    );
    refuses(
      "usage of a key that does not exist, or is another account's",
      'transfers_move_balances',
      ({ key }) => insert('transfers', reservationOf(key, { api_key_id: newId('apiKey') })),
      ({ key, otherKey }) => insert('transfers', reservationOf(key, { api_key_id: otherKey.id })),
    );
    refuses(
      'an adjustment without author or reason',
      'transfers_adjustments_are_signed',
      () => insertAdjustment({ author: null }),
      () => insertAdjustment({ reason: null }),
    );
    refuses('two causes', 'transfers_have_one_cause', ({ queued }) =>
      insertAdjustment({ task_id: queued.id, text_request_id: newId('textRequest'), kind: 'adjustment' }),
    );
    refuses('a reservation without a cause', 'transfers_reservations_have_a_cause', ({ key }) =>
      insert('transfers', reservationOf(key, { text_request_id: null })),
    );
    refuses('a first row that is not the start of its chain', 'transfers_chain_opens_with_first_row', () =>
      insertAdjustment({ opened_at: new Date(Date.now() - 1_000) }),
    );
    refuses(
      'a top-up of signup credit, and a grant of funded credit',
      'transfers_credit_of_one_kind',
      () => insertAdjustment({ kind: 'topup', debit: 'payments', signup_amount: 1_000 }),
      () => insertAdjustment({ kind: 'signup_grant', debit: 'signup_credit' }),
    );
    refuses(
      'more signup credit than there is money, also in what is released',
      'transfers_signup_is_a_part',
      () => insertAdjustment({ signup_amount: 1_001 }),
      ({ hold }) =>
        insert(
          'transfers',
          resolutionOf(hold, { amount: 900, released: 100, released_signup: 101, signup_amount: 299 }),
        ),
    );
    refuses('a release that is not part of a settlement', 'transfers_only_settlements_release', () =>
      insertAdjustment({ released: 1 }),
    );
    refuses('a time in a month that has no partition', '23514', () =>
      insertAdjustment({ opened_at: '2001-01-01T00:00:00Z', created_at: '2001-01-01T00:00:00Z' }),
    );

    it('refuses every pair of books that does not belong to its kind', async () => {
      const lawful = new Set(
        LAWFUL_BOOKS.flatMap(([kind, pairs]) => pairs.map(([debit, credit]) => [kind, debit, credit].join())),
      );
      const kinds = [...LAWFUL_BOOKS.map(([kind]) => kind), 'gift'];
      const unlawful = kinds
        .flatMap((kind) => BOOKS.flatMap((debit) => BOOKS.map((credit) => ({ kind, debit, credit }))))
        .filter(({ kind, debit, credit }) => !lawful.has([kind, debit, credit].join()));
      for (const books of unlawful) {
        expect(await rules.refusing(insertAdjustment(books)), Object.values(books).join()).to.equal('transfers_books');
      }
    });
  });

  describe('resolutions: a reservation is resolved at most once, wholly, and by a transfer that fits it', () => {
    refuses(
      'a second one, of either kind',
      'transfers_resolve_once',
      ({ settledHold }) => resolve(settledHold),
      ({ settledHold }) => resolve(settledHold, REFUND),
    );
    refuses('a settlement and a refund in one statement', 'transfers_resolve_once', ({ hold }) =>
      database('transfers').insert([resolutionOf(hold), resolutionOf(hold, REFUND)]),
    );
    refuses(
      'a second one for a task that ended',
      'transfers_resolve_once',
      async ({ succeeded }) => resolve(await reservationRow(database, succeeded), REFUND),
      async ({ failed }) => resolve(await reservationRow(database, failed)),
    );
    refuses(
      'one of no reservation',
      'transfers_match_reservation',
      ({ hold }) => resolve(hold, { pending_id: newId('transfer') }),
      ({ settledHold, settlement }) => resolve(settledHold, { pending_id: settlement['id'] }),
    );
    refuses(
      'one that opens at another time: not in another month either',
      'transfers_match_reservation',
      ({ hold }) => resolve(hold, { opened_at: new Date() }),
      ({ hold }) => resolve(hold, { opened_at: nextMonth() }),
      ({ settledHold }) => resolve(settledHold, { opened_at: nextMonth() }),
    );
    refuses(
      'one of another account, key or request',
      'transfers_match_reservation',
      ({ hold, other }) => resolve(hold, { account_id: other.id }),
      ({ hold, otherKey }) => resolve(hold, { api_key_id: otherKey.id }),
      ({ hold }) => resolve(hold, { api_key_id: null }),
      ({ hold }) => resolve(hold, { text_request_id: newId('textRequest') }),
      ({ hold, queued }) => resolve(hold, { text_request_id: null, task_id: queued.id }),
    );
    refuses(
      'one of more, of less, or of other credit than was held',
      'transfers_match_reservation',
      ({ hold }) => resolve(hold, { amount: 1_001 }),
      ({ hold }) => resolve(hold, { amount: 999 }),
      ({ hold }) => resolve(hold, { signup_amount: 399 }),
      ({ hold }) => resolve(hold, { amount: 900, released: 99 }),
      ({ hold }) => resolve(hold, { amount: 900, released: 100, released_signup: 1 }),
      ({ hold }) => resolve(hold, { ...REFUND, amount: 999 }),
    );
    refuses('a refund that keeps a part', 'transfers_only_settlements_release', ({ hold }) =>
      resolve(hold, { ...REFUND, amount: 900, released: 100 }),
    );
    refuses(
      'a resolution that names no reservation, and other kinds that do',
      'transfers_resolution_names_reservation',
      ({ hold }) => resolve(hold, { pending_id: null, opened_at: hold['opened_at'], created_at: hold['opened_at'] }),
      ({ hold }) => resolve(hold, { kind: 'excess', debit: 'available', credit: 'revenue' }),
    );
  });

  describe('the ledger is append-only', () => {
    for (const table of ['transfers', 'the partition'] as const) {
      const name = (): string => (table === 'transfers' ? table : partitionOf('transfers'));
      refuses(
        `no change through ${table}`,
        'transfers_append_only',
        () => statement(`UPDATE ${name()} SET amount = amount + 1`),
        () => statement(`UPDATE ${name()} SET reason = 'another'`),
        () => statement(`UPDATE ${name()} SET opened_at = opened_at + interval '1 month'`),
        () => statement(`DELETE FROM ${name()}`),
        ({ hold: { id } }) =>
          statement(
            `INSERT INTO ${name()} SELECT * FROM transfers WHERE id = ?
             ON CONFLICT (id, opened_at) DO UPDATE SET amount = EXCLUDED.amount + 1`,
            [String(id)],
          ),
        () =>
          statement(
            `MERGE INTO ${name()} AS old USING accounts ON old.account_id = accounts.id WHEN MATCHED THEN DELETE`,
          ),
      );
      refuses(`no emptying through ${table}`, 'transfers_not_truncated', () => statement(`TRUNCATE ${name()} CASCADE`));
    }

    it('moves the balance once for a row that is written through a partition', async () => {
      const { id } = await createAccount(database);
      await database(partitionOf('transfers')).insert(adjustmentOf({ id }, { amount: 7 }));
      await database('transfers').insert([adjustmentOf({ id }, { amount: 20 }), adjustmentOf({ id }, { amount: 300 })]);
      expect((await reloadAccount(database, { id })).fundedAvailable).to.equal(327n);
    });

    it('has the triggers of the whole table on each partition', async () => {
      const { rows } = await database.raw<{ rows: unknown[] }>(/* sql */ `
        SELECT partition.inhrelid::regclass, tgname
        FROM pg_inherits AS partition JOIN pg_trigger ON tgrelid = partition.inhparent
        WHERE NOT tgisinternal AND NOT EXISTS (
          SELECT FROM pg_trigger AS own WHERE own.tgrelid = partition.inhrelid AND own.tgname = pg_trigger.tgname)`);
      expect(rows).to.deep.equal([]);
    });
  });

  describe('top-ups', () => {
    refuses('a reference twice', 'top_ups_pkey', () => insertTopUp({ row: { reference: 'first' } }));
    refuses(
      'no reference, and one that is too long',
      'top_ups_reference_check',
      () => insertTopUp({ row: { reference: '' } }),
      () => insertTopUp({ row: { reference: 'r'.repeat(256) } }),
    );
    refuses('a payment that credits two accounts', 'top_ups_one_per_payment', ({ account, other }) =>
      database('top_ups').insert([paymentOf(account), paymentOf(other)]),
    );
    refuses('nothing', 'top_ups_amount_check', () => insertTopUp({ row: { amount: 0 } }));
    refuses('an account that does not exist', 'top_ups_account_id_fkey', () =>
      insertTopUp({ row: { account_id: newId('account') }, transfer: null }),
    );
    refuses('two references of one transfer', 'top_ups_transfer_id_key', async () => {
      const first = await database('top_ups').first<{ transfer_id: string }>('transfer_id');
      return insertTopUp({ row: { transfer_id: first?.transfer_id }, transfer: null });
    });
    refuses('a reference without a transfer', 'top_ups_are_transferred', () => insertTopUp({ transfer: null }));
    refuses(
      'a transfer without a reference, and one that differs from it',
      'transfers_top_ups_have_a_reference',
      () => insertTopUp({ row: null }),
      () => insertTopUp({ transfer: { reference: null } }),
      () => insertTopUp({ transfer: { reference: 'first' } }),
      () => insertTopUp({ transfer: { amount: 2_000 } }),
      () => insertTopUp({ transfer: { account_id: given.other.id } }),
    );
    refuses(
      'a change, and removal',
      'top_ups_append_only',
      () => statement('UPDATE top_ups SET amount = amount + 1'),
      () => statement('DELETE FROM top_ups'),
    );
    refuses('removal of all', 'top_ups_not_truncated', () => statement('TRUNCATE top_ups'));

    const contradict = (changes: object) =>
      database('contradicted_payments').insert({ reference: 'x', account_id: given.account.id, amount: 1, ...changes });
    refuses('a contradicted payment of nobody', 'contradicted_payments_account_id_fkey', () =>
      contradict({ account_id: newId('account') }),
    );
    refuses('a contradicted payment of nothing', 'contradicted_payments_amount_check', () => contradict({ amount: 0 }));
    refuses('a contradiction twice', 'contradicted_payments_pkey', async () => {
      await contradict({});
      await contradict({});
    });
  });

  describe('tasks', () => {
    refuses('an id of another form', 'tasks_id_check', ({ queued }) =>
      insertTask({
        id: queued.id
          .toUpperCase()
          .replace('TASK', 'task')
          .replaceAll(/_(.{10})/g, `_${queued.id.slice(5, 15)}`),
      }),
    );
    refuses('a time that its id does not carry', 'tasks_id_carries_created_at', () =>
      insertTask({ created_at: new Date(Date.now() - 5_000) }),
    );
    refuses('a task twice', 'tasks_pkey', async ({ queued }) =>
      insert('tasks', await newTaskRow(database, queued, { id: queued.id, reservation_id: queued.reservationId })),
    );
    refuses('an unknown kind', 'tasks_kind_check', () => insertTask({ kind: 'audio' }));
    refuses('a duration of nothing', 'tasks_billable_duration_seconds_check', () =>
      insertTask({ billable_duration_seconds: 0 }),
    );
    refuses(
      'a task without a reservation of its price, its own, its key and its account',
      'tasks_are_reserved',
      async ({ queued }) => insert('tasks', await newTaskRow(database, queued, {})),
      async ({ queued }) =>
        insert('tasks', await newTaskRow(database, queued, { reservation_id: queued.reservationId })),
      () => insertTask({ price: 2_000 }, { amount: 1_000 }),
      () => insertTask({ account_id: given.other.id }, {}),
      () => insertTask({ api_key_id: given.otherKey.id }, {}),
      () => insertTask({}, { task_id: given.processing.id }),
    );
    refuses(
      'a task that does not begin as queued',
      'tasks_are_reserved',
      () => insertTask({ status: 'processing' }),
      () =>
        insertTask({ status: 'succeeded', output: '[]', completed_at: new Date(), resolution_id: newId('transfer') }),
    );

    const created: readonly (readonly [column: string, value: unknown])[] = [
      ['id', newId('task')],
      ['created_at', new Date(0)],
      ['account_id', newId('account')],
      ['api_key_id', newId('apiKey')],
      ['kind', 'image'],
      ['model', 'vidtwo-1.1'],
      ['capability_version', 2],
      ['request', '{}'],
      ['price', 1],
      ['billable_duration_seconds', 30],
      ['request_id', 'another'],
      ['reservation_id', newId('transfer')],
      ['deadline_at', new Date(0)],
    ];
    for (const [column, value] of created) {
      refuses(`another ${column} than it was created with`, 'tasks_change_lawfully', ({ queued }) =>
        update('tasks', queued, { [column]: value }),
      );
    }
    refuses(
      'any change of a final task, also through its partition',
      'tasks_change_lawfully',
      ...(['succeeded', 'failed'] as const).flatMap((ending) => [
        (given: Given) => update('tasks', given[ending], { status: 'processing' }),
        (given: Given) => update('tasks', given[ending], { updated_at: new Date() }),
        (given: Given) => update('tasks', given[ending], { output: null, status: 'failed' }),
        (given: Given) => update(partitionOf('tasks'), given[ending], { error_code: 'bad_request' }),
      ]),
    );
    refuses('the way back to queued', 'tasks_change_lawfully', ({ processing }) =>
      update('tasks', processing, { status: 'queued' }),
    );
    refuses(
      'another job, or its job at another provider',
      'tasks_change_lawfully',
      ({ processing }) => update('tasks', processing, { provider_job_id: 'second' }),
      ({ processing }) => update('tasks', processing, { provider_job_id: null }),
      ({ processing }) => update('tasks', processing, { provider: 'another' }),
    );
    refuses('an unknown state', 'tasks_status_check', ({ queued }) => update('tasks', queued, { status: 'paused' }));
    refuses(
      'an end without a resolution, and the reverse',
      'tasks_final_means_resolved',
      ({ queued }) => update('tasks', queued, { ...FAILED, completed_at: new Date() }),
      ({ queued }) => update('tasks', queued, { completed_at: new Date() }),
    );
    refuses('an unknown failure', 'tasks_error_code_check', ({ queued }) =>
      update('tasks', queued, { error_code: 'forbidden', error_message: 'No.' }),
    );
    refuses(
      'a failure without a reason, and a reason without a failure',
      'tasks_failed_has_reason',
      ({ queued }) => finish(queued, REFUND, { ...FAILED, error_code: null, error_message: null }),
      ({ queued }) => finish(queued, REFUND, { ...FAILED, error_message: null }),
      ({ queued }) => update('tasks', queued, { error_code: 'bad_request', error_message: 'No.' }),
    );
    refuses(
      'success without output, and output without success',
      'tasks_succeeded_has_output',
      ({ queued }) => finish(queued, {}, { status: 'succeeded' }),
      ({ queued }) => update('tasks', queued, { output: '[]' }),
    );
    refuses(
      'removal, also through its partition',
      'tasks_are_kept',
      () => statement('DELETE FROM tasks'),
      () => statement(`DELETE FROM ${partitionOf('tasks')}`),
    );
    refuses(
      'removal of all, also of a partition',
      'tasks_not_truncated',
      () => statement('TRUNCATE tasks CASCADE'),
      () => statement(`TRUNCATE ${partitionOf('tasks')} CASCADE`),
    );

    describe('and their money', () => {
      refuses('money without a task, at commit', 'transfers_task_exists', ({ key }) =>
        insert('transfers', reservationOf(key, { text_request_id: null, task_id: newId('task') })),
      );
      refuses('a second reservation for a task', 'transfers_once_per_task', ({ reservation }) =>
        insert('transfers', { ...reservation, id: newId('transfer') }),
      );
      refuses(
        'a task that costs more or less than its price',
        'transfers_tasks_cost_their_price_or_nothing',
        ({ reservation, queued: { price } }) =>
          insert(
            'transfers',
            resolutionOf(reservation, {
              amount: price - 1n,
              signup_amount: price - 1n,
              released: 1,
              released_signup: 1,
            }),
          ),
        ({ reservation }) =>
          insert('transfers', { ...reservation, id: newId('transfer'), kind: 'excess', credit: 'revenue' }),
        ({ reservation }) =>
          insert('transfers', {
            ...reservation,
            id: newId('transfer'),
            kind: 'absorbed_loss',
            debit: 'absorbed_loss',
            credit: 'revenue',
          }),
      );
      refuses(
        'money resolved behind the back of the task, at commit',
        'transfers_resolve_with_their_task',
        ({ reservation }) => insert('transfers', resolutionOf(reservation)),
        ({ reservation }) => insert('transfers', resolutionOf(reservation, REFUND)),
      );
      refuses(
        'a resolution that does not fit the end',
        'tasks_change_lawfully',
        ({ queued }) => finish(queued, REFUND, { status: 'succeeded', output: '[]' }),
        ({ queued }) => finish(queued, {}, FAILED),
        ({ queued, settlement }) =>
          update('tasks', queued, {
            status: 'succeeded',
            output: '[]',
            completed_at: new Date(),
            resolution_id: settlement['id'],
          }),
      );
    });
  });

  describe('submissions to upstreams', () => {
    const settled = { settled_at: new Date(), learnt_from: 'the answer' };
    const row = (changes: Row = {}): Row => ({
      task_id: given.queued.id,
      task_created_at: given.queued.createdAt,
      attempt: 1,
      route: 0,
      provider: 'simulator',
      vendor: 'http-jobs https://vendor.test/',
      model: 'any',
      fingerprint: 'of the body',
      submitted_at: new Date(),
      ...changes,
    });
    const idsOf = ({ id, createdAt }: Task): Row => ({ task_id: id, task_created_at: createdAt });
    const insertSubmissions = (...changes: Row[]) => database('submissions').insert(changes.map(row));
    /** What happens to a submission that is there; nothing of it stays. */
    const afterSubmitting = (changes: Row, sql: string) =>
      database.transaction(async (transaction) => {
        await transaction('submissions').insert(row(changes));
        await transaction.raw(sql);
      });

    refuses('an attempt without a number', 'submissions_attempt_check', () => insertSubmissions({ attempt: 0 }));
    refuses('a route that cannot be', 'submissions_route_check', () => insertSubmissions({ route: -1 }));
    refuses('an unknown outcome', 'submissions_outcome_check', () =>
      insertSubmissions({ outcome: 'lost', ...settled }),
    );
    refuses('an attempt twice', 'submissions_pkey', () =>
      insertSubmissions({ outcome: 'refused', ...settled }, { outcome: 'refused', ...settled }),
    );
    refuses(
      'one beside another that was accepted, or of which nobody knows',
      'submissions_one_at_a_time',
      () => insertSubmissions({}, { attempt: 2 }),
      () => insertSubmissions({ outcome: 'accepted', ...settled }, { attempt: 2 }),
    );
    refuses(
      'an outcome that nobody learnt, and a lesson without an outcome',
      'submissions_settled',
      () => insertSubmissions({ outcome: 'refused', settled_at: new Date() }),
      () => insertSubmissions({ outcome: 'refused', learnt_from: 'the answer' }),
      () => insertSubmissions({ learnt_from: 'the answer' }),
    );
    refuses('a job that was not accepted', 'submissions_job', () =>
      insertSubmissions({ outcome: 'refused', job_id: 'job-1', ...settled }),
    );
    refuses('a loss of what is known', 'submissions_loss', () =>
      insertSubmissions({ outcome: 'accepted', possible_loss: 1, ...settled }),
    );
    refuses(
      'to change what was sent, or what became of it',
      'submissions_change_once',
      () => afterSubmitting({}, "UPDATE submissions SET fingerprint = 'another'"),
      () => afterSubmitting({ outcome: 'refused', ...settled }, "UPDATE submissions SET outcome = 'not_taken'"),
      () =>
        afterSubmitting(
          { outcome: 'accepted', job_id: 'job-1', ...settled },
          "UPDATE submissions SET job_id = 'job-2'",
        ),
    );
    refuses('a job of the vendor that another task has, whichever upstream led there', 'vendor_jobs_of_one_task', () =>
      insertSubmissions(
        { outcome: 'accepted', job_id: 'job-1', ...settled },
        { ...idsOf(given.processing), provider: 'another', outcome: 'accepted', job_id: 'job-1', ...settled },
      ),
    );
    refuses('to forget one', 'submissions_are_kept', () => afterSubmitting({}, 'DELETE FROM submissions'));
    refuses('to forget all of them', 'submissions_not_truncated', () => statement('TRUNCATE submissions'));
  });

  describe('idempotency keys', () => {
    const completed = { completed_at: new Date(), expires_at: new Date(), status: 201, sealed_body: randomBytes(8) };

    refuses('an account that does not exist', 'idempotency_keys_account_id_fkey', () =>
      insertClaim({ account_id: newId('account') }),
    );
    refuses(
      'no key, and one that is too long',
      'idempotency_keys_key_check',
      () => insertClaim({ key: '' }),
      () => insertClaim({ key: 'k'.repeat(256) }),
    );
    refuses('a key twice', 'idempotency_keys_pkey', () =>
      database.transaction(async () => {
        await insertClaim({ key: 'twice' });
        await insertClaim({ key: 'twice' });
      }),
    );
    refuses('a digest of another length', 'idempotency_keys_request_digest_check', () =>
      insertClaim({ request_digest: randomBytes(16) }),
    );
    refuses(
      'the response of a failure',
      'idempotency_keys_status_check',
      () => insertClaim({ ...completed, status: 402 }),
      () => insertClaim({ ...completed, status: 500 }),
    );
    refuses(
      'half a response',
      'idempotency_complete_or_not',
      ...Object.keys(completed).map((column) => () => insertClaim({ ...completed, [column]: null })),
    );
  });

  describe('webhooks', () => {
    refuses('an endpoint id of another form', 'webhook_endpoints_id_check', () => insertEndpoint({ id: 'we_1' }));
    refuses('an endpoint twice', 'webhook_endpoints_pkey', ({ endpoint: { id } }) => insertEndpoint({ id }));
    refuses('an endpoint of no account', 'webhook_endpoints_account_id_fkey', () =>
      insertEndpoint({ account_id: newId('account') }),
    );
    refuses('an address that is too long', 'webhook_endpoints_url_check', () =>
      insertEndpoint({ url: 'u'.repeat(2_049) }),
    );
    refuses('a description that is too long', 'webhook_endpoints_description_check', () =>
      insertEndpoint({ description: 'd'.repeat(1_001) }),
    );
    refuses(
      'no events, and unknown ones',
      'webhook_endpoints_events_check',
      () => insertEndpoint({ events: [] }),
      () => insertEndpoint({ events: ['task.created'] }),
    );
    refuses(
      'an endpoint disabled without a reason, and the reverse',
      'webhook_endpoints_disabled_with_reason',
      () => insertEndpoint({ disabled_at: new Date() }),
      () => insertEndpoint({ disabled_reason: 'tired' }),
    );
    refuses(
      'an old secret that never ends, and the reverse',
      'webhook_endpoints_previous_secret_ends',
      () => insertEndpoint({ previous_sealed_secret: randomBytes(32) }),
      () => insertEndpoint({ previous_secret_until: new Date() }),
    );

    refuses('an event id of another form', 'events_id_check', () => insertEvent({ id: 'evt_1' }));
    refuses('an event twice', 'events_pkey', ({ event: { id } }) => insertEvent({ id }));
    refuses('an event of no account', 'events_account_id_fkey', () => insertEvent({ account_id: newId('account') }));
    refuses('an unknown event', 'events_type_check', ({ queued }) =>
      insertEvent({ type: 'task.created', task_id: queued.id }),
    );
    refuses(
      'an event of a task that names none, and a test that names one',
      'events_of_tasks_name_them',
      () => insertEvent({ type: 'task.failed' }),
      ({ queued }) => insertEvent({ task_id: queued.id }),
    );
    refuses('a second event of a task', 'events_once_per_task', ({ succeeded }) =>
      insertEvent({ type: 'task.failed', task_id: succeeded.id }),
    );

    refuses('a delivery id of another form', 'deliveries_id_check', () => insertDelivery({ id: 'del_1' }));
    refuses('a delivery twice', 'deliveries_pkey', ({ delivery: { id } }) => insertDelivery({ id }));
    refuses('an event delivered to an endpoint twice', 'deliveries_once_per_endpoint', () => insertDelivery({}));
    refuses('a delivery of no event', 'deliveries_event_id_fkey', () => insertDelivery({ event_id: newId('event') }));
    refuses('a delivery of no account', 'deliveries_account_id_fkey', ({ lateEndpoint }) =>
      insertDelivery({ endpoint_id: lateEndpoint['id'], account_id: newId('account') }),
    );
    refuses('a delivery to no endpoint', 'deliveries_endpoint_id_fkey', () =>
      insertDelivery({ endpoint_id: newId('webhookEndpoint') }),
    );
    refuses('an unknown state', 'deliveries_status_check', () =>
      insertDelivery({ status: 'lost', completed_at: new Date() }),
    );
    refuses(
      'a delivery that ended without a time, and the reverse',
      'deliveries_end_with_a_time',
      () => insertDelivery({ status: 'failed', completed_at: null }),
      () => insertDelivery({ status: 'pending', completed_at: new Date() }),
    );

    refuses('an attempt of no delivery', 'delivery_attempts_delivery_id_fkey', () =>
      insertAttempt({ delivery_id: newId('delivery') }),
    );
    refuses('an attempt before the first', 'delivery_attempts_number_check', () => insertAttempt({ number: 0 }));
    refuses('an attempt that ended before it began', 'delivery_attempts_latency_ms_check', () =>
      insertAttempt({ latency_ms: -1 }),
    );
    refuses('an attempt without outcome', 'delivery_attempts_have_an_outcome', () => insertAttempt({ status: null }));
    refuses('an attempt twice', 'delivery_attempts_pkey', () =>
      database.transaction(async () => {
        await insertAttempt({ number: 2 });
        await insertAttempt({ number: 2 });
      }),
    );
  });

  refuses('two counts of the same minute', 'request_windows_pkey', ({ key }) =>
    database('request_windows').insert(
      [1, 2].map((requests) => ({ api_key_id: key.id, window_start: new Date(0), reads: false, requests })),
    ),
  );

  describe('uploads', () => {
    const row = (changes: object) => {
      const id = newId('file');
      const upload = { id, account_id: given.account.id, storage_key: `uploads/${id}.png`, mime_type: 'image/png' };
      return { ...upload, bytes: 1, created_at: new Date(), ...changes };
    };
    const insertUploads = (...changes: object[]) => database('uploads').insert(changes.map(row));

    refuses('an id of another form', 'uploads_id_check', () => insertUploads({ id: 'file_1' }));
    refuses('a file twice', 'uploads_pkey', () => {
      const id = newId('file');
      return insertUploads({ id }, { id });
    });
    refuses('a file of no account', 'uploads_account_id_fkey', () => insertUploads({ account_id: newId('account') }));
    refuses('a file of no bytes', 'uploads_bytes_check', () => insertUploads({ bytes: 0 }));
    refuses('a name that is too long', 'uploads_filename_check', () => insertUploads({ filename: 'x'.repeat(256) }));
  });

  describe('operator actions', () => {
    refuses('an id of another form', 'operator_actions_id_check', () => insertAction({ id: 'act_1' }));
    refuses('an action twice', 'operator_actions_pkey', ({ action: { id } }) => insertAction({ id }));
    refuses('an action on no task', 'operator_actions_task_exists', () => insertAction({ task_id: newId('task') }));
    refuses('an unknown action', 'operator_actions_kind_check', () => insertAction({ kind: 'forget' }));
    refuses('an action of nobody', 'operator_actions_author_check', () => insertAction({ author: '' }));
    refuses(
      'an action on nothing, on two things, or on a task of no time',
      'operator_actions_are_about_one_thing',
      () => insertAction({ task_id: null, task_created_at: null }),
      ({ account }) => insertAction({ account_id: account.id }),
      () => insertAction({ task_created_at: null }),
    );
    refuses('an action on no account', 'operator_actions_account_id_fkey', () =>
      insertAction({ task_id: null, task_created_at: null, account_id: newId('account'), kind: 'suspend' }),
    );
    refuses('an action for no reason', 'operator_actions_reason_check', () => insertAction({ reason: '' }));
    refuses('a second cancellation of a task', 'operator_actions_one_cancel', () => insertAction({ kind: 'cancel' }));
    refuses(
      'to change or forget an action',
      'operator_actions_are_kept',
      ({ action: { id } }) => update('operator_actions', { id }, { reason: 'another' }),
      ({ action: { id } }) => statement('DELETE FROM operator_actions WHERE id = ?', [String(id)]),
    );
    refuses('to forget all of them', 'operator_actions_not_truncated', () => statement('TRUNCATE operator_actions'));
  });

  describe('findings that are acknowledged', () => {
    const acknowledged = (changes: Row = {}): Row => ({
      id: newId('acknowledgement'),
      reconciliation_id: newId('reconciliation'),
      check_name: 'top_ups',
      subject: 'a',
      detail: 'b',
      reason: 'a test',
      author: 'ada',
      takes_two: true,
      ...changes,
    });
    const insertOne = (changes: Row) => insert('acknowledgements', acknowledged(changes));
    const decided = { outcome: 'confirmed', decided_by: 'bob', decided_at: new Date() };
    const afterAsking = (row: Row, attempt: (transaction: Database) => PromiseLike<unknown>) =>
      database.transaction(async (transaction) => {
        await transaction('acknowledgements').insert(acknowledged(row));
        await attempt(transaction);
      });
    refuses('another id', 'acknowledgements_id_check', () => insertOne({ id: newId('task') }));
    refuses('one that two have', 'acknowledgements_pkey', () => {
      const row = acknowledged();
      return afterAsking(row, (transaction) => transaction('acknowledgements').insert({ ...row, subject: 'c' }));
    });
    refuses('one finding twice', 'acknowledgements_once', () =>
      afterAsking({}, (transaction) => transaction('acknowledgements').insert(acknowledged())),
    );
    refuses('one for no reason', 'acknowledgements_reason_check', () => insertOne({ reason: '' }));
    refuses('one of nobody', 'acknowledgements_author_check', () => insertOne({ author: '' }));
    refuses('another outcome', 'acknowledgements_outcome_check', () => insertOne({ ...decided, outcome: 'forgotten' }));
    refuses('a decision of nobody', 'acknowledgements_are_decided_by_somebody', () =>
      insertOne({ ...decided, decided_by: null }),
    );
    refuses(
      'one that its author confirms where it takes two, or that another withdraws',
      'acknowledgements_take_two',
      () => insertOne({ ...decided, decided_by: 'ada' }),
      () => insertOne({ ...decided, outcome: 'withdrawn' }),
      () => insertOne({ takes_two: false }),
      () => insertOne({ ...decided, takes_two: false }),
    );
    refuses(
      'to decide twice, or to change what it says',
      'acknowledgements_are_decided_once',
      () => afterAsking(decided, (transaction) => transaction('acknowledgements').update({ outcome: 'rejected' })),
      () => afterAsking({}, (transaction) => transaction('acknowledgements').update({ reason: 'another' })),
    );
    refuses('to forget one', 'acknowledgements_are_kept', () =>
      afterAsking({}, (transaction) => transaction('acknowledgements').delete()),
    );
    refuses('to forget all of them', 'acknowledgements_not_truncated', () => statement('TRUNCATE acknowledgements'));
  });

  describe('what one person moved by hand', () => {
    const moved = ({ account }: Given, changes: Row = {}): Row => ({
      id: newId('transfer'),
      account_id: account.id,
      amount: 1,
      author: 'ada',
      ...changes,
    });
    const afterMoving = (given: Given, attempt: (transaction: Database) => PromiseLike<unknown>) =>
      database.transaction(async (transaction) => {
        await transaction('moved_alone').insert(moved(given));
        await attempt(transaction);
      });
    refuses('one that is added twice', 'moved_alone_pkey', (rows) => {
      const row = moved(rows);
      return database.transaction(async (transaction) => {
        await transaction('moved_alone').insert(row);
        await transaction('moved_alone').insert(row);
      });
    });
    refuses('one of no account', 'moved_alone_account_id_fkey', (rows) =>
      insert('moved_alone', moved(rows, { account_id: newId('account') })),
    );
    refuses('one of nothing, and less', 'moved_alone_amount_check', (rows) =>
      insert('moved_alone', moved(rows, { amount: 0 })),
    );
    refuses('one that nobody moved', 'moved_alone_author_check', (rows) =>
      insert('moved_alone', moved(rows, { author: '' })),
    );
    refuses(
      'to change or forget one',
      'moved_alone_is_kept',
      (rows) => afterMoving(rows, (transaction) => transaction('moved_alone').update({ amount: 2 })),
      (rows) => afterMoving(rows, (transaction) => transaction('moved_alone').delete()),
    );
    refuses('to forget all of them', 'moved_alone_not_truncated', () => statement('TRUNCATE moved_alone'));
  });

  describe('corrections by two people', () => {
    const correctionOf = (account: Account, changes: Row = {}): Row => ({
      id: newId('correction'),
      account_id: account.id,
      amount: 1,
      reason: 'a test',
      author: 'ada',
      expires_at: new Date(Date.now() + 60_000),
      ...changes,
    });
    const insertOne = ({ account }: Given, changes: Row) => insert('corrections', correctionOf(account, changes));
    const decided = { outcome: 'approved', decided_by: 'bob', decided_at: new Date(), transfer_id: 'x' };
    const afterAsking = (given: Given, row: Row, attempt: (transaction: Database) => PromiseLike<unknown>) =>
      database.transaction(async (transaction) => {
        await transaction('corrections').insert(correctionOf(given.account, row));
        await attempt(transaction);
      });
    refuses('another id', 'corrections_id_check', (rows) => insertOne(rows, { id: newId('task') }));
    refuses('one that two have', 'corrections_pkey', (rows) => {
      const row = correctionOf(rows.account);
      return database.transaction(async (transaction) => {
        await transaction('corrections').insert(row);
        await transaction('corrections').insert(row);
      });
    });
    refuses('one of no account', 'corrections_account_id_fkey', (rows) =>
      insertOne(rows, { account_id: newId('account') }),
    );
    refuses('one of nothing', 'corrections_amount_check', (rows) => insertOne(rows, { amount: 0 }));
    refuses('one for no reason', 'corrections_reason_check', (rows) => insertOne(rows, { reason: '' }));
    refuses('one that nobody asked for', 'corrections_author_check', (rows) => insertOne(rows, { author: '' }));
    refuses('another outcome', 'corrections_outcome_check', (rows) =>
      insertOne(rows, { ...decided, outcome: 'forgotten', transfer_id: null }),
    );
    refuses('a payment that takes money', 'corrections_of_payments_add', (rows) =>
      insertOne(rows, { reference: 'wire 1', amount: -1 }),
    );
    refuses('a decision of nobody', 'corrections_are_decided_by_somebody', (rows) =>
      insertOne(rows, { ...decided, decided_by: null }),
    );
    refuses(
      'a decision of the author, and one of others to withdraw',
      'corrections_take_two',
      (rows) => insertOne(rows, { ...decided, decided_by: 'ada' }),
      (rows) => insertOne(rows, { ...decided, outcome: 'rejected', decided_by: 'ada', transfer_id: null }),
      (rows) => insertOne(rows, { ...decided, outcome: 'withdrawn', transfer_id: null }),
    );
    refuses(
      'one that is approved without a transfer, or booked without approval',
      'corrections_are_booked_if_approved',
      (rows) => insertOne(rows, { ...decided, transfer_id: null }),
      (rows) => insertOne(rows, { transfer_id: 'x' }),
    );
    refuses(
      'to decide twice, or to change what is asked for',
      'corrections_are_decided_once',
      (rows) => afterAsking(rows, decided, (transaction) => transaction('corrections').update({ outcome: 'rejected' })),
      (rows) => afterAsking(rows, {}, (transaction) => transaction('corrections').update({ amount: 2 })),
    );
    refuses('to forget one', 'corrections_are_kept', (rows) =>
      afterAsking(rows, {}, (transaction) => transaction('corrections').delete()),
    );
    refuses('to forget all of them', 'corrections_not_truncated', () => statement('TRUNCATE corrections'));
  });

  describe('closed months', () => {
    const closedMonth = { month: '2001-01-01', author: 'ada', transfers: 0, amounts: '{}', checksum: 0 };
    const afterClosing = (attempt: (transaction: Database) => PromiseLike<unknown>): PromiseLike<unknown> =>
      database.transaction(async (transaction) => {
        await transaction('closed_months').insert(closedMonth);
        await attempt(transaction);
      });
    refuses('a month that begins within one', 'closed_months_month_check', () =>
      insert('closed_months', { ...closedMonth, month: '2001-01-02' }),
    );
    refuses('a month that nobody closed', 'closed_months_author_check', () =>
      insert('closed_months', { ...closedMonth, author: '' }),
    );
    refuses('to close a month twice', 'closed_months_pkey', () =>
      afterClosing((transaction) => transaction('closed_months').insert(closedMonth)),
    );
    refuses(
      'to change or open one again',
      'closed_months_are_kept',
      () => afterClosing((transaction) => transaction('closed_months').update({ transfers: 1 })),
      () => afterClosing((transaction) => transaction('closed_months').delete()),
    );
    refuses('to open all of them again', 'closed_months_not_truncated', () => statement('TRUNCATE closed_months'));
    refuses('a transfer in a month that is closed', 'transfers_not_in_closed_months', () =>
      database.transaction(async (transaction) => {
        const month = transaction.raw(`date_trunc('month', now() AT TIME ZONE 'UTC')::date`);
        await transaction('closed_months').insert({ ...closedMonth, month });
        await transaction('transfers').insert(adjustmentOf(given.account, {}));
      }),
    );
  });

  describe('what detached months left behind', () => {
    for (const { table, column, kept, amounts, ownerOf } of [
      {
        table: 'carried_balances',
        column: 'account_id',
        kept: 'carried_balances_are_kept',
        amounts: { signup_available: 0, signup_reserved: 0, funded_available: 1, funded_reserved: 0 },
        ownerOf: ({ account }: Given) => account.id,
      },
      {
        table: 'carried_usage',
        column: 'api_key_id',
        kept: 'carried_usage_is_kept',
        amounts: { used: 1 },
        ownerOf: ({ key }: Given) => key.id,
      },
    ]) {
      const monthOf = (owner: string): Row => ({ [column]: owner, month: '2020-01-01', ...amounts });
      const afterCarrying = (sql: string) => (given: Given) =>
        database.transaction(async (transaction) => {
          await transaction(table).insert(monthOf(ownerOf(given)));
          await transaction.raw(sql);
        });
      refuses(`${table} of nobody`, `${table}_${column}_fkey`, () => insert(table, monthOf('nobody')));
      refuses(`${table} of a month twice`, `${table}_pkey`, (given) =>
        database(table).insert([monthOf(ownerOf(given)), monthOf(ownerOf(given))]),
      );
      refuses(
        `to change or forget ${table}`,
        kept,
        afterCarrying(`UPDATE ${table} SET month = month`),
        afterCarrying(`DELETE FROM ${table}`),
      );
      refuses(`to forget all of ${table}`, `${table}_not_truncated`, () => statement(`TRUNCATE ${table}`));
    }
  });

  describe('text requests', () => {
    refuses('an id of another form', 'text_requests_id_check', () => insertTextRequest({ id: 'txt_1' }));
    refuses('usage of no call', 'text_requests_calls_check', () => insertTextRequest({ calls: 0 }));
    refuses('an unknown format', 'text_requests_format_check', () => insertTextRequest({ format: 'smoke' }));
    refuses('an unknown outcome', 'text_requests_outcome_check', () =>
      insertTextRequest({ outcome: 'lost', held: 0, charge: 0 }),
    );
    for (const tokens of ['input', 'cache_read', 'cache_write', 'output', 'reasoning']) {
      refuses(`fewer than no ${tokens} tokens`, `text_requests_${tokens}_tokens_check`, () =>
        insertTextRequest({ [`${tokens}_tokens`]: -1 }),
      );
    }
    refuses(
      'a failure without a code, and a code without a failure',
      'text_requests_failed_has_code',
      () => insertTextRequest({ outcome: 'failed', charge: 0 }),
      () => insertTextRequest({ error_code: 'processing_failed' }),
    );
    refuses('a charge for what failed or was abandoned', 'text_requests_answers_cost', () =>
      insertTextRequest({ outcome: 'abandoned' }),
    );
    refuses(
      'a charge above the hold that nobody bears, and a surplus that nothing explains',
      'text_requests_charge_is_paid_or_absorbed',
      () => insertTextRequest({ charge: 11 }),
      () => insertTextRequest({ absorbed: 1 }),
    );
    refuses('the same request twice', 'text_requests_pkey', () =>
      afterInserting({}, (transaction, row) => transaction('text_requests').insert(row)),
    );
    refuses(
      'to change what ended',
      'text_requests_are_final',
      () =>
        afterInserting({}, (transaction, { id }) => transaction('text_requests').where({ id }).update({ charge: 9 })),
      () =>
        afterInserting({ outcome: 'abandoned', charge: 0 }, (transaction, { id }) =>
          transaction('text_requests').where({ id }).update({ model: 'another' }),
        ),
    );
    refuses('to forget a request', 'text_requests_are_kept', () =>
      afterInserting({}, (transaction, { id }) => transaction('text_requests').where({ id }).delete()),
    );
    refuses('to forget all of them', 'text_requests_not_truncated', () => statement('TRUNCATE text_requests'));

    refuses('a request that is held twice', 'text_holds_pkey', ({ key }) => {
      const row = textHoldOf(key);
      return database('text_holds').insert([row, row]);
    });
    refuses(
      'a hold without a reservation, and a reservation of nothing',
      'text_holds_reserve_what_they_hold',
      ({ key }) => insert('text_holds', textHoldOf(key, { reservation_id: null })),
      ({ key }) => insert('text_holds', textHoldOf(key, { amount: 0 })),
    );
    refuses('two slots for one request', 'text_free_slots_pkey', ({ account }) => {
      const row = { account_id: account.id, text_request_id: newId('textRequest'), taken_at: new Date() };
      return database('text_free_slots').insert([row, row]);
    });
    refuses('a process twice', 'processes_pkey', () => {
      const row = { id: randomUUID() };
      return database('processes').insert([row, row]);
    });

    const rateCard = { version: 'test', model: 'textc-M3', kind: 'text', pricing: '{}' };
    refuses('two rate cards of a model in one version', 'rate_cards_pkey', () =>
      database('rate_cards').insert([rateCard, rateCard]),
    );
    refuses('a rate card of something else', 'rate_cards_kind_check', () =>
      database('rate_cards').insert({ ...rateCard, kind: 'audio' }),
    );
    refuses('to change a rate card', 'rate_cards_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('rate_cards').insert(rateCard);
        await transaction('rate_cards').update({ pricing: '[]' });
      }),
    );
    refuses('to forget all rate cards', 'rate_cards_not_truncated', () => statement('TRUNCATE rate_cards'));

    const costRates = { input: 1, cached_input: 1, cache_write: 1, output: 1 };
    const textCost = { version: 'test', model: 'textc-M3', upstream: 'vendor', upstream_model: 'm3', ...costRates };
    refuses('two costs of a route in one version', 'text_costs_pkey', () =>
      database('text_costs').insert([textCost, textCost]),
    );
    refuses('to change a cost', 'text_costs_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('text_costs').insert(textCost);
        await transaction('text_costs').update({ output: 2 });
      }),
    );
    refuses('to forget all costs', 'text_costs_not_truncated', () => statement('TRUNCATE text_costs'));
  });

  describe('sums of usage', () => {
    refuses('two sums of the same', 'daily_usage_pkey', () => {
      const names = {
        account_id: given.account.id,
        day: '2026-01-01',
        kind: 'text',
        model: 'm',
        api_key_id: given.key.id,
      };
      const tokens = { input_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 1 };
      const sum = { ...names, ...tokens, requests: 1, failed: 0, billable_seconds: 0, charged: 1 };
      return database('daily_usage').insert([sum, sum]);
    });
    refuses('two sums of transfers of the same', 'daily_transfers_pkey', () => {
      const names = { account_id: given.account.id, day: '2026-01-01', kind: 'topup' };
      const sum = { ...names, transfers: 1, available: 1, reserved: 0 };
      return database('daily_transfers').insert([sum, sum]);
    });
    refuses('to sum up to two times', 'daily_usage_summed_pkey', () =>
      database('daily_usage_summed').insert({ before: new Date() }),
    );
    refuses('to hide such a time', 'daily_usage_summed_is_only_row_check', () =>
      database('daily_usage_summed').insert({ is_only_row: false, before: new Date() }),
    );
  });

  describe('files of results', () => {
    refuses('a file that is noted twice', 'result_files_pkey', () => {
      const id = newId('task');
      const row = { key: `results/${id}/attempt/0.mp4`, task_id: id, task_created_at: new Date() };
      return database('result_files').insert([row, row]);
    });
  });

  describe('reconciliations', () => {
    refuses('an id of another form', 'reconciliations_id_check', () => insertReconciliation({ id: 'rec_1' }));
    refuses('one that nobody may ask for', 'reconciliations_requested_by_check', () =>
      insertReconciliation({ requested_by: 'customer' }),
    );
    refuses('an end without a report', 'reconciliations_end_with_a_report', () =>
      insertReconciliation({ finished_at: new Date() }),
    );
    refuses('one twice', 'reconciliations_pkey', () => {
      const row = { id: newId('reconciliation'), requested_by: 'operator' };
      return database('reconciliations').insert([row, row]);
    });
  });

  describe('orders to upstreams', () => {
    const order = { upstream: 'studio', kind: 'resume', author: 'Ada', reason: 'a test' };
    const insertOrder = (changes: Row): PromiseLike<unknown> => insert('upstream_orders', { ...order, ...changes });

    refuses('an order to nobody', 'upstream_orders_upstream_check', () => insertOrder({ upstream: '' }));
    refuses('an unknown order', 'upstream_orders_kind_check', () => insertOrder({ kind: 'hurry' }));
    refuses('an order of nobody', 'upstream_orders_author_check', () => insertOrder({ author: '' }));
    refuses('an order for no reason', 'upstream_orders_reason_check', () => insertOrder({ reason: '' }));
    refuses(
      'a rest without an end, and an end of no rest',
      'upstream_orders_rests_end',
      () => insertOrder({ kind: 'rest' }),
      () => insertOrder({ until: new Date() }),
    );
    refuses('an order twice', 'upstream_orders_pkey', () =>
      statement(
        `INSERT INTO upstream_orders (id, upstream, kind, author, reason) OVERRIDING SYSTEM VALUE
         SELECT 1, 'studio', 'resume', 'Ada', 'a test' FROM generate_series(1, 2)`,
      ),
    );
    refuses('to change an order', 'upstream_orders_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('upstream_orders').insert(order);
        await transaction('upstream_orders').update({ reason: 'another' });
      }),
    );
    refuses('to forget all orders', 'upstream_orders_not_truncated', () => statement('TRUNCATE upstream_orders'));
  });

  describe('configurations of processes', () => {
    const record = { process: 'api here:1', digest: 'd', catalogue_version: '1' };

    refuses('one of nobody', 'configurations_process_check', () =>
      database('configurations').insert({ ...record, process: '' }),
    );
    refuses('one without a version that is not refused', 'configurations_have_a_version', () =>
      database('configurations').insert({ ...record, catalogue_version: null }),
    );
    refuses('one twice', 'configurations_pkey', () =>
      statement(
        `INSERT INTO configurations (id, process, digest, catalogue_version) OVERRIDING SYSTEM VALUE
         SELECT 1, 'api', 'd', '1' FROM generate_series(1, 2)`,
      ),
    );
    refuses('to change one', 'configurations_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('configurations').insert(record);
        await transaction('configurations').update({ digest: 'e' });
      }),
    );
    refuses('to forget all of them', 'configurations_not_truncated', () => statement('TRUNCATE configurations'));
  });

  describe('promo credit', () => {
    const expires_at = new Date(Date.now() + 86_400_000);
    const newGrant = (changes: Row = {}): Row => ({
      id: newId('promoGrant'),
      account_id: given.account.id,
      reference: newId('request'),
      amount: 1_000,
      expires_at,
      author: 'Ada',
      reason: 'a test',
      ...changes,
    });
    const insertGrant = (changes: Row): PromiseLike<unknown> => insert('promo_grants', newGrant(changes));
    const promo = { kind: 'promo_grant', debit: 'promo_credit', author: null, reason: null, signup_amount: 1_000 };
    /** What happens to a grant that was given; nothing of it stays. */
    const afterGiving = (
      attempt: (transaction: Database, id: Row) => PromiseLike<unknown>,
      transferred: Row = {},
    ): PromiseLike<unknown> =>
      database.transaction(async (transaction) => {
        const row = newGrant();
        await transaction('promo_grants').insert(row);
        const transfer = { ...promo, reference: row['id'], ...transferred };
        await transaction('transfers').insert(adjustmentOf(given.account, transfer));
        await attempt(transaction, row);
        await transaction.rollback(new Error('not refused'));
      });
    const grants = (transaction: Database, { id }: Row) => transaction('promo_grants').where({ id });

    refuses('an id that is none', 'promo_grants_id_check', () => insertGrant({ id: 'prm_1' }));
    refuses('a grant to nobody', 'promo_grants_account_id_fkey', () => insertGrant({ account_id: newId('account') }));
    refuses('a grant for nothing that can be named', 'promo_grants_reference_check', () =>
      insertGrant({ reference: '' }),
    );
    refuses('a grant of nothing', 'promo_grants_amount_check', () => insertGrant({ amount: 0 }));
    refuses('a grant whose time is over', 'promo_grants_last', () => insertGrant({ expires_at: new Date(0) }));
    refuses('a grant of nobody', 'promo_grants_author_check', () => insertGrant({ author: '' }));
    refuses('a grant for no reason', 'promo_grants_reason_check', () => insertGrant({ reason: '' }));
    refuses('a grant that nothing gave', 'promo_grants_start_empty', () => insertGrant({ available: 1_000 }));
    refuses('a grant twice', 'promo_grants_pkey', () =>
      afterGiving((transaction, { id }) => transaction('promo_grants').insert(newGrant({ id }))),
    );
    refuses('a reference twice', 'promo_grants_once_per_reference', () =>
      afterGiving((transaction, { reference }) => transaction('promo_grants').insert(newGrant({ reference }))),
    );
    refuses('a transfer of another amount', 'promo_grants_add_up', () =>
      afterGiving(async () => {}, { amount: 999, signup_amount: 999 }),
    );
    refuses('a transfer that names no grant', 'transfers_promo_names_its_grant', () => insertAdjustment(promo));
    refuses('a transfer of a grant that is not there', '23503', () =>
      insertAdjustment({ ...promo, reference: newId('promoGrant') }),
    );
    refuses('to spend a grant by hand', 'promo_grants_balances', () =>
      afterGiving((transaction, row) => grants(transaction, row).update({ available: 0, spent: 1_000 })),
    );
    refuses('to prolong a grant', 'promo_grants_keep_identity', () =>
      afterGiving((transaction, row) => grants(transaction, row).update({ expires_at: new Date(8e12) })),
    );
    refuses('to forget a grant', 'promo_grants_are_kept', () =>
      afterGiving((transaction, row) => grants(transaction, row).delete()),
    );
    refuses('to forget all grants', 'promo_grants_not_truncated', () => statement('TRUNCATE promo_grants CASCADE'));
    refuses('to hide that an account has promo credit', 'accounts_has_promo', () =>
      update('accounts', given.account, { has_promo: true }),
    );

    const hold = { reservation_id: newId('transfer'), amount: 1 };
    refuses('a hold of no grant', 'promo_holds_grant_id_fkey', () =>
      insert('promo_holds', { ...hold, grant_id: newId('promoGrant') }),
    );
    refuses('a hold of nothing', 'promo_holds_amount_check', () =>
      afterGiving((transaction, { id }) => transaction('promo_holds').insert({ ...hold, grant_id: id, amount: 0 })),
    );
    refuses('a hold twice', 'promo_holds_pkey', () =>
      afterGiving((transaction, { id }) =>
        transaction('promo_holds').insert([
          { ...hold, grant_id: id },
          { ...hold, grant_id: id },
        ]),
      ),
    );
  });

  describe('low balances', () => {
    refuses('a threshold that no balance is below', 'accounts_low_balance_check', () =>
      update('accounts', given.account, { low_balance: 0 }),
    );
    refuses('a balance that is low by no threshold', 'accounts_low_by_a_threshold', () =>
      update('accounts', given.account, { low_balance_since: new Date() }),
    );
  });

  describe('orders to models', () => {
    const order = { model: 'vidone-3.0', kind: 'enable', author: 'Ada', reason: 'a test' };
    const insertOrder = (changes: Row): PromiseLike<unknown> => insert('model_orders', { ...order, ...changes });

    refuses('an order to nobody', 'model_orders_model_check', () => insertOrder({ model: '' }));
    refuses('an unknown order', 'model_orders_kind_check', () => insertOrder({ kind: 'hurry' }));
    refuses('an order of nobody', 'model_orders_author_check', () => insertOrder({ author: '' }));
    refuses('an order for no reason', 'model_orders_reason_check', () => insertOrder({ reason: '' }));
    refuses('an order twice', 'model_orders_pkey', () =>
      statement(
        `INSERT INTO model_orders (id, model, kind, author, reason) OVERRIDING SYSTEM VALUE
         SELECT 1, 'vidone-3.0', 'enable', 'Ada', 'a test' FROM generate_series(1, 2)`,
      ),
    );
    refuses('to change an order', 'model_orders_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('model_orders').insert(order);
        await transaction('model_orders').update({ reason: 'another' });
      }),
    );
    refuses('to forget all orders', 'model_orders_not_truncated', () => statement('TRUNCATE model_orders'));
  });

  describe('admin tokens', () => {
    const digest = Buffer.from('digest');
    const insertToken = (changes: Row): PromiseLike<unknown> =>
      insert('admin_tokens', {
        id: newId('adminToken'),
        name: 'Ada',
        role: 'operator',
        digest,
        hint: 'ga-…',
        created_by: 'admin',
        ...changes,
      });
    const twice = (changes: () => Row): PromiseLike<unknown> =>
      database.transaction(async (transaction) => {
        const row = { name: 'Ada', role: 'operator', hint: 'ga-…', created_by: 'admin' };
        await transaction('admin_tokens').insert({ ...row, ...changes() });
        await transaction('admin_tokens').insert({ ...row, ...changes() });
      });
    const id = newId('adminToken');

    refuses('an id of another form', 'admin_tokens_id_check', () => insertToken({ id: 'adm_1' }));
    refuses('a token of nobody', 'admin_tokens_name_check', () => insertToken({ name: '' }));
    refuses('an unknown role', 'admin_tokens_role_check', () => insertToken({ role: 'king' }));
    refuses('a token twice', 'admin_tokens_digest_key', () => twice(() => ({ id: newId('adminToken'), digest })));
    refuses('an id twice', 'admin_tokens_pkey', () => twice(() => ({ id, digest: Buffer.from(newId('adminToken')) })));
  });

  describe('what administrators did', () => {
    const action = () => ({
      id: newId('adminAction'),
      author: 'Ada',
      action: 'createAccount',
      path: '/admin/v1/accounts',
      request_id: newId('request'),
    });
    const insertAdminAction = (changes: Row): PromiseLike<unknown> =>
      insert('admin_actions', { ...action(), ...changes });
    const id = newId('adminAction');

    refuses('an id of another form', 'admin_actions_id_check', () => insertAdminAction({ id: 'adc_1' }));
    refuses('an action of nobody', 'admin_actions_author_check', () => insertAdminAction({ author: '' }));
    refuses('a token that is none', 'admin_actions_token_id_fkey', () =>
      insertAdminAction({ token_id: newId('adminToken') }),
    );
    refuses('an action twice', 'admin_actions_pkey', () =>
      database('admin_actions').insert([
        { ...action(), id },
        { ...action(), id },
      ]),
    );
    refuses('to change an action', 'admin_actions_are_kept', () =>
      database.transaction(async (transaction) => {
        await transaction('admin_actions').insert(action());
        await transaction('admin_actions').update({ author: 'Bea' });
      }),
    );
    refuses('to forget all actions', 'admin_actions_not_truncated', () => statement('TRUNCATE admin_actions'));
  });

  describe('marks of secrets', () => {
    const mark = Buffer.from('mark');
    refuses('one of something else', 'secret_marks_name_check', () =>
      database('secret_marks').insert({ name: 'password', mark }),
    );
    refuses('two of one kind', 'secret_marks_pkey', () =>
      database('secret_marks').insert([
        { name: 'key_pepper', mark },
        { name: 'key_pepper', mark },
      ]),
    );
  });

  describe('people of the console', () => {
    const user = { id: newId('user'), email: 'somebody@example.com', name: 'Somebody' };
    const other = { id: newId('user'), email: 'other@example.com', name: 'Other' };
    const nobody = { user_id: newId('user') };
    const insertUser = (changes: Row): PromiseLike<unknown> => insert('users', { ...other, ...changes });
    const insertMember = (changes: Row): PromiseLike<unknown> =>
      insert('account_members', { account_id: given.account.id, user_id: user.id, role: 'owner', ...changes });
    const digest = Buffer.from('digest');
    const later = new Date('2100-01-01');
    const insertSession = (changes: Row): PromiseLike<unknown> =>
      insert('sessions', { digest, user_id: user.id, user_agent: '', expires_at: later, ...changes });
    const insertLink = (changes: Row): PromiseLike<unknown> =>
      insert('user_links', { digest, user_id: user.id, purpose: 'invitation', expires_at: later, ...changes });

    before(() => insert('users', user));
    after(() => database('users').delete());

    refuses(
      'an e-mail address that is none, or not in lower case',
      'users_email_check',
      () => insertUser({ email: 'a@' }),
      () => insertUser({ email: 'Somebody@example.com' }),
      () => insertUser({ email: `${'a'.repeat(251)}@b.c` }),
    );
    refuses('an e-mail address that somebody has', 'users_email', () => insertUser({ email: user.email }));
    refuses('a user twice', 'users_pkey', () => insertUser({ id: user.id }));
    refuses('a user without a name', 'users_name_check', () => insertUser({ name: '' }));
    refuses('an unknown role of staff', 'users_staff_role_check', () => insertUser({ staff_role: 'king' }));
    refuses('a language that the console does not speak', 'users_language_check', () =>
      insertUser({ language: 'tlh' }),
    );
    refuses('an unknown role of a member', 'account_members_role_check', () => insertMember({ role: 'king' }));
    refuses('a member who is nobody', 'account_members_user_id_fkey', () => insertMember(nobody));
    refuses('a member of no account', 'account_members_account_id_fkey', () =>
      insertMember({ account_id: newId('account') }),
    );
    refuses('a member twice', 'account_members_pkey', async () => {
      await database.transaction(async (transaction) => {
        const member = { account_id: given.account.id, user_id: user.id, role: 'owner' };
        await transaction('account_members').insert([member, member]);
      });
    });
    const identity = { issuer: 'https://login.example.com', subject: 'subject', user_id: user.id };
    refuses('an identity of two users', 'user_identities_pkey', async () => {
      await insert('user_identities', identity);
      await insert('user_identities', identity);
    });
    refuses('an identity of nobody', 'user_identities_user_id_fkey', () =>
      insert('user_identities', { ...identity, subject: 'other', ...nobody }),
    );
    refuses('a recovery code twice', 'recovery_codes_pkey', async () => {
      await insert('recovery_codes', { user_id: user.id, digest });
      await insert('recovery_codes', { user_id: user.id, digest });
    });
    refuses('a recovery code of nobody', 'recovery_codes_user_id_fkey', () =>
      insert('recovery_codes', { ...nobody, digest }),
    );
    refuses('two orders of an e-mail to one address', 'link_mails_pkey', async () => {
      await insert('link_mails', { email: user.email });
      await insert('link_mails', { email: user.email });
    });
    const sendForm = (changes: object) =>
      database('sent_forms').insert({ form_id: 'form', request_digest: randomBytes(32), ...changes });
    refuses('a form without a digest', 'sent_forms_request_digest_check', () =>
      sendForm({ request_digest: randomBytes(1) }),
    );
    refuses('a form of nobody', 'sent_forms_user_id_fkey', () => sendForm(nobody));
    refuses('a form twice', 'sent_forms_pkey', async () => {
      await sendForm({});
      await sendForm({});
    });
    refuses('attempts to sign in counted twice', 'sign_in_attempts_pkey', () => {
      const counted = { subject: 'user', attempts: 1 };
      return database('sign_in_attempts').insert([counted, counted]);
    });
    refuses('a session of nobody', 'sessions_user_id_fkey', () => insertSession(nobody));
    refuses('a session twice', 'sessions_pkey', async () => {
      const session = { digest, user_id: user.id, user_agent: '', expires_at: later };
      await database('sessions').insert([session, session]);
    });
    const insertInvitation = (changes: Row): PromiseLike<unknown> =>
      database.transaction(async (transaction) => {
        const account_id = given.account.id;
        await transaction('account_members').insert({ account_id, user_id: user.id, role: 'owner' });
        const invitation = {
          account_id,
          email: 'a@b.c',
          role: 'owner',
          digest,
          invited_by: user.id,
          expires_at: later,
        };
        await transaction('account_invitations').insert({
          ...invitation,
          email: 'c@b.c',
          digest: Buffer.from('other'),
        });
        await transaction('account_invitations').insert({ ...invitation, ...changes });
      });
    refuses('an invitation to no account', 'account_invitations_account_id_fkey', () =>
      insertInvitation({ account_id: newId('account') }),
    );
    refuses('an invitation by somebody who is no member', 'account_invitations_account_id_invited_by_fkey', () =>
      insertInvitation({ invited_by: nobody.user_id }),
    );
    refuses('an invitation whose address is not in lower case', 'account_invitations_email_check', () =>
      insertInvitation({ email: 'A@b.c' }),
    );
    refuses('an invitation to an unknown role', 'account_invitations_role_check', () =>
      insertInvitation({ role: 'king' }),
    );
    refuses('an invitation whose e-mail is in an unknown state', 'account_invitations_mail_check', () =>
      insertInvitation({ mail: 'lost' }),
    );
    refuses(
      'an e-mail that is due and not ordered, or ordered and never due',
      'account_invitations_are_due_if_ordered',
      () => insertInvitation({ mail: 'sent', mail_due_at: new Date() }),
      () => insertInvitation({ mail: 'ordered' }),
    );
    refuses('two invitations for one address', 'account_invitations_pkey', () => insertInvitation({ email: 'c@b.c' }));
    refuses('two invitations by one link', 'account_invitations_digest', () =>
      insertInvitation({ digest: Buffer.from('other') }),
    );
    refuses('a link that somebody made in no account', 'user_links_are_made_in_an_account', () =>
      insertLink({ made_by: user.id }),
    );
    refuses('a link by somebody who is no member', 'user_links_end_with_their_maker', () =>
      insertLink({ account_id: given.account.id, made_by: nobody.user_id }),
    );
    refuses('a link of nobody', 'user_links_user_id_fkey', () => insertLink(nobody));
    refuses('a link for an unknown purpose', 'user_links_purpose_check', () => insertLink({ purpose: 'fun' }));
    refuses('a link twice', 'user_links_pkey', async () => {
      const link = { digest, user_id: user.id, purpose: 'invitation', expires_at: later };
      await database('user_links').insert([link, link]);
    });
  });

  describe('all together', () => {
    it('leave nothing untested', () => {
      expect(rules.untested()).to.deep.equal(Object.keys(SHADOWED).sort());
    });

    it('left everything as it was', async () => {
      expect(await reloadAccount(database, given.account)).to.deep.equal(given.account);
    });
  });
});

const TAKEN = { debit: 'available', credit: 'adjustments' };
const REFUND = { kind: 'refund', credit: 'available' };
const FAILED = { status: 'failed', error_code: 'processing_failed', error_message: 'It failed.' };

const BOOKS = [
  'available',
  'reserved',
  'revenue',
  'payments',
  'signup_credit',
  'promo_credit',
  'absorbed_loss',
  'adjustments',
  'cash',
];

const LAWFUL_BOOKS: readonly (readonly [kind: string, pairs: readonly (readonly [debit: string, credit: string])[]])[] =
  [
    ['topup', [['payments', 'available']]],
    ['signup_grant', [['signup_credit', 'available']]],
    ['promo_grant', [['promo_credit', 'available']]],
    ['promo_expiry', [['available', 'promo_credit']]],
    ['reservation', [['available', 'reserved']]],
    ['settlement', [['reserved', 'revenue']]],
    ['refund', [['reserved', 'available']]],
    ['excess', [['available', 'revenue']]],
    ['absorbed_loss', [['absorbed_loss', 'revenue']]],
    [
      'adjustment',
      [
        ['adjustments', 'available'],
        ['available', 'adjustments'],
      ],
    ],
  ];

async function prepare(database: Database): Promise<Given> {
  const account = await createAccount(database, { fundedUsd: 100, signupUsd: 5 });
  const other = await createAccount(database);
  const key = await createKey(database, account);
  const otherKey = await createKey(database, other);
  const deletedKey = await createKey(database, account);
  await deleteApiKey(database, deletedKey.id);
  const endpoint = await createEndpoint(database, account);

  const [queued, processing, succeeded, failed] = [
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
  ];
  await database('tasks').where({ id: processing.id }).update({ status: 'processing', provider_job_id: 'first' });
  await finishAsSucceeded(database, succeeded);
  await finishAsFailed(database, failed);

  const hold = reservationOf(key, { signup_amount: 400 });
  const settled = reservationOf(key, { signup_amount: 400 });
  const settlement = resolutionOf(settled);
  for (const transfer of [hold, settled, settlement]) await database('transfers').insert(transfer);
  await spendSignupCredit(database, account, key);
  const action = await recordOperatorAction(database, {
    taskId: queued.id,
    kind: 'cancel',
    author: 'tester',
    reason: 'a test',
  });
  return {
    account: await reloadAccount(database, account),
    other,
    key,
    otherKey,
    deletedKey,
    queued,
    processing,
    succeeded,
    failed,
    hold,
    settledHold: settled,
    settlement,
    reservation: await reservationRow(database, queued),
    endpoint: await rowOf(database, 'webhook_endpoints', { id: endpoint.id }),
    lateEndpoint: await rowOf(database, 'webhook_endpoints', { id: (await createEndpoint(database, account)).id }),
    event: await rowOf(database, 'events', { task_id: succeeded.id }),
    delivery: await rowOf(database, 'deliveries', { task_id: succeeded.id }),
    action: await rowOf(database, 'operator_actions', { id: action.id }),
  };
}

async function spendSignupCredit(database: Database, account: Pick<Account, 'id'>, key: TestKey): Promise<void> {
  const { signupAvailable } = await reloadAccount(database, account);
  const amount = signupAvailable.toString();
  await database('transfers').insert(reservationOf(key, { amount, signup_amount: amount }));
}

function adjustmentOf({ id: account_id }: Pick<Account, 'id'>, changes: Row = {}): Row {
  const now = new Date();
  return {
    id: newId('transfer'),
    opened_at: now,
    created_at: now,
    account_id,
    amount: 1_000,
    kind: 'adjustment',
    debit: 'adjustments',
    credit: 'available',
    author: 'tester',
    reason: 'a test',
    ...changes,
  };
}

/** A hold for a text request, unless the changes say otherwise. */
function reservationOf(key: TestKey, changes: Row = {}): Row {
  const now = new Date();
  return {
    id: newId('transfer'),
    opened_at: now,
    created_at: now,
    kind: 'reservation',
    debit: 'available',
    credit: 'reserved',
    amount: 1_000,
    signup_amount: 0,
    account_id: key.accountId,
    api_key_id: key.id,
    task_id: null,
    text_request_id: newId('textRequest'),
    ...changes,
  };
}

/** The settlement of a reservation, unless the changes say otherwise. */
function resolutionOf(reservation: Row, changes: Row = {}): Row {
  return {
    ...reservation,
    id: newId('transfer'),
    created_at: new Date(),
    pending_id: reservation['id'],
    kind: 'settlement',
    debit: 'reserved',
    credit: 'revenue',
    ...changes,
  };
}

async function reservationRow(database: Database, { reservationId }: Task): Promise<Row> {
  return rowOf(database, 'transfers', { id: reservationId });
}

/** A copy of a queued task under a new id. */
async function newTaskRow(database: Database, { id: original }: Task, changes: Row): Promise<Row> {
  const id = newId('task');
  const idOfRow = typeof changes['id'] === 'string' ? changes['id'] : id;
  return {
    ...(await rowOf(database, 'tasks', { id: original })),
    id,
    created_at: new Date(createdAtMsOf('task', idOfRow.toLowerCase())),
    reservation_id: newId('transfer'),
    ...changes,
  };
}

async function rowOf(database: Database, table: string, columns: Row): Promise<Row> {
  const row = await database(table).where(columns).first<Row | undefined>();
  if (!row) throw new Error(`there is no such row in ${table}`);
  return row;
}

function partitionOf(table: string): string {
  return `${table}_${new Date().toISOString().slice(0, 7).replace('-', '_')}`;
}

function nextMonth(): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
}

/** A text request that cost 10. */
function textRequestOf(key: TestKey, changes: Row = {}): Row {
  return {
    ...textIdentityOf(key),
    outcome: 'succeeded',
    input_tokens: 1,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 1,
    estimated: false,
    held: 10,
    charge: 10,
    excess: 0,
    absorbed: 0,
    ...changes,
  };
}

/** What is held for one that is under way. */
function textHoldOf(key: TestKey, changes: Row = {}): Row {
  return {
    ...textIdentityOf(key),
    process_id: randomUUID(),
    reservation_id: newId('transfer'),
    opened_at: new Date(),
    amount: 10,
    signup_amount: 0,
    funded_only: false,
    ...changes,
  };
}

function textIdentityOf({ id: apiKeyId, accountId }: TestKey): Row {
  return {
    id: newId('textRequest'),
    created_at: new Date(),
    account_id: accountId,
    api_key_id: apiKeyId,
    request_id: newId('request'),
    model: 'textc-M3',
    format: 'messages',
    streamed: false,
    catalogue_version: 'test',
  };
}
