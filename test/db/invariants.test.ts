/**
 * The invariants of the schema: plain statements break each rule here, and the rule must refuse them. The last test
 * checks that no constraint and no trigger is untested.
 */
import { expect } from 'chai';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { Account } from '../../db/queries/accounts.ts';
import { deleteApiKey } from '../../db/queries/api-keys.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { recordOperatorAction } from '../../db/queries/operator-actions.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { findPosting, TRANSFERS } from '../../domain/ledger.ts';
import type { Task } from '../../domain/task.ts';
import { TEXT_PRICE_NAMES } from '../../domain/pricing.ts';
import { TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import { useTestDatabase } from '../support/database.ts';
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
type Changes = Row | ((given: Given) => Row);

/** A row that a table refuses: the changes that break a rule. By default, the rule is the check of the first change. */
type Refusal = readonly [what: string, changes: Changes | readonly Changes[], rule?: string];

/** The rows in the database while the rules are tested; none of them changes. */
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
  /** Rows of the ledger: the reservation of the queued task, that of a text request, and a settled one. */
  readonly reservation: Row;
  readonly heldTask: Task;
  readonly hold: Row;
  readonly settledHold: Row;
  readonly settlement: Row;
  readonly endpoint: Row;
  /** Created after the events. */
  readonly lateEndpoint: Row;
  readonly event: Row;
  readonly delivery: Row;
  /** The name of a price list with one version. */
  readonly priceList: string;
  /** The action in the log that cancelled the queued task. */
  readonly action: Row;
}

/** Rules that no statement can reach, because the named rule refuses first, and rules that refuse nothing. */
const SHADOWED: Readonly<Record<string, string>> = {
  tasks_account_id_fkey: 'transfers_move_balances',
  tasks_api_key_id_fkey: 'transfers_move_balances',
  tasks_price_check: 'transfers_amount_check',
  price_list_versions_pkey: 'price_list_versions_follow_each_other',
  api_keys_start_a_period: 'refuses nothing: it starts to count for a limit that renews',
  accounts_low_no_more: 'refuses nothing: it notes that a balance is no longer low',
  submissions_claim_jobs: 'vendor_jobs_of_one_task refuses what it does',
  returned_payments_are_owed: 'refuses nothing: it counts what the account owes',
  tasks_ended_late: 'refuses nothing: it marks a day whose usage is to be summed again',
  text_requests_recorded_late: 'refuses nothing: it marks a day whose usage is to be summed again',
  transfers_dated_late: 'refuses nothing: it adds the transfer to a sum',
};

describe('the rules of the database', () => {
  let database: Database;
  let rules: Rules;
  let given: Given;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    rules = await readRules(database);
    given = await prepare(database);
  });

  /** Asserts that this rule refuses each of the attempts. */
  function refuses(what: string, rule: string, ...attempts: ((given: Given) => PromiseLike<unknown>)[]): void {
    it(`refuse ${what}`, async () => {
      for (const attempt of attempts) expect(await rules.refusing(attempt(given)), String(attempt)).to.equal(rule);
    });
  }

  /**
   * @param rowOf a row that the table accepts
   * @param twice the rule that refuses the row a second time; null if none does
   */
  function refusesRows(
    table: string,
    rowOf: (given: Given) => Row,
    refusals: readonly Refusal[],
    twice: string | null = `${table}_pkey`,
  ): void {
    for (const [what, changes, rule] of refusals) {
      const alternatives = [changes].flat();
      const [column] = Object.keys(alternatives[0] ?? {});
      const attempts = alternatives.map((changed) => (given: Given) => {
        return insert(table, { ...rowOf(given), ...(typeof changed === 'function' ? changed(given) : changed) });
      });
      refuses(what, rule ?? `${table}_${column}_check`, ...attempts);
    }
    if (twice !== null) refusesTwice(`a row of ${table}`, table, rowOf, twice);
  }

  function refusesTwice(what: string, table: string, rowOf: (given: Given) => Row, rule = `${table}_pkey`): void {
    refuses(`${what} twice`, rule, (given) => {
      const row = rowOf(given);
      return database(table).insert([row, row]);
    });
  }

  /** For a table whose rows the database numbers. */
  function refusesNumberTwice(table: string, row: Readonly<Record<string, string>>): void {
    const columns = Object.keys(row);
    refuses(`a number of ${table} twice`, `${table}_pkey`, () =>
      statement(
        `INSERT INTO ${table} (id, ${columns.join()}) OVERRIDING SYSTEM VALUE
         SELECT 1, ${columns.map(() => '?').join()} FROM generate_series(1, 2)`,
        Object.values(row),
      ),
    );
  }

  /** Asserts that the rows of the table cannot be changed or deleted. */
  function keepsRows(table: string, rowOf: (given: Given) => Row, changes: Row, rule = `${table}_are_kept`): void {
    const [column] = Object.keys(changes);
    refuses(`another ${column} of an existing row`, rule, (given) =>
      withRow(table, rowOf(given), (transaction) => transaction(table).update(changes)),
    );
    refusesRemoval(table, rowOf, rule);
  }

  function refusesRemoval(table: string, rowOf: (given: Given) => Row, rule = `${table}_are_kept`): void {
    refuses(`removal from ${table}`, rule, (given) =>
      withRow(table, rowOf(given), (transaction) => transaction(table).delete()),
    );
    refuses(`removal of all ${table}`, `${table}_not_truncated`, () => statement(`TRUNCATE ${table} CASCADE`));
  }

  function refusesAnotherDecision(table: string, rowOf: (given: Given) => Row, decided: Row, changes: Row): void {
    refuses(
      'a second decision, or a change of the request',
      `${table}_are_decided_once`,
      (given) =>
        withRow(table, { ...rowOf(given), ...decided }, (transaction) =>
          transaction(table).update({ outcome: 'rejected' }),
        ),
      (given) => withRow(table, rowOf(given), (transaction) => transaction(table).update(changes)),
    );
  }

  /** Attempts a statement on a row that exists only for the attempt. */
  const withRow = (
    table: string,
    row: Row,
    attempt: (transaction: Database) => PromiseLike<unknown>,
  ): PromiseLike<unknown> =>
    database.transaction(async (transaction) => {
      await transaction(table).insert(row);
      await attempt(transaction);
    });

  const insert = (table: string, row: Row): PromiseLike<unknown> => database(table).insert(row);
  const update = (table: string, { id }: Pick<Row, 'id'>, changes: Row): PromiseLike<unknown> =>
    database(table).where({ id }).update(changes);
  const statement = (sql: string, bindings: readonly string[] = []): PromiseLike<unknown> =>
    database.raw(sql, [...bindings]);

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
          ...ofTask(task_id),
          ...reserved,
        }),
      );
      await transaction('tasks').insert(row);
    });

  /** Resolves the reservation of a task and makes the task final, as one transaction. */
  function finish({ id }: Task, resolution: Row, ending: Row): PromiseLike<unknown> {
    return database.transaction(async (transaction) => {
      const resolutionRow = resolutionOf(given.reservation, resolution);
      await transaction('transfers').insert(resolutionRow);
      await transaction('tasks')
        .where({ id })
        .update({ completed_at: new Date(), resolution_id: resolutionRow['id'], ...ending });
    });
  }

  /** Only the row of an announced payment. */
  const paymentOf = ({ id: account_id }: Pick<Account, 'id'>): Row => ({
    account_id,
    reference: 'payment:pi_1',
    amount: 1_000,
    transfer_id: newId('transfer'),
    created_at: new Date(),
  });

  describe('accounts', () => {
    const balances = ['signup_available', 'signup_reserved', 'funded_available', 'funded_reserved', 'debt'];
    refusesRows('accounts', () => ({ id: newId('account'), name: 'A' }), [
      ['an id of another form', { id: 'acc_1' }],
      ['no name, and one that is too long', [{ name: '' }, { name: 'a'.repeat(201) }]],
      ['an e-mail address that cannot be one', [{ email: 'a@' }, { email: 'a'.repeat(321) }]],
      ['an external id that is empty or too long', [{ external_id: '' }, { external_id: 'a'.repeat(201) }]],
      ['a limit of no tasks', { max_concurrent_tasks: 0 }],
      ['a lifetime of no days', { content_days: 0 }],
      [
        'a storage of responses of less than no time or of more than a day',
        [{ response_minutes: -1 }, { response_minutes: 1_441 }],
      ],
      ['an account that begins with money', balances.map((column) => ({ [column]: 1 })), 'accounts_start_empty'],
      ['an account that begins as topped up', { topped_up_at: new Date() }, 'accounts_start_empty'],
    ]);
    refuses('an external id twice', 'accounts_one_per_external_id', () =>
      database('accounts').insert(['A', 'B'].map((name) => ({ id: newId('account'), name, external_id: 'crm-1' }))),
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
    refuses(
      'a merge of an account that works, and one into itself',
      'accounts_stay_merged',
      ({ account, other }) => update('accounts', other, { merged_into: account.id }),
      ({ other }) => update('accounts', other, { suspended_at: new Date(), merged_into: other.id }),
    );
    refuses('a merge into no account', 'accounts_merged_into_fkey', ({ other }) =>
      update('accounts', other, { suspended_at: new Date(), merged_into: newId('account') }),
    );
    for (const changes of [{ suspended_at: null }, { merged_into: null }]) {
      refuses(
        `to set the ${Object.keys(changes).join()} of a merged account to null`,
        'accounts_stay_merged',
        ({ account, other }) =>
          database.transaction(async (transaction) => {
            const rows = transaction('accounts').where({ id: other.id });
            await rows.clone().update({ suspended_at: new Date(), merged_into: account.id });
            await rows.clone().update(changes);
          }),
      );
    }
    refuses('a closed account that is not suspended', 'accounts_closed_are_suspended', ({ other }) =>
      update('accounts', other, { closed_at: new Date() }),
    );
    refuses('a closed account that is open again', 'accounts_stay_closed', async ({ other }) => {
      await update('accounts', other, { closed_at: new Date(), suspended_at: new Date() });
      await update('accounts', other, { closed_at: null });
    });
    refuses('removal, because the ledger refers to the account', 'accounts_are_kept', ({ other }) =>
      database('accounts').where({ id: other.id }).delete(),
    );
    refuses('removal of all', 'accounts_not_truncated', () => statement('TRUNCATE accounts CASCADE'));
  });

  describe('price lists', () => {
    const versionOf = (list: string): Row => ({
      id: `${list}@2`,
      list,
      version: 2,
      factor: '0.9',
      rules: '[]',
      valid_from: new Date(Date.now() + 60_000),
      author: 'Ada',
      reason: 'a test',
    });
    const rowOf = ({ priceList }: Given): Row => versionOf(priceList);
    refuses(
      'a name of another form',
      'price_lists_name_check',
      ...['', 'Partners', 'a@1', '-a', 'a'.repeat(64)].map((name) => () => insert('price_lists', { name })),
    );
    refusesTwice('a name', 'price_lists', () => ({ name: 'twice' }));
    keepsRows('price_lists', () => ({ name: 'kept' }), { name: 'other' });
    refusesRows(
      'price_list_versions',
      rowOf,
      [
        ['a version of no list', { list: 'none', id: 'none@2' }, 'price_list_versions_list_fkey'],
        [
          'a version 0',
          ({ priceList }) => ({ version: 0, id: `${priceList}@0` }),
          'price_list_versions_follow_each_other',
        ],
        ['a first version 0', { list: 'empty', version: 0, id: 'empty@0' }, 'price_list_versions_version_check'],
        [
          'a name that does not match its list and number',
          { id: 'partners@3' },
          'price_list_versions_are_called_by_it',
        ],
        ['a factor of another form', ['0', '-1', '1e1', '1000', '0.1234567', '.5', ''].map((factor) => ({ factor }))],
        ['a factor for batches of another form', ['0', '1000', '.5', ''].map((factor) => ({ batch_factor: factor }))],
        ['rules that are no list', { rules: '{}' }],
        ['no author, and one that is too long', [{ author: '' }, { author: 'a'.repeat(201) }]],
        ['no reason, and one that is too long', [{ reason: '' }, { reason: 'a'.repeat(1_001) }]],
        [
          'a version that processes may not know when it is valid',
          { valid_from: new Date() },
          'price_list_versions_are_announced',
        ],
        [
          'a version written earlier than now, or that another follows',
          [{ created_at: new Date(Date.now() - 3_600_000) }, ({ priceList }) => ({ version: 1, id: `${priceList}@1` })],
          'price_list_versions_follow_each_other',
        ],
      ],
      null,
    );
    keepsRows('price_list_versions', rowOf, { factor: '2' });
    refuses('an account that pays by no list', 'accounts_price_list_fkey', ({ account }) =>
      update('accounts', account, { price_list: 'none' }),
    );
    refuses('a task of no batch', 'tasks_batch_id_check', () => insertTask({ batch_id: 'batch_1' }));
    refuses('a task priced by no version', 'tasks_price_list_fkey', () => insertTask({ price_list: 'none@1' }));
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
      'NaN as an amount, which is above every price',
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
    const rowOf = ({ account: { id } }: Given): Row => {
      return { id: newId('apiKey'), account_id: id, digest: randomBytes(32), hint: 'test' };
    };
    refusesRows('api_keys', rowOf, [
      ['an id of another form', { id: newId('account') }],
      ['a key of no account', { account_id: newId('account') }, 'api_keys_account_id_fkey'],
      ['a name that is too long', { name: 'k'.repeat(201) }],
      ['a digest of another length', { digest: randomBytes(31) }],
      ['a digest twice', ({ key: { digest } }) => ({ digest }), 'api_keys_digest_key'],
      ['a rate of no requests', { rate_limit_rpm: 0 }],
      ['a period that is none', { limit_period: 'year' }],
      ['a negative usage limit', { usage_limit: -1 }, 'pico_usd_check'],
      ['a key that begins as used', { used: 1 }, 'api_keys_start_unused'],
      ['a key that begins with a reservation', { reserved: 1 }, 'api_keys_start_unused'],
    ]);
    refuses('the start of a period where the limit does not renew', 'api_keys_limit_renews', ({ key }) =>
      update('api_keys', key, { period_since: new Date() }),
    );
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
    refuses(
      'a reservation of no task, and a task of another transfer',
      'transfers_name_their_task',
      ({ key }) => insert('transfers', reservationOf(key, { ...ofTask(null) })),
      ({ queued }) => insertAdjustment({ task_id: queued.id }),
    );
    refuses(
      'a charge of no text request, and a text request of another transfer',
      'transfers_name_their_text_request',
      ({ key }) => insert('transfers', reservationOf(key, { kind: 'charge', debit: 'reserved', credit: 'revenue' })),
      () => insertAdjustment({ text_request_id: newId('textRequest') }),
    );
    refuses(
      'a transfer of text processes without an allowance, and another transfer with one',
      'transfers_name_their_allowance',
      ({ key }) => insert('transfers', reservationOf(key, { allowance_id: null })),
      () => insertAdjustment({ allowance_id: newId('allowance') }),
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
    refuses('more signup credit than there is money', 'transfers_signup_is_a_part', () =>
      insertAdjustment({ signup_amount: 1_001 }),
    );
    refuses('a time in a month that has no partition', '23514', () =>
      insertAdjustment({ opened_at: '2001-01-01T00:00:00Z', created_at: '2001-01-01T00:00:00Z' }),
    );

    it('refuses every pair of books that is not permitted for the kind of transfer', async () => {
      const taken = findPosting('adjustment', true);
      const postings = [...Object.entries(TRANSFERS), ['adjustment', taken] as const];
      const lawful = new Set(postings.map(([kind, { debit, credit }]) => [kind, debit, credit].join()));
      const books = [...new Set(postings.flatMap(([, { debit, credit }]) => [debit, credit])), 'cash'];
      const kinds = [...Object.keys(TRANSFERS), 'gift'];
      const unlawful = kinds
        .flatMap((kind) => books.flatMap((debit) => books.map((credit) => ({ kind, debit, credit }))))
        .filter(({ kind, debit, credit }) => !lawful.has([kind, debit, credit].join()));
      for (const move of unlawful) {
        expect(await rules.refusing(insertAdjustment(move)), Object.values(move).join()).to.equal('transfers_books');
      }
    });
  });

  describe('resolutions: a reservation is resolved at most once, wholly, and by a matching transfer', () => {
    refuses(
      'a second resolution, of either kind',
      'transfers_resolve_once',
      ({ settledHold }) => resolve(settledHold),
      ({ settledHold }) => resolve(settledHold, REFUND),
    );
    refuses('a settlement and a refund in one statement', 'transfers_resolve_once', ({ hold }) =>
      database('transfers').insert([resolutionOf(hold), resolutionOf(hold, REFUND)]),
    );
    refuses(
      'a second resolution for a final task',
      'transfers_resolve_once',
      async ({ succeeded }) => resolve(await reservationRow(database, succeeded), REFUND),
      async ({ failed }) => resolve(await reservationRow(database, failed)),
    );
    refuses(
      'a resolution of no reservation',
      'transfers_move_balances',
      ({ hold }) => resolve(hold, { pending_id: newId('transfer') }),
      ({ hold, settlement }) => resolve(hold, { pending_id: settlement['id'] }),
    );
    refuses(
      'a resolution with another opening time, also in another month',
      'transfers_move_balances',
      ({ hold }) => resolve(hold, { opened_at: new Date() }),
      ({ hold }) => resolve(hold, { opened_at: nextMonth() }),
      ({ settledHold }) => resolve(settledHold, { opened_at: nextMonth() }),
    );
    refuses(
      'a resolution of another account, key or task',
      'transfers_move_balances',
      ({ hold, other }) => resolve(hold, { account_id: other.id }),
      ({ hold, otherKey }) => resolve(hold, { api_key_id: otherKey.id }),
      ({ hold }) => resolve(hold, { api_key_id: null }),
      ({ hold, queued }) => resolve(hold, { task_id: queued.id }),
    );
    refuses(
      'a resolution of more, of less, or of other credit than the hold',
      'transfers_move_balances',
      ({ hold, heldTask: { price } }) => resolve(hold, { amount: price + 1n }),
      ({ hold, heldTask: { price } }) => resolve(hold, { amount: price - 1n, signup_amount: 0 }),
      ({ hold }) => resolve(hold, { signup_amount: 1 }),
      ({ hold, heldTask: { price } }) => resolve(hold, { ...REFUND, amount: price - 1n, signup_amount: 0 }),
    );
    refuses(
      'a resolution that names no reservation, and other kinds that do',
      'transfers_resolution_names_reservation',
      ({ hold }) => resolve(hold, { pending_id: null, opened_at: hold['opened_at'], created_at: hold['opened_at'] }),
      ({ hold }) =>
        resolve(hold, {
          kind: 'excess',
          debit: 'available',
          credit: 'revenue',
          task_id: null,
          text_request_id: newId('textRequest'),
        }),
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
      'a transfer without a reference, and a transfer with another reference',
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

    const contradiction = ({ account: { id } }: Given): Row => ({ reference: 'x', account_id: id, amount: 1 });
    refusesTwice('a refused payment', 'refused_payments', () => ({
      subject: 'payment:pi_1',
      reason: 'a test',
      refused_at: new Date(),
    }));
    refusesRows('contradicted_payments', contradiction, [
      ['a contradicted payment of nobody', { account_id: newId('account') }, 'contradicted_payments_account_id_fkey'],
      ['a contradicted payment of nothing', { amount: 0 }],
    ]);
    refusesTwice('a card that is agreed on', 'agreed_checkouts', () => ({ checkout_id: 'cs_1' }));
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
    refuses('a time other than that of the id', 'tasks_id_carries_created_at', () =>
      insertTask({ created_at: new Date(Date.now() - 5_000) }),
    );
    refuses('a task twice', 'tasks_pkey', async ({ queued }) =>
      insert('tasks', await newTaskRow(database, queued, { id: queued.id, reservation_id: queued.reservationId })),
    );
    refuses('a running task without its content', 'tasks_erased_are_final', ({ queued }) =>
      update('tasks', queued, { erased_at: new Date() }),
    );
    refuses('an unknown kind', 'tasks_kind_check', () => insertTask({ kind: 'audio' }));
    refuses('a duration of nothing', 'tasks_billable_duration_seconds_check', () =>
      insertTask({ billable_duration_seconds: 0 }),
    );
    refuses(
      'an end user without a name, or with a long one',
      'tasks_end_user_check',
      () => insertTask({ end_user: '' }),
      () => insertTask({ end_user: 'a'.repeat(129) }),
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
      'a task that does not start as queued',
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
      ['price_list', 'partners@1'],
      ['billable_duration_seconds', 30],
      ['request_id', 'another'],
      ['end_user', 'alice'],
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
    refuses('a cancellation by somebody unknown', 'tasks_cancelled_by_check', ({ queued }) =>
      finish(queued, REFUND, { ...FAILED, cancelled_by: 'vendor' }),
    );
    refuses('a cancellation without a failure', 'tasks_cancelled_have_failed', ({ queued }) =>
      update('tasks', queued, { cancelled_by: 'operator' }),
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

    describe('with their money', () => {
      refuses('money without a task, at commit', 'transfers_task_exists', ({ key }) =>
        insert('transfers', reservationOf(key, ofTask(newId('task')))),
      );
      refuses('a second reservation for a task', 'transfers_once_per_task', ({ reservation }) =>
        insert('transfers', { ...reservation, id: newId('transfer') }),
      );
      refuses(
        'money resolved behind the back of the task, at commit',
        'transfers_resolve_with_their_task',
        ({ reservation }) => insert('transfers', resolutionOf(reservation)),
        ({ reservation }) => insert('transfers', resolutionOf(reservation, REFUND)),
      );
      refuses(
        'a resolution that does not match the final status',
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
    const settled = { settled_at: new Date(), evidence: 'the answer' };
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
    refusesRows('submissions', () => row(), [
      ['an attempt without a number', { attempt: 0 }],
      ['a route that cannot be', { route: -1 }],
      ['an unknown outcome', { outcome: 'lost', ...settled }],
      [
        'an outcome that nobody learnt, and a lesson without an outcome',
        [
          { outcome: 'refused', settled_at: new Date() },
          { outcome: 'refused', evidence: 'the answer' },
          { evidence: 'the answer' },
        ],
        'submissions_settled',
      ],
      ['a job that was not accepted', { outcome: 'refused', job_id: 'job-1', ...settled }, 'submissions_job'],
      ['a loss of what is known', { outcome: 'accepted', possible_loss: 1, ...settled }, 'submissions_loss'],
    ]);
    refuses(
      'a submission beside an accepted one, or beside one with an unknown outcome',
      'submissions_one_at_a_time',
      () => insertSubmissions({}, { attempt: 2 }),
      () => insertSubmissions({ outcome: 'accepted', ...settled }, { attempt: 2 }),
    );
    refuses(
      'a change of the sent request or of its outcome',
      'submissions_change_once',
      ...(
        [
          [{}, { fingerprint: 'another' }],
          [{ outcome: 'refused', ...settled }, { outcome: 'not_taken' }],
          [{ outcome: 'accepted', job_id: 'job-1', ...settled }, { job_id: 'job-2' }],
        ] as const
      ).map(([before, changes]) => () => {
        return withRow('submissions', row(before), (transaction) => transaction('submissions').update(changes));
      }),
    );
    refuses('a job of the vendor that another task has, whichever upstream led there', 'vendor_jobs_of_one_task', () =>
      insertSubmissions(
        { outcome: 'accepted', job_id: 'job-1', ...settled },
        { ...idsOf(given.processing), provider: 'another', outcome: 'accepted', job_id: 'job-1', ...settled },
      ),
    );
    refusesRemoval('submissions', () => row());
  });

  describe('idempotency keys', () => {
    const completed = { completed_at: new Date(), expires_at: new Date(), status: 201, encrypted_body: randomBytes(8) };
    const claimOf = ({ account: { id } }: Given): Row => ({
      account_id: id,
      key: newId('request'),
      request_digest: randomBytes(32),
      claim_token: randomUUID(),
      lease_until: new Date(),
    });
    refusesRows('idempotency_keys', claimOf, [
      ['an account that does not exist', { account_id: newId('account') }, 'idempotency_keys_account_id_fkey'],
      ['no key, and one that is too long', [{ key: '' }, { key: 'k'.repeat(256) }]],
      ['a digest of another length', { request_digest: randomBytes(16) }],
      [
        'the response of a failure',
        [402, 500].map((status) => ({ ...completed, status })),
        'idempotency_keys_status_check',
      ],
      [
        'half a response',
        Object.keys(completed).map((column) => ({ ...completed, [column]: null })),
        'idempotency_complete_or_not',
      ],
    ]);
  });

  describe('webhooks', () => {
    refusesRows('webhook_endpoints', ({ endpoint }) => ({ ...endpoint, id: newId('webhookEndpoint') }), [
      ['an endpoint id of another form', { id: 'we_1' }],
      ['an endpoint of no account', { account_id: newId('account') }, 'webhook_endpoints_account_id_fkey'],
      ['an address that is too long', { url: 'u'.repeat(2_049) }],
      ['a description that is too long', { description: 'd'.repeat(1_001) }],
      ['no events, and unknown ones', [{ events: [] }, { events: ['task.created'] }]],
      [
        'an endpoint disabled without a reason, and the reverse',
        [{ disabled_at: new Date() }, { disabled_reason: 'tired' }],
        'webhook_endpoints_disabled_with_reason',
      ],
      [
        'an old secret that never ends, and the reverse',
        [{ previous_encrypted_secret: randomBytes(32) }, { previous_secret_until: new Date() }],
        'webhook_endpoints_previous_secret_ends',
      ],
    ]);
    const eventOf = ({ event }: Given): Row => ({ ...event, id: newId('event'), type: 'endpoint.test', task_id: null });
    refusesRows('events', eventOf, [
      ['an event id of another form', { id: 'evt_1' }],
      ['an event of no account', { account_id: newId('account') }, 'events_account_id_fkey'],
      ['an unknown event', ({ queued: { id } }) => ({ type: 'task.created', task_id: id }), 'events_type_check'],
      [
        'an event of a task that names none, and a test that names one',
        [{ type: 'task.failed' }, ({ queued: { id } }) => ({ task_id: id })],
        'events_of_tasks_name_them',
      ],
      [
        'a second event of a task',
        ({ succeeded: { id } }) => ({ type: 'task.failed', task_id: id }),
        'events_once_per_task',
      ],
    ]);
    refusesRows(
      'deliveries',
      ({ delivery }) => ({ ...delivery, id: newId('delivery') }),
      [
        ['a delivery id of another form', { id: 'del_1' }],
        ['a delivery twice', ({ delivery: { id } }) => ({ id }), 'deliveries_pkey'],
        ['an event delivered to an endpoint twice', {}, 'deliveries_once_per_endpoint'],
        ['a delivery of no event', { event_id: newId('event') }, 'deliveries_event_id_fkey'],
        [
          'a delivery of no account',
          ({ lateEndpoint: { id } }) => ({ endpoint_id: id, account_id: newId('account') }),
          'deliveries_account_id_fkey',
        ],
        ['a delivery to no endpoint', { endpoint_id: newId('webhookEndpoint') }, 'deliveries_endpoint_id_fkey'],
        ['an unknown state', { status: 'lost', completed_at: new Date() }],
        [
          'a completed delivery without a time, and the reverse',
          [
            { status: 'failed', completed_at: null },
            { status: 'pending', completed_at: new Date() },
          ],
          'deliveries_end_with_a_time',
        ],
      ],
      null,
    );
    const attemptOf = ({ delivery: { id } }: Given): Row => {
      return { delivery_id: id, number: 1, started_at: new Date(), latency_ms: 5, status: 200 };
    };
    refusesRows('delivery_attempts', attemptOf, [
      ['an attempt of no delivery', { delivery_id: newId('delivery') }, 'delivery_attempts_delivery_id_fkey'],
      ['an attempt before the first', { number: 0 }],
      ['an attempt that ended before it began', { latency_ms: -1 }],
      ['an attempt without outcome', { status: null }, 'delivery_attempts_have_an_outcome'],
      ['an answer that is kept in full', { answer: 'x'.repeat(4_097) }],
    ]);
  });

  refusesTwice('the count of a minute', 'request_windows', ({ key }) => {
    return { api_key_id: key.id, window_start: new Date(0), reads: false, requests: 1 };
  });

  describe('uploads', () => {
    const uploadOf = ({ account }: Given): Row => {
      const id = newId('file');
      const upload = { id, account_id: account.id, storage_key: `uploads/${id}.png`, mime_type: 'image/png' };
      return { ...upload, bytes: 1, purpose: 'user_data', created_at: new Date() };
    };
    refusesRows('uploads', uploadOf, [
      ['a file for nothing', { purpose: 'assistants', expires_at: new Date() }],
      ['a file of no lines', { lines: 0 }],
      [
        'a file of a batch that never expires, or another file that does',
        [{ purpose: 'batch' }, { expires_at: new Date() }],
        'uploads_of_batches_expire',
      ],
      [
        'a stored file of a batch without lines, or another file with lines',
        [{ purpose: 'batch', expires_at: new Date(), stored_at: new Date() }, { lines: 1 }],
        'uploads_of_batches_have_lines',
      ],
      ['an id of another form', { id: 'file_1' }],
      ['a file of no account', { account_id: newId('account') }, 'uploads_account_id_fkey'],
      ['a file of no bytes', { bytes: 0 }],
      ['a name that is too long', { filename: 'x'.repeat(256) }],
    ]);
  });

  describe('operator actions', () => {
    const actionOf = ({ action }: Given): Row => ({ ...action, id: newId('operatorAction'), kind: 'redeliver' });
    const ofAccount = { task_id: null, task_created_at: null };
    refusesRows('operator_actions', actionOf, [
      ['an id of another form', { id: 'act_1' }],
      ['an action on no task', { task_id: newId('task') }, 'operator_actions_task_exists'],
      ['an unknown action', { kind: 'forget' }],
      ['an action of nobody', { author: '' }],
      [
        'an action on nothing, on two things, or on a task of no time',
        [ofAccount, ({ account }) => ({ account_id: account.id }), { task_created_at: null }],
        'operator_actions_are_about_one_thing',
      ],
      [
        'an action on no account',
        { ...ofAccount, account_id: newId('account'), kind: 'suspend' },
        'operator_actions_account_id_fkey',
      ],
      ['an action on no batch', { ...ofAccount, batch_id: 'batch_1' }, 'operator_actions_batch_id_check'],
      [
        'an action on no registration',
        { task_id: null, task_created_at: null, kind: 'block', registration_id: 'reg_1' },
        'operator_actions_registration_id_check',
      ],
      ['an action for no reason', { reason: '' }],
      ['a second cancellation of a task', { kind: 'cancel' }, 'operator_actions_one_cancel'],
    ]);
    keepsRows('operator_actions', actionOf, { reason: 'another' });
  });

  describe('acknowledged findings', () => {
    const acknowledged = (): Row => ({
      id: newId('acknowledgement'),
      reconciliation_id: newId('reconciliation'),
      check_name: 'top_ups',
      subject: 'a',
      detail: 'b',
      reason: 'a test',
      author: 'ada',
      requires_second_approval: true,
    });
    const decided = { outcome: 'confirmed', decided_by: 'bob', decided_at: new Date() };
    refusesRows('acknowledgements', acknowledged, [
      ['an id of another form', { id: newId('task') }],
      ['an acknowledgement for no reason', { reason: '' }],
      ['an acknowledgement of nobody', { author: '' }],
      ['an unknown outcome', { ...decided, outcome: 'forgotten' }],
      ['a decision of nobody', { ...decided, decided_by: null }, 'acknowledgements_are_decided_by_somebody'],
      [
        'an acknowledgement confirmed by its author where it takes two people, or withdrawn by another',
        [
          { ...decided, decided_by: 'ada' },
          { ...decided, outcome: 'withdrawn' },
          { requires_second_approval: false },
          { ...decided, requires_second_approval: false },
        ],
        'acknowledgements_take_two',
      ],
    ]);
    refuses('a finding twice', 'acknowledgements_once', () =>
      database('acknowledgements').insert([acknowledged(), acknowledged()]),
    );
    refusesAnotherDecision('acknowledgements', acknowledged, decided, { reason: 'another' });
    refusesRemoval('acknowledgements', acknowledged);
  });

  describe('returned payments', () => {
    const returned = ({ account }: Given): Row => ({
      reference: 'payment:pi_back',
      account_id: account.id,
      due: 1,
      taken: 1,
    });
    refusesRows('returned_payments', returned, [
      ['one that is no payment', { reference: 'cash' }],
      ['a debt of nobody', { account_id: null }, 'returned_payments_are_due_once_credited'],
      ['more taken than is due', { taken: 2 }, 'returned_payments_take_what_is_due'],
      ['a payment of no account', { account_id: newId('account') }, 'returned_payments_account_id_fkey'],
    ]);
    const dueNote = ({ account }: Given): Row => ({
      transfer_id: newId('transfer'),
      account_id: account.id,
      reference: 'payment:pi_back',
      amount: 1,
    });
    refusesRows('due_credit_notes', dueNote, [
      ['a credit note of nothing', { amount: 0 }],
      ['a credit note of no account', { account_id: newId('account') }, 'due_credit_notes_account_id_fkey'],
    ]);
    refusesRemoval('returned_payments', returned);
  });

  describe('automatic top-ups', () => {
    const agreed = ({ account }: Given): Row => ({
      account_id: account.id,
      threshold: 1,
      amount: 1,
      customer: 'cus_1',
      payment_method: 'pm_1',
    });
    refusesRows('auto_top_ups', agreed, [
      ['a balance that is never low', { threshold: 0 }],
      ['a payment of nothing', { amount: 0 }],
      ['an attempt that never began', { attempt_id: 'a' }, 'auto_top_ups_attempt'],
      ['those of no account', { account_id: newId('account') }, 'auto_top_ups_account_id_fkey'],
    ]);
  });

  describe('bills of vendors', () => {
    const month = '2026-10-01';
    const bill = (): Row => ({ vendor: 'fal', month, upstreams: ['fal'], columns: '{}', author: 'ada' });
    const line = (): Row => ({ vendor: 'fal', month, line: 1, model: 'm', amount: 1 });
    const withBill = (...lines: readonly Row[]) =>
      withRow('vendor_bills', bill(), (transaction) => transaction('vendor_bill_lines').insert(lines));
    refusesRows('vendor_bills', bill, [
      ['a bill of nobody', { vendor: '' }],
      ['a bill of a part of a month', { month: '2026-10-02' }],
      ['a bill of no upstream', { upstreams: [] }],
      ['a bill that nobody imported', { author: '' }],
    ]);
    refuses('a line of no bill', 'vendor_bill_lines_vendor_month_fkey', () => insert('vendor_bill_lines', line()));
    refuses('a line before the first', 'vendor_bill_lines_line_check', () => withBill({ ...line(), line: 0 }));
    refuses('a line about nothing', 'vendor_bill_lines_are_about_something', () =>
      withBill({ ...line(), model: null }),
    );
    refuses('a line twice', 'vendor_bill_lines_pkey', () => withBill(line(), line()));
  });

  describe('manual adjustments by one person', () => {
    const moved = ({ account }: Given): Row => {
      return { id: newId('transfer'), account_id: account.id, amount: 1, author: 'ada' };
    };
    refusesRows('unapproved_adjustments', moved, [
      ['a transfer of no account', { account_id: newId('account') }, 'unapproved_adjustments_account_id_fkey'],
      ['a transfer of nothing', { amount: 0 }],
      ['a transfer that nobody made', { author: '' }],
    ]);
    keepsRows('unapproved_adjustments', moved, { amount: 2 }, 'unapproved_adjustments_are_kept');
  });

  describe('corrections by two people', () => {
    const correctionOf = ({ account }: Given): Row => ({
      id: newId('correction'),
      account_id: account.id,
      amount: 1,
      reason: 'a test',
      author: 'ada',
      expires_at: new Date(Date.now() + 60_000),
    });
    const decided = { outcome: 'approved', decided_by: 'bob', decided_at: new Date(), transfer_id: 'x' };
    refusesRows('corrections', correctionOf, [
      ['an id of another form', { id: newId('task') }],
      ['a correction of no account', { account_id: newId('account') }, 'corrections_account_id_fkey'],
      ['a correction of nothing', { amount: 0 }],
      ['a correction for no reason', { reason: '' }],
      ['a correction that nobody asked for', { author: '' }],
      ['an unknown outcome', { ...decided, outcome: 'forgotten', transfer_id: null }],
      ['a payment that takes money', { reference: 'wire 1', amount: -1 }, 'corrections_of_payments_add'],
      ['a decision of nobody', { ...decided, decided_by: null }, 'corrections_are_decided_by_somebody'],
      [
        'a decision of the author, and a withdrawal by another',
        [
          { ...decided, decided_by: 'ada' },
          { ...decided, outcome: 'rejected', decided_by: 'ada', transfer_id: null },
          { ...decided, outcome: 'withdrawn', transfer_id: null },
        ],
        'corrections_take_two',
      ],
      [
        'an approval without a transfer, and a transfer without approval',
        [{ ...decided, transfer_id: null }, { transfer_id: 'x' }],
        'corrections_are_booked_if_approved',
      ],
    ]);
    refusesAnotherDecision('corrections', correctionOf, decided, { amount: 2 });
    refusesRemoval('corrections', correctionOf);
  });

  describe('merges of accounts', () => {
    const mergeOf = ({ account, other }: Given): Row => ({
      id: newId('accountMerge'),
      source_id: account.id,
      target_id: other.id,
      reason: 'a test',
      author: 'ada',
      requires_second_approval: true,
      expires_at: new Date(Date.now() + 60_000),
    });
    const decided = { outcome: 'approved', decided_by: 'bob', decided_at: new Date() };
    refusesRows('account_merges', mergeOf, [
      ['an id of another form', { id: newId('task') }],
      ['a merge of no account', { source_id: newId('account') }, 'account_merges_source_id_fkey'],
      ['a merge into no account', { target_id: newId('account') }, 'account_merges_target_id_fkey'],
      ['a merge of one account', ({ account }) => ({ target_id: account.id }), 'account_merges_join_two'],
      ['a merge for no reason', { reason: '' }],
      ['a merge of nobody', { author: '' }],
      ['an unknown outcome', { ...decided, outcome: 'forgotten' }],
      ['a decision of nobody', { ...decided, decided_by: null }, 'account_merges_are_decided_by_somebody'],
      [
        'a merge approved by its author where it takes two people, or withdrawn by another',
        [
          { ...decided, decided_by: 'ada' },
          { ...decided, outcome: 'withdrawn' },
          { requires_second_approval: false },
          { ...decided, requires_second_approval: false },
        ],
        'account_merges_take_two',
      ],
      [
        'a merge that is complete without approval',
        [{ completed_at: new Date() }, { ...decided, outcome: 'rejected', completed_at: new Date() }],
        'account_merges_complete_if_approved',
      ],
    ]);
    refuses('a second merge of an account', 'account_merges_once', (given) =>
      database('account_merges').insert([mergeOf(given), mergeOf(given)].map((row) => ({ ...row, ...decided }))),
    );
    refusesAnotherDecision('account_merges', mergeOf, decided, { reason: 'another' });
    refusesRemoval('account_merges', mergeOf);
  });

  describe('receipts and invoices', () => {
    const documentOf = ({ account }: Given): Row => ({
      id: newId('billingDocument'),
      account_id: account.id,
      kind: 'receipt',
      number: 'R-2001-000001',
      source: 'tr_1',
      reference: 'wire 1',
      content: '{}',
    });
    refusesRows('billing_documents', documentOf, [
      ['an id of another form', { id: newId('task') }],
      ['a document of no account', { account_id: newId('account') }, 'billing_documents_account_id_fkey'],
      ['a document of an unknown kind', { kind: 'letter' }],
      [
        'a receipt of a month or of no payment, and an invoice of a payment or of no month',
        [
          { month: '2001-01' },
          { reference: null },
          { kind: 'invoice', month: '2001-01' },
          { kind: 'invoice', reference: null },
        ],
        'billing_documents_are_about_a_month_or_a_payment',
      ],
    ]);
    for (const [what, column, other] of [
      ['a number', 'number', 'source'],
      ['the document of a source', 'source', 'number'],
    ] as const) {
      refuses(`${what} twice`, `billing_documents_${column}_key`, (rows) =>
        database('billing_documents').insert([documentOf(rows), { ...documentOf(rows), [other]: 'x' }]),
      );
    }
    keepsRows('billing_documents', documentOf, { content: '{"total": "0"}' });

    const numberOf = () => ({ kind: 'receipt', year: 2001, last_number: 1 });
    refusesRows('billing_numbers', numberOf, [
      ['a number of an unknown kind', { kind: 'letter' }],
      ['a number below 1', { last_number: 0 }],
    ]);
    refusesRemoval('billing_numbers', numberOf);

    keepsRows('sellers', () => ({ details: '{}' }), { details: null });
    refuses('a version of the seller twice', 'sellers_pkey', () =>
      statement('INSERT INTO sellers (version) OVERRIDING SYSTEM VALUE SELECT 1 FROM generate_series(1, 2)', []),
    );

    const month = '2001-02-01';
    const closed = { month, author: 'ada', transfers: 0, amounts: '{}', checksum: 0 };
    /** A row of a month that is closed in the same transaction. */
    const invoiced = (
      rows: readonly Row[],
      then: (transaction: Database) => Promise<unknown> = async () => undefined,
    ) =>
      database.transaction(async (transaction) => {
        await transaction('closed_months').insert(closed);
        await transaction('invoiced_months').insert(rows);
        await then(transaction);
      });
    refuses('a month with invoices that is not closed', 'invoiced_months_month_fkey', () =>
      insert('invoiced_months', { month }),
    );
    refuses('a month with invoices twice', 'invoiced_months_pkey', () => invoiced([{ month }, { month }]));
    refuses('another month of an existing row', 'invoiced_months_are_kept', () =>
      invoiced([{ month }], (transaction) => transaction('invoiced_months').update({ month: '2001-03-01' })),
    );
    refuses('removal of all invoiced_months', 'invoiced_months_not_truncated', () =>
      statement('TRUNCATE invoiced_months CASCADE', []),
    );

    for (const [what, column, tooLong] of [
      ['a name on invoices', 'billing_name', 201],
      ['an address on invoices', 'billing_address', 501],
      ['a tax number', 'tax_id', 101],
    ] as const) {
      refuses(
        `${what} without letters, and with more than ${tooLong - 1}`,
        `accounts_${column}_check`,
        (rows) => update('accounts', rows.account, { [column]: '' }),
        (rows) => update('accounts', rows.account, { [column]: 'x'.repeat(tooLong) }),
      );
    }
  });

  describe('closed months', () => {
    const closedMonth = { month: '2001-01-01', author: 'ada', transfers: 0, amounts: '{}', checksum: 0 };
    refusesRows('closed_months', () => closedMonth, [
      ['a month that begins within one', { month: '2001-01-02' }],
      ['a month that nobody closed', { author: '' }],
    ]);
    keepsRows('closed_months', () => closedMonth, { transfers: 1 });
    refuses('a transfer in a month that is closed', 'transfers_move_balances', () =>
      database.transaction(async (transaction) => {
        const month = transaction.raw(`date_trunc('month', now() AT TIME ZONE 'UTC')::date`);
        await transaction('closed_months').insert({ ...closedMonth, month });
        await transaction('transfers').insert(adjustmentOf(given.account, {}));
      }),
    );
  });

  describe('the sums of detached months', () => {
    const month = '2020-01-01';
    const balanceOf = ({ account: { id } }: Given): Row => {
      const funded = { funded_available: 1, funded_reserved: 0 };
      return { account_id: id, month, signup_available: 0, signup_reserved: 0, ...funded };
    };
    const usageOf = ({ key: { id } }: Given): Row => ({ api_key_id: id, month, used: 1, reserved: 0 });
    for (const [table, column, kept, rowOf] of [
      ['carried_balances', 'account_id', 'carried_balances_are_kept', balanceOf],
      ['carried_usage', 'api_key_id', 'carried_usage_is_kept', usageOf],
    ] as const) {
      refusesRows(table, rowOf, [[`${table} of nobody`, { [column]: 'nobody' }, `${table}_${column}_fkey`]]);
      keepsRows(table, rowOf, { month: '2020-02-01' }, kept);
    }
  });

  describe('text requests', () => {
    refusesRows('text_requests', ({ key }) => textRequestOf(key), [
      ['an id of another form', { id: 'txt_1' }],
      ['a longer name of an end user', { end_user: 'a'.repeat(129) }],
      ['usage of no call', { calls: 0 }],
      ['a request of no batch', { batch_id: 'batch_1' }],
      ['a request that costs nothing of its cost', { cost_factor: 0 }],
      ['an unknown format', { format: 'smoke' }],
      ['an unknown outcome', { outcome: 'lost', held: 0, charge: 0 }],
      ...TOKEN_COUNTS.map(({ column }): Refusal => [`less than zero ${column}`, { [column]: -1 }, 'usage_count_check']),
      [
        'more tokens kept for an hour than were written to a cache',
        { cache_write_tokens: 1, cache_write_1h_tokens: 2 },
        'text_requests_kept_for_1h_is_a_part',
      ],
      [
        'more audio than tokens in the input, in what was read from a cache, and in the output',
        [
          { audio_input_tokens: 2 },
          { audio_input_tokens: 1, audio_cache_read_tokens: 1 },
          { cache_read_tokens: 1, audio_cache_read_tokens: 1 },
          { audio_output_tokens: 2 },
        ],
        'text_requests_audio_is_a_part',
      ],
      [
        'a failure without a code, and a code without a failure',
        [{ outcome: 'failed', charge: 0 }, { error_code: 'processing_failed' }],
        'text_requests_failed_has_code',
      ],
      ['a charge for what failed', { outcome: 'failed', error_code: 'x' }, 'text_requests_answers_cost'],
      [
        'a charge above the hold without a payer, and an unexplained surplus',
        [{ charge: 11 }, { absorbed: 1 }],
        'text_requests_charge_is_paid_or_absorbed',
      ],
    ]);
    for (const changes of [{ charge: 9 }, { end_user: 'bob' }]) {
      refuses(`another ${Object.keys(changes)[0]} of a text request`, 'text_requests_change_lawfully', ({ key }) =>
        withRow('text_requests', { ...textRequestOf(key), end_user: 'alice' }, (transaction) =>
          transaction('text_requests').update(changes),
        ),
      );
    }
    refusesRemoval('text_requests', ({ key }) => textRequestOf(key));

    const failedAttempt = ({ key }: Given): Row => {
      const { id, created_at, account_id, api_key_id, model, catalogue_version } = textRequestOf(key);
      const tried = { number: 1, upstream: 'simulator', upstream_model: 'm', ...TOKENS, estimated: false };
      return { text_request_id: id, created_at, account_id, api_key_id, model, catalogue_version, ...tried };
    };
    refusesRows('failed_text_attempts', failedAttempt, [
      ['a failed attempt of another id', { text_request_id: 'txt_1' }],
      ['a failed attempt before the first', { number: 0 }],
      ...TOKEN_COUNTS.map(({ column }): Refusal => [
        `a failed attempt with less than zero ${column}`,
        { [column]: -1 },
        'usage_count_check',
      ]),
    ]);
    refusesRemoval('failed_text_attempts', failedAttempt);

    refusesRows('text_allowances', ({ key }) => allowanceOf(key), [
      ['an id of another form', { id: 'alw_1' }],
      ['more signup credit than it has', { signup_amount: 11 }, 'text_allowances_signup_is_a_part'],
    ]);
    const budget = () => ({ id: newId('endUserBudget'), end_user: 'alice', usage_limit: 1, limit_period: 'day' });
    const budgetOf = ({ account }: Given) => ({ ...budget(), account_id: account.id });
    refuses('two budgets of an end user', 'budgets_one_each', (given) =>
      database('budgets').insert([budgetOf(given), budgetOf(given)]),
    );
    const whole = (given: Given) => ({ ...budgetOf(given), id: newId('budget'), end_user: null });
    refuses('two budgets of an account for the same models and period', 'budgets_one_each_of_an_account', (given) =>
      database('budgets').insert([whole(given), whole(given)]),
    );
    refuses('other models of a budget', 'budgets_keep_what_they_count', async (given) => {
      const row = whole(given);
      await database('budgets').insert(row);
      await database('budgets')
        .where({ id: row.id })
        .update({ models: ['vidone-3.0'] });
    });
    refusesRows('budgets', budgetOf, [
      ['an id of another form', { id: 'eub_1' }],
      ['a budget of nobody', [{ end_user: '' }, { end_user: 'a'.repeat(129) }]],
      ['another period', { limit_period: 'year' }],
      ['no models', { models: [] }],
      ['an end user and models', { models: ['vidone-3.0'] }, 'budgets_of_an_end_user_have_no_other_scope'],
      ['a ceiling of an end user', { is_ceiling: true }, 'budgets_of_an_end_user_have_no_other_scope'],
      ['an id of another kind of budget', { end_user: null }, 'budgets_ids_say_of_whom'],
      ['a budget of an unknown account', { account_id: newId('account') }, 'budgets_account_id_fkey'],
    ]);
    const slot = { text_request_id: newId('textRequest'), taken_at: new Date() };
    refusesTwice('a slot of a request', 'text_free_slots', ({ account }) => ({ ...slot, account_id: account.id }));
    const process = { id: randomUUID() };
    refusesTwice('a process', 'processes', () => process);

    const rateCard = { version: 'test', model: 'textc-M3', kind: 'text', pricing: '{}' };
    refusesRows('rate_cards', () => rateCard, [['a rate card of something else', { kind: 'audio' }]]);
    keepsRows('rate_cards', () => rateCard, { pricing: '[]' });

    const costRates = Object.fromEntries(TEXT_PRICE_NAMES.map((name) => [name, 1]));
    const textCost = { version: 'test', model: 'textc-M3', upstream: 'vendor', upstream_model: 'm3', ...costRates };
    refusesTwice('the cost of a route in a version', 'text_costs', () => textCost);
    keepsRows('text_costs', () => textCost, { output: 2 });
  });

  describe('sums of usage', () => {
    refusesTwice('a sum', 'daily_usage', ({ account, key }) => {
      const names = { account_id: account.id, day: '2026-01-01', kind: 'text', model: 'm', api_key_id: key.id };
      return { ...names, ...TOKENS, requests: 1, failed: 0, billable_seconds: 0, charged: 1 };
    });
    refusesTwice('a sum of transfers', 'daily_transfers', ({ account }) => {
      const names = { account_id: account.id, day: '2026-01-01', kind: 'topup' };
      return { ...names, transfers: 1, available: 1, reserved: 0 };
    });
    refusesRows(
      'daily_usage_summed',
      () => ({ before: new Date() }),
      [
        ['a second time up to which usage is summed', {}, 'daily_usage_summed_pkey'],
        ['such a time that is hidden', { is_only_row: false }],
      ],
      null,
    );
  });

  describe('the overload of live requests', () => {
    refusesRows('live_overload', () => ({ at: new Date() }), [
      ['a hidden time', { only_row: false }, 'live_overload_only_row_check'],
    ]);
  });

  describe('files of results', () => {
    const id = newId('task');
    refusesTwice('a file', 'result_files', () => {
      return { key: `results/${id}/attempt/0.mp4`, task_id: id, task_created_at: new Date() };
    });
    refusesTwice('a task whose files were deleted', 'deleted_results', () => ({ task_id: id }));
  });

  describe('reconciliations', () => {
    const id = newId('reconciliation');
    const rowOf = (): Row => ({ id, requested_by: 'operator' });
    refusesRows('reconciliations', rowOf, [
      ['an id of another form', { id: 'rec_1' }],
      ['a reconciliation that nobody may ask for', { requested_by: 'customer' }],
      ['an end without a report', { finished_at: new Date() }, 'reconciliations_end_with_a_report'],
    ]);
  });

  for (const [table, subject] of [
    ['upstream_overrides', { upstream: 'studio', kind: 'resume' }],
    ['model_overrides', { model: 'vidone-3.0', kind: 'enable' }],
  ] as const) {
    describe(table, () => {
      const order = { ...subject, author: 'Ada', reason: 'a test' };
      const [column = ''] = Object.keys(subject);
      refusesRows(
        table,
        () => order,
        [
          ['an order to nobody', { [column]: '' }],
          ['an unknown order', { kind: 'hurry' }],
          ['an order of nobody', { author: '' }],
          ['an order for no reason', { reason: '' }],
        ],
        null,
      );
      refusesNumberTwice(table, order);
      keepsRows(table, () => order, { reason: 'another' });
      if (table === 'model_overrides') return;
      refusesRows(
        table,
        () => order,
        [
          ['an order for no model', { model: '' }, `${table}_model_check`],
          [
            'a rest without an end, and an end of no rest',
            [{ kind: 'rest' }, { until: new Date() }],
            `${table}_rests_end`,
          ],
        ],
        null,
      );
    });
  }

  describe('configurations of processes', () => {
    const record = { process: 'api here:1', digest: 'd', catalogue_version: '1' };
    refusesRows(
      'configurations',
      () => record,
      [
        ['the configuration of nobody', { process: '' }],
        [
          'a configuration without a version that is not refused',
          { catalogue_version: null },
          'configurations_have_a_version',
        ],
      ],
      null,
    );
    refusesNumberTwice('configurations', record);
    keepsRows('configurations', () => record, { digest: 'e' });
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
    const promo = { kind: 'promo_grant', debit: 'promo_credit', author: null, reason: null, signup_amount: 1_000 };
    /** Attempts on an existing grant; none of them changes it. */
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

    describe('of plans', () => {
      const subscription = { customer: 'cus_1', status: 'active', item: 'si_1', price: 'price_1', reading: 1 };
      const subscriptionOf = ({ account }: Given) => ({ ...subscription, id: 'sub_1', account_id: account.id });
      const period = {
        subscription_id: 'sub_given',
        plan: 'basic',
        included: 1,
        paid: 1,
        payments: [],
        invoiced_at: expires_at,
      };
      const times = { starts_at: new Date(0), ends_at: expires_at, limits_until: expires_at };
      const periodOf = ({ account }: Given) => ({ ...period, ...times, invoice_id: 'in_1', account_id: account.id });
      before(() => database('subscriptions').insert({ ...subscriptionOf(given), id: 'sub_given' }));

      refusesRows('subscriptions', subscriptionOf, [
        ['a subscription without an id', { id: '' }],
        ['a subscription of an unknown account', { account_id: newId('account') }, 'subscriptions_account_id_fkey'],
        ['a subscription of no customer', { customer: '' }],
        ['a subscription without a status', { status: '' }],
        ['a subscription to nothing', { item: '' }],
        ['a subscription without a price', { price: '' }],
      ]);
      refuses('to give a subscription to another account', 'subscriptions_keep_identity', (row) =>
        withRow('subscriptions', subscriptionOf(row), (transaction) =>
          transaction('subscriptions')
            .where({ id: 'sub_1' })
            .update({ account_id: newId('account') }),
        ),
      );
      refusesRemoval('subscriptions', subscriptionOf);
      refusesRows('subscription_pages', ({ account }) => ({ account_id: account.id, page: 'cs_1' }), [
        ['a page of an unknown account', { account_id: newId('account') }, 'subscription_pages_account_id_fkey'],
        ['a page without an id', { page: '' }],
      ]);
      refusesRows('plan_periods', periodOf, [
        ['an invoice without an id', { invoice_id: '' }],
        ['a period of no subscription', { subscription_id: 'sub_none' }, 'plan_periods_subscription_id_fkey'],
        ['a period of an unknown account', { account_id: newId('account') }, 'plan_periods_account_id_fkey'],
        ['a period of no plan', { plan: '' }],
        ['a rate of nothing', { rate_limit_rpm: 0 }],
        ['no seat', { seats: 0 }],
        ['a period that ends before it starts', { starts_at: new Date(8e12) }, 'plan_periods_last'],
        ['credit that was not granted', { grant_id: newId('promoGrant') }, 'plan_periods_grant_id_fkey'],
      ]);
      refuses('credit of two periods', 'plan_periods_grant_id_key', (row) => {
        const granted = { ...periodOf(row), grant_id: newId('promoGrant') };
        return database('plan_periods').insert([granted, { ...granted, invoice_id: 'in_2' }]);
      });
      keepsRows('plan_periods', periodOf, { plan: 'pro' });
    });

    refusesRows('promo_grants', () => newGrant(), [
      ['an id of another form', { id: 'prm_1' }],
      ['a grant to nobody', { account_id: newId('account') }, 'promo_grants_account_id_fkey'],
      ['a grant for nothing that can be named', { reference: '' }],
      ['a grant of nothing', { amount: 0 }],
      ['a grant whose time is over', { expires_at: new Date(0) }, 'promo_grants_last'],
      ['a grant of nobody', { author: '' }],
      ['a grant for no reason', { reason: '' }],
      ['a grant that nothing gave', { available: 1_000 }, 'promo_grants_start_empty'],
    ]);
    refuses('a reference twice', 'promo_grants_once_per_reference', () =>
      afterGiving((transaction, { reference }) => transaction('promo_grants').insert(newGrant({ reference }))),
    );
    refuses('a transfer of another amount', 'promo_grants_add_up', () =>
      afterGiving(async () => {}, { amount: 999, signup_amount: 999 }),
    );
    refuses(
      'a transfer that names no grant, and a merge that names no account',
      'transfers_name_their_grant_or_other_account',
      () => insertAdjustment(promo),
      () => insertAdjustment({ kind: 'merge_in', ...TRANSFERS.merge_in }),
    );
    refuses('a transfer of a grant that does not exist', '23503', () =>
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
    refuses('to hide that an account has promo credit', 'accounts_balances', () =>
      update('accounts', given.account, { has_promo: true }),
    );

    const hold = { hold_id: newId('transfer'), amount: 1 };
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

  describe('gift codes', () => {
    const newBatch = (changes: Row = {}): Row => ({
      id: newId('giftBatch'),
      label: 'Spring fair',
      kind: 'funds',
      amount: 1_000,
      codes: 2,
      expires_at: new Date(Date.now() + 86_400_000),
      author: 'Ada',
      requires_second_approval: true,
      ...changes,
    });
    const approval = { approved_by: 'Bob', approved_at: new Date() };
    const withdrawal = { withdrawn_by: 'Bob', withdrawn_at: new Date(), withdrawal_reason: 'a test' };
    refusesRows('gift_batches', () => newBatch(), [
      ['an id of another form', { id: 'gib_1' }],
      ['a batch without a label', { label: '' }],
      ['a kind that there is not', { kind: 'gold' }],
      ['codes for nothing', { amount: 0 }],
      ['no codes, and more than fit', [{ codes: 0 }, { codes: 1_001 }]],
      ['promo credit of no days', { credit_days: 0, kind: 'promo_credit' }],
      ['a limit of nobody', { once_per: 'planet' }],
      ['a batch of nobody', { author: '' }],
      ['a withdrawal for no reason', { ...withdrawal, withdrawal_reason: '' }, 'gift_batches_withdrawal_reason_check'],
      [
        'promo credit that never expires, and funds that do',
        [{ kind: 'promo_credit' }, { credit_days: 1 }],
        'gift_batches_promo_credit_lasts',
      ],
      ['a batch whose time is over', { expires_at: new Date(0) }, 'gift_batches_last'],
      [
        'an approval by its author, and one that nobody asked for',
        [
          { ...approval, approved_by: 'Ada' },
          { ...approval, requires_second_approval: false },
        ],
        'gift_batches_take_two',
      ],
      ['half an approval', { approved_at: new Date() }, 'gift_batches_are_approved_at_a_time'],
      ['half a withdrawal', { withdrawn_at: new Date() }, 'gift_batches_are_withdrawn_by_somebody'],
    ]);
    refuses(
      'other terms, another approval and another withdrawal',
      'gift_batches_keep_their_terms',
      ...[{ amount: 2_000 }, { approved_by: 'Eve' }, { withdrawal_reason: 'none' }].map(
        (changes) => () =>
          withRow('gift_batches', newBatch({ ...approval, ...withdrawal }), (transaction) =>
            transaction('gift_batches').update(changes),
          ),
      ),
    );
    refusesRemoval('gift_batches', () => newBatch());

    const newCode = (batch: Row, changes: Row = {}): Row => ({
      id: newId('giftCode'),
      batch_id: batch['id'],
      digest: randomBytes(32),
      ...changes,
    });
    const redemption = (): Row => ({
      account_id: given.account.id,
      redeemed_at: new Date(),
      credit_id: newId('transfer'),
    });
    const withCodes = (
      codesOf: (batch: Row) => readonly Row[],
      attempt: (transaction: Database) => PromiseLike<unknown> = async () => {},
    ): PromiseLike<unknown> => {
      const batch = newBatch();
      return withRow('gift_batches', batch, async (transaction) => {
        await transaction('gift_codes').insert(codesOf(batch));
        await attempt(transaction);
      });
    };
    const refusesCode = (what: string, rule: string, changes: () => Row): void =>
      refuses(what, rule, () => withCodes((batch) => [newCode(batch, changes())]));
    refusesCode('a code of another form', 'gift_codes_id_check', () => ({ id: 'gift_1' }));
    refusesCode('a code of no batch', 'gift_codes_batch_id_fkey', () => ({ batch_id: newId('giftBatch') }));
    refusesCode('a digest of another length', 'gift_codes_digest_check', () => ({ digest: randomBytes(31) }));
    refusesCode('a code that nobody redeemed', 'gift_codes_account_id_fkey', () => ({
      ...redemption(),
      account_id: newId('account'),
    }));
    refusesCode('half a redemption', 'gift_codes_are_redeemed_by_an_account', () => ({ redeemed_at: new Date() }));
    refusesCode('a count without a redemption', 'gift_codes_count_once_redeemed', () => ({ counted_for: 'usr_a' }));
    refusesCode('a redemption without a credit', 'gift_codes_are_credited', redemption);
    refuses('a code twice', 'gift_codes_pkey', () =>
      withCodes((batch) => {
        const code = newCode(batch);
        return [code, { ...code, digest: randomBytes(32) }];
      }),
    );
    refuses('a digest twice', 'gift_codes_digest_key', () =>
      withCodes((batch) => {
        const code = newCode(batch);
        return [code, { ...code, id: newId('giftCode') }];
      }),
    );
    refuses('one credit for two codes', 'gift_codes_credit_id_key', () =>
      withCodes((batch) => {
        const redeemed = redemption();
        return [newCode(batch, redeemed), newCode(batch, redeemed)];
      }),
    );
    refuses('two codes of a batch for one person', 'gift_codes_once', () =>
      withCodes((batch) => [1, 2].map(() => newCode(batch, { ...redemption(), counted_for: 'usr_a' }))),
    );
    refuses('a second redemption', 'gift_codes_are_redeemed_once', () =>
      withCodes(
        (batch) => [newCode(batch, redemption())],
        (transaction) => transaction('gift_codes').update(redemption()),
      ),
    );
    refuses('removal of a code', 'gift_codes_are_kept', () =>
      withCodes(
        (batch) => [newCode(batch)],
        (transaction) => transaction('gift_codes').delete(),
      ),
    );
    refuses('removal of all codes', 'gift_codes_not_truncated', () => statement('TRUNCATE gift_codes CASCADE'));
  });

  describe('low balances', () => {
    refuses('a threshold that no balance is below', 'accounts_low_balance_check', () =>
      update('accounts', given.account, { low_balance: 0 }),
    );
    refuses('a balance that is low by no threshold', 'accounts_low_by_a_threshold', () =>
      update('accounts', given.account, { low_balance_since: new Date() }),
    );
  });

  describe('admin tokens', () => {
    const digest = randomBytes(32);
    const tokenOf = (): Row => {
      const row = { id: newId('adminToken'), name: 'Ada', role: 'operator', hint: 'ga-…', created_by: 'admin' };
      return { ...row, digest };
    };
    refusesRows('admin_tokens', tokenOf, [
      ['an id of another form', { id: 'adm_1' }],
      ['a token of nobody', { name: '' }],
      ['an unknown role', { role: 'king' }],
    ]);
    refuses('a token twice', 'admin_tokens_digest_key', () => database('admin_tokens').insert([tokenOf(), tokenOf()]));
  });

  describe('actions of administrators', () => {
    const action = (): Row => ({
      id: newId('adminAction'),
      author: 'Ada',
      action: 'createAccount',
      path: '/admin/v1/accounts',
      request_id: newId('request'),
    });
    refusesRows('admin_actions', action, [
      ['an id of another form', { id: 'adc_1' }],
      ['an action of nobody', { author: '' }],
      ['a token that does not exist', { token_id: newId('adminToken') }, 'admin_actions_token_id_fkey'],
      ['an account that does not exist', { account_id: newId('account') }, 'admin_actions_account_id_fkey'],
      ['an empty reason', { reason: '' }, 'admin_actions_reason_check'],
    ]);
    keepsRows('admin_actions', action, { author: 'Bea' });
  });

  describe('marks of secrets', () => {
    const markOf = (): Row => ({ name: 'key_pepper', mark: Buffer.from('mark') });
    refusesRows('secret_marks', markOf, [['the mark of another secret', { name: 'password' }]]);
  });

  describe('signup credit', () => {
    const creditOf = ({ account }: Given): Row => ({
      account_id: account.id,
      normal_address_digest: randomBytes(32),
      network: '192.0.2.0/24',
      outcome: 'granted',
      amount: '1',
      transfer_id: newId('transfer'),
    });
    const awaited = { outcome: 'awaits_payment', transfer_id: null };
    refusesRows('signup_credits', creditOf, [
      ['a digest of another length', { normal_address_digest: Buffer.from('a') }],
      ['a network without a name', { network: '' }],
      ['an unknown outcome', { outcome: 'perhaps', transfer_id: null }],
      ['no credit', { amount: '0' }],
      ['granted credit without its transfer', { transfer_id: null }, 'signup_credits_are_posted_if_granted'],
      ['an account that does not exist', { account_id: newId('account') }, 'signup_credits_account_id_fkey'],
    ]);
    const twice = (given: Given, other: Given['account'], same: Row): PromiseLike<unknown> =>
      database('signup_credits').insert([
        { ...creditOf(given), ...same },
        { ...creditOf(given), ...same, account_id: other.id },
      ]);
    refuses('credit for a mailbox twice', 'signup_credits_once_per_mailbox', (given) =>
      twice(given, given.other, { ...awaited, normal_address_digest: randomBytes(32) }),
    );
    refuses('one transfer for two decisions', 'signup_credits_transfer_id_key', (given) =>
      twice(given, given.other, { transfer_id: newId('transfer') }),
    );
    refuses('another decision', 'signup_credits_are_decided_once', (given) =>
      withRow('signup_credits', creditOf(given), (transaction) =>
        transaction('signup_credits').update({ outcome: 'awaits_payment', transfer_id: null }),
      ),
    );
    refuses('another amount than the awaited one', 'signup_credits_are_decided_once', (given) =>
      withRow('signup_credits', { ...creditOf(given), ...awaited }, (transaction) =>
        transaction('signup_credits').update({ outcome: 'granted', transfer_id: newId('transfer'), amount: '2' }),
      ),
    );
    refusesRemoval('signup_credits', creditOf);
  });

  describe('blocks of registrations', () => {
    const blockOf = (): Row => ({
      id: newId('registrationBlock'),
      kind: 'network',
      value: `2001:db8:0:${randomBytes(2).toString('hex')}::/64`,
    });
    refusesRows('registration_blocks', blockOf, [
      ['an id of another form', { id: 'blk_1' }],
      ['an unknown kind', { kind: 'country' }],
      ['a block of nothing', { value: '' }],
    ]);
    refuses('a block of something blocked', 'registration_blocks_once', () => {
      const block = blockOf();
      return database('registration_blocks').insert([block, { ...block, id: newId('registrationBlock') }]);
    });
    refuses('a change of a block, or of a lifted one', 'registration_blocks_are_lifted_once', () =>
      withRow('registration_blocks', blockOf(), (transaction) =>
        transaction('registration_blocks').update({ value: '192.0.2.0/24', lifted_at: new Date() }),
      ),
    );
    refusesRemoval('registration_blocks', blockOf);
  });

  describe('people of the console', () => {
    const user = { id: newId('user'), email: 'somebody@example.com', name: 'Somebody' };
    const other = { id: newId('user'), email: 'other@example.com', name: 'Other' };
    const nobody = { user_id: newId('user') };
    const digest = Buffer.from('digest');
    const later = new Date('2100-01-01');
    const memberOf = ({ account: { id } }: Given): Row => ({ account_id: id, user_id: user.id, role: 'owner' });

    before(() => insert('users', user));
    after(() => database('users').delete());

    refusesRows('users', () => other, [
      [
        'an invalid e-mail address, or one not in lower case',
        ['a@', 'Somebody@example.com', `${'a'.repeat(251)}@b.c`].map((email) => ({ email })),
      ],
      ['an e-mail address that somebody has', { email: user.email }, 'users_email'],
      ['a user without a name', { name: '' }],
      ['an unknown role of staff', { staff_role: 'king' }],
      ['a language that the console does not speak', { language: 'tlh' }],
    ]);
    refusesRows('account_members', memberOf, [
      ['an unknown role of a member', { role: 'king' }],
      ['a member who is nobody', nobody, 'account_members_user_id_fkey'],
      ['a member of no account', { account_id: newId('account') }, 'account_members_account_id_fkey'],
    ]);

    const identity = { issuer: 'https://login.example.com', subject: 'subject', user_id: user.id };
    const code = { user_id: user.id, digest };
    const form = { form_id: 'form', request_digest: randomBytes(32) };
    const session = { digest, user_id: user.id, user_agent: '', expires_at: later };
    const link = { digest, user_id: user.id, purpose: 'invitation', expires_at: later };
    const stored = {
      id: 'response',
      response_id: 'resp_1',
      item_ids: [],
      encrypted_content: Buffer.alloc(1),
      expires_at: later,
    };
    refusesRows('stored_responses', ({ account }) => ({ ...stored, account_id: account.id }), [
      ['a response of no account', { account_id: newId('account') }, 'stored_responses_account_id_fkey'],
    ]);
    const secretRow = ({ account, key }: typeof given) => ({
      id: newId('realtimeSecret'),
      digest: Buffer.alloc(32),
      account_id: account.id,
      api_key_id: key.id,
      model: 'demo-realtime',
      encrypted_settings: Buffer.alloc(1),
      allowed_origins: [],
      transports: [],
      session_seconds: 60,
      expires_at: later,
    });
    refuses('two secrets with a digest', 'realtime_secrets_digest_key', (given) =>
      database('realtime_secrets').insert([secretRow(given), secretRow(given)]),
    );
    refusesRows('realtime_secrets', secretRow, [
      ['a secret without a digest', { digest: randomBytes(1) }],
      ['a secret of no account', { account_id: newId('account') }, 'realtime_secrets_account_id_fkey'],
      ['a secret of no key', { api_key_id: newId('apiKey') }, 'realtime_secrets_api_key_id_fkey'],
      ['a secret for an unknown transport', { transports: ['carrier-pigeon'] }],
      ['a secret of endless sessions', { session_seconds: 3_601 }],
    ]);
    const callRow = ({ account, key }: typeof given) => ({
      id: newId('realtimeCall'),
      account_id: account.id,
      api_key_id: key.id,
      model: 'demo-realtime',
      provider: 'simulator',
      key_hint: '1234',
      upstream_call_id: 'rtc_1',
      expires_at: later,
      followed_until: later,
    });
    refusesRows('realtime_calls', callRow, [
      ['a call of no account', { account_id: newId('account') }, 'realtime_calls_account_id_fkey'],
      ['a call of no key', { api_key_id: newId('apiKey') }, 'realtime_calls_api_key_id_fkey'],
    ]);
    const mail = { id: newId('mail'), kind: 'password_link', address: user.email };
    refusesRows('mails', () => mail, [
      ['an e-mail to no address, or to one not in lower case', ['a@', 'A@b.c'].map((address) => ({ address }))],
      ['an e-mail with the id of something else', { id: newId('user') }],
      ['an e-mail for a user who is nobody', nobody, 'mails_user_id_fkey'],
      ['an e-mail about no account', { account_id: newId('account') }, 'mails_account_id_fkey'],
      ['facts that are no object', { facts: '[]' }],
      ['an e-mail with an unknown outcome', { outcome: 'lost' }],
      ['an e-mail whose failure is a book', { failure: 'x'.repeat(501) }],
      [
        'an e-mail that was sent at no time, or has a time and was not sent',
        [{ outcome: 'sent' }, { sent_at: later }],
        'mails_sent_at_a_time',
      ],
    ]);
    const twoMails = (changes: Row) => () =>
      database('mails').insert([mail.id, newId('mail')].map((id) => ({ ...mail, id, ...changes })));
    refuses('two e-mails with a reference', 'mails_reference', twoMails({ reference: 'once' }));
    refuses('two waiting e-mails of a kind to an address', 'mails_waiting_once', twoMails({}));
    refusesTwice('a count of attempts to sign in', 'sign_in_attempts', () => ({ subject: 'user', attempts: 1 }));
    refusesRows('user_identities', () => identity, [['an identity of nobody', nobody, 'user_identities_user_id_fkey']]);
    refusesRows('recovery_codes', () => code, [['a recovery code of nobody', nobody, 'recovery_codes_user_id_fkey']]);
    refusesRows('sent_forms', () => form, [
      ['a form without a digest', { request_digest: randomBytes(1) }],
      ['a form of nobody', nobody, 'sent_forms_user_id_fkey'],
    ]);
    refusesRows('sessions', () => session, [['a session of nobody', nobody, 'sessions_user_id_fkey']]);
    refusesRows('user_links', () => link, [
      ['a link that somebody made in no account', { made_by: user.id }, 'user_links_are_made_in_an_account'],
      [
        'a link by somebody who is no member',
        ({ account }) => ({ account_id: account.id, made_by: nobody.user_id }),
        'user_links_end_with_their_maker',
      ],
      ['a link of nobody', nobody, 'user_links_user_id_fkey'],
      ['a link for an unknown purpose', { purpose: 'fun' }],
    ]);

    const change = { user_id: user.id, email: 'new@example.com', expires_at: later };
    refusesRows('address_changes', () => change, [
      ['an address not in lower case', { email: 'New@example.com' }],
      ['a change of nobody', nobody, 'address_changes_user_id_fkey'],
    ]);
    for (const side of ['old', 'new'])
      refuses(`two changes of addresses with a link to the ${side} one`, `address_changes_${side}_link`, () =>
        withRow('users', other, (transaction) =>
          transaction('address_changes').insert([
            { ...change, [`${side}_digest`]: digest },
            { ...change, user_id: other.id, [`${side}_digest`]: digest },
          ]),
        ),
      );
    const registration = (): Row => ({
      id: newId('registration'),
      email: 'stranger@example.com',
      normal_address_digest: Buffer.alloc(32),
      network: '192.0.2.0/24',
      source: 'password',
      state: 'waiting_for_verification',
      language: 'en',
      expires_at: later,
    });
    const closed_at = new Date();
    refusesRows('registrations', registration, [
      ['an id of another form', { id: 'reg_1' }],
      ['an address not in lower case', { email: 'Stranger@example.com' }],
      ['a digest of another length', { normal_address_digest: Buffer.alloc(1) }],
      ['an unknown state', { state: 'lost', closed_at }],
      ['a registration of no account', { account_id: newId('account') }, 'registrations_account_id_fkey'],
      ['a registration of nobody', nobody, 'registrations_user_id_fkey'],
      [
        'a closed registration that waits, or an open one that is refused',
        [{ closed_at }, { state: 'refused' }],
        'registrations_are_closed_once',
      ],
      [
        'a closed registration with a secret',
        [{ password_hash: 'hash' }, { link_digest: digest }].map((secret) => ({
          state: 'refused',
          closed_at,
          ...secret,
        })),
        'registrations_keep_secrets_while_open',
      ],
      [
        'an account without a completed registration, and a completed one without an account or with an address',
        ({ account }) => ({ account_id: account.id, email: null }),
        'registrations_get_an_account',
      ],
    ]);
    refuses('two registrations with a link', 'registrations_link', () =>
      database('registrations').insert([
        { ...registration(), link_digest: digest },
        { ...registration(), link_digest: digest },
      ]),
    );

    for (const [what, rule, ...alternatives] of [
      ['to no account', 'account_id_fkey', { account_id: newId('account') }],
      ['by somebody who is no member', 'account_id_invited_by_fkey', { invited_by: nobody.user_id }],
      ['whose address is not in lower case', 'email_check', { email: 'A@b.c' }],
      ['to an unknown role', 'role_check', { role: 'king' }],
      ['for an address that has one', 'pkey', { email: 'c@b.c' }],
      ['by a link that another has', 'digest', { digest: Buffer.from('other') }],
    ] as const) {
      const attempts = alternatives.map((changes: Row) => (rows: Given) => {
        const invitation = { email: 'a@b.c', digest, invited_by: user.id, expires_at: later };
        const row = { account_id: rows.account.id, role: 'owner', ...invitation };
        const first = { ...row, email: 'c@b.c', digest: Buffer.from('other') };
        return withRow('account_members', memberOf(rows), async (transaction) => {
          await transaction('account_invitations').insert(first);
          await transaction('account_invitations').insert({ ...row, ...changes });
        });
      });
      refuses(`an invitation ${what}`, `account_invitations_${rule}`, ...attempts);
    }
  });

  describe('calls of upstreams', () => {
    const target = { upstream: 'simulator', format: 'messages', model: 'm', key: '1111' };
    const counts = { span: 'hour', start: new Date(), ...target, requests: 1, failures: 0, durations: [1] };
    const failure = { ...target, failed_at: new Date(), fault: 'failed', message: '' };
    const attempt = { ...target, request_id: 'req_1', number: 1, ended_at: new Date(), decision: 'next' };
    const tried = { account_id: 'acc_1', ...attempt, message: '', duration_ms: 1 };

    refusesRows('upstream_calls', () => counts, [['calls of a span that nobody reads', { span: 'day' }]]);
    const failed = () => {
      const { upstream, format, model, failures } = counts;
      return {
        span: 'hour',
        start: counts.start,
        upstream,
        format,
        model,
        failures,
        fault: 'failed',
        account_id: 'acc_1',
      };
    };
    refusesRows('upstream_call_failures', failed, [['failures of a span that nobody reads', { span: 'day' }]]);
    refusesTwice('the failures of an account', 'upstream_call_failures', failed);
    const pollProblem = (): Row => ({
      upstream: 'u',
      model: 'm',
      kind: 'unknown_state',
      words: 'archived',
      seen_at: new Date(),
    });
    refusesRows('poll_problems', pollProblem, [['a problem of another kind', { kind: 'slow' }]]);
    refusesTwice('the problem of polls of a model', 'poll_problems', pollProblem);
    const refused = (): Row => ({
      api_key_id: 'key_1',
      account_id: 'acc_1',
      hour: counts.start,
      method: 'GET',
      path: '/v1/models',
      status: 401,
      code: 'invalid_api_key',
      request_ids: ['req_1'],
      reasons: ['a test'],
      calls: 1,
      refused_at: counts.start,
    });
    refusesRows('refused_calls', refused, [
      ['a refused call with a long path', { path: '/'.repeat(301) }],
      ['a refused call that succeeded', { status: 200 }],
      ['a refused call with long reasons', { reasons: ['x'.repeat(3_001)] }, 'refused_calls_have_reasons'],
      ['a refused call without a request', { request_ids: [], reasons: [] }],
      ['a refused call with too many requests', { request_ids: Array(11).fill('req_1'), reasons: Array(11).fill('x') }],
      [
        'a refused call with more requests than reasons',
        { request_ids: ['req_1', 'req_2'] },
        'refused_calls_have_reasons',
      ],
      ['no refused call', { calls: 0 }],
    ]);
    refusesTwice('a version of a file of functions', 'applied_functions', () => ({ name: 'f', digest: 'd' }));
    refusesRows('text_attempts', () => tried, [['an attempt before the first', { number: 0 }]]);
    refusesTwice('the latest failure', 'upstream_failures', () => failure);
    refusesTwice('the circuits of a process', 'process_circuits', () => ({
      process_id: '00000000-0000-4000-8000-000000000000',
      reported_at: new Date(),
      circuits: '[]',
    }));
  });

  describe('late results', () => {
    const lateRow = ({ account, queued }: Given): Row => ({
      task_id: queued.id,
      account_id: account.id,
      output: '[]',
      expires_at: new Date(),
      claimed_task_id: queued.id,
    });
    refusesTwice('a result of a task', 'late_results', lateRow);
    refuses('two results claimed as one task', 'late_results_claimed_task_id_key', (given) =>
      database('late_results').insert([lateRow(given), { ...lateRow(given), task_id: newId('task') }]),
    );
    refuses('a result of no account', 'late_results_account_id_fkey', (given) =>
      insert('late_results', { ...lateRow(given), account_id: newId('account') }),
    );
  });

  describe('batches', () => {
    const batchRow = ({ account, key }: Given): Row => ({
      id: newId('batch'),
      account_id: account.id,
      api_key_id: key.id,
      request_id: 'req_1',
      endpoint: '/v1/responses',
      input_file_id: newId('file'),
      created_at: new Date(),
      expires_at: new Date(),
    });
    const ENDED = { status: 'completed', ended_at: new Date() };
    const counts = ['total', 'succeeded', 'failed', 'expired', 'cancelled'];
    refusesRows('batches', batchRow, [
      ['a batch with a bad id', { id: 'batch_1' }],
      ['a batch of no account', { account_id: newId('account') }, 'batches_account_id_fkey'],
      ['a batch of no key', { api_key_id: newId('apiKey') }, 'batches_api_key_id_fkey'],
      ['a batch of an unknown endpoint', { endpoint: '/v1/magic' }],
      ['a batch with an unknown status', { status: 'resting' }],
      ['a final batch without a time', { status: 'completed' }, 'batches_end_with_a_time'],
      ['a failed batch without errors', { ...ENDED, status: 'failed' }, 'batches_failed_with_errors'],
      ['a pause without a time', { paused_reason: 'forbidden' }, 'batches_paused_with_a_time'],
      ...counts.map((column): Refusal => [`a negative count: ${column}`, { [column]: -1 }]),
    ]);
    refuses('another outcome of a final batch', 'batches_change_lawfully', (given) =>
      withRow('batches', { ...batchRow(given), ...ENDED }, (transaction) =>
        transaction('batches').update({ total: 1 }),
      ),
    );
    const lineOf = (given: Given, changes: Row = {}): PromiseLike<unknown> => {
      const batch = batchRow(given);
      const line = { batch_id: batch['id'], number: 1, custom_id: 'one', ...changes };
      return withRow('batches', batch, (transaction) => transaction('batch_lines').insert([line, line]));
    };
    const refusals: readonly (readonly [what: string, rule: string, changes: Row])[] = [
      ['a line twice', 'batch_lines_pkey', {}],
      ['a line without a number', 'batch_lines_number_check', { number: 0 }],
      ['a line with an unknown status', 'batch_lines_status_check', { status: 'resting' }],
      ['a negative attempt', 'batch_lines_attempt_check', { attempt: -1 }],
    ];
    for (const [what, rule, changes] of refusals) refuses(what, rule, (given) => lineOf(given, changes));
    refuses('a line of no batch', 'batch_lines_batch_id_fkey', () =>
      insert('batch_lines', { batch_id: newId('batch'), number: 1, custom_id: 'one' }),
    );
    refuses('a line of no job', 'batch_lines_job_id_fkey', (given) => {
      const batch = batchRow(given);
      const line = { batch_id: batch['id'], number: 1, custom_id: 'one', job_id: randomUUID() };
      return withRow('batches', batch, (transaction) => transaction('batch_lines').insert(line));
    });
    const jobOf = (batchId: unknown): Row => ({
      id: randomUUID(),
      batch_id: batchId,
      model: 'textc-M3',
      upstream: 'simulator',
      upstream_format: 'messages',
      upstream_model: 'textc-M3',
      key_digest: 'a',
      remainder: 'direct',
      cost_factor: '0.5',
      created_at: new Date(),
      sent_at: new Date(),
      vendor_id: 'a',
    });
    const jobRefusals: readonly (readonly [what: string, rule: string, changes: Row])[] = [
      ['a job with an unknown remainder', 'batch_jobs_remainder_check', { remainder: 'rest' }],
      ['a job that costs nothing', 'batch_jobs_cost_factor_check', { cost_factor: 0 }],
      ['a job with negative misses', 'batch_jobs_misses_check', { misses: -1 }],
      ['a job with an unknown outcome', 'batch_jobs_outcome_check', { outcome: 'rest', ended_at: new Date() }],
      ['a job that ends without an outcome', 'batch_jobs_end_with_an_outcome', { ended_at: new Date() }],
      ['a job that exists before it is sent', 'batch_jobs_are_sent_before_they_exist', { sent_at: null }],
    ];
    for (const [what, rule, changes] of jobRefusals) {
      refuses(what, rule, (given) => {
        const batch = batchRow(given);
        return withRow('batches', batch, (transaction) =>
          transaction('batch_jobs').insert({ ...jobOf(batch['id']), ...changes }),
        );
      });
    }
    const twoJobs = (given: Given, changes: Row): PromiseLike<unknown> => {
      const batch = batchRow(given);
      const job = jobOf(batch['id']);
      return withRow('batches', batch, (transaction) =>
        transaction('batch_jobs').insert([job, { ...job, ...changes }]),
      );
    };
    refuses('a job twice', 'batch_jobs_pkey', (given) => twoJobs(given, { vendor_id: 'b' }));
    refuses('a job of the vendor for two jobs', 'batch_jobs_have_one_vendor_job', (given) =>
      twoJobs(given, { id: randomUUID() }),
    );
    refuses('a job of no batch', 'batch_jobs_batch_id_fkey', () => insert('batch_jobs', jobOf(newId('batch'))));
    const contentRow = (): Row => ({ id: `${newId('batch')}/00001/000`, encrypted_content: Buffer.alloc(1) });
    refusesRows('batch_contents', contentRow, [['a content of no line', { id: newId('batch') }]]);
  });

  describe('in total', () => {
    it('each refuse a statement of these tests, apart from the listed ones', () => {
      expect(rules.untested()).to.deep.equal(Object.keys(SHADOWED).sort());
    });

    it('leave the account of these tests unchanged', async () => {
      expect(await reloadAccount(database, given.account)).to.deep.equal(given.account);
    });
  });
});

const TAKEN = { debit: 'available', credit: 'adjustments' };
const REFUND = { kind: 'refund', credit: 'available' };
const FAILED = { status: 'failed', error_code: 'processing_failed', error_message: 'It failed.' };

/** The tokens of a text request, in the columns of its tables. */
const TOKENS = {
  input_tokens: 1,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 1,
};

async function prepare(database: Database): Promise<Given> {
  const account = await createAccount(database, { fundedUsd: 100, signupUsd: 5 });
  const other = await createAccount(database);
  const key = await createKey(database, account);
  const otherKey = await createKey(database, other);
  const deletedKey = await createKey(database, account);
  await deleteApiKey(database, deletedKey.id);
  const endpoint = await createEndpoint(database, account);

  const [queued, processing, succeeded, failed, heldTask, settledTask] = [
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
    await createTaskRow(database, key),
  ];
  await database('tasks').where({ id: processing.id }).update({ status: 'processing', provider_job_id: 'first' });
  await finishAsSucceeded(database, succeeded);
  await finishAsFailed(database, failed);

  await finishAsSucceeded(database, settledTask);
  const settledHold = await reservationRow(database, settledTask);
  await spendSignupCredit(database, account, key);
  const action = await recordOperatorAction(database, {
    taskId: queued.id,
    kind: 'cancel',
    author: 'tester',
    reason: 'a test',
  });
  const version = { factor: '0.9', rules: [], author: 'Ada', reason: 'a test' };
  const { list: priceList } = await createPriceList(database, 'partners', version);
  await database('price_lists').insert({ name: 'empty' });
  return {
    priceList,
    account: await reloadAccount(database, account),
    other,
    key,
    otherKey,
    deletedKey,
    queued,
    processing,
    succeeded,
    failed,
    heldTask,
    hold: await reservationRow(database, heldTask),
    settledHold,
    settlement: await rowOf(database, 'transfers', { pending_id: settledHold['id'] }),
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

/** An allowance's hold of a text process; the changes override fields. */
function reservationOf(key: TestKey, changes: Row = {}): Row {
  const now = new Date();
  return {
    id: newId('transfer'),
    opened_at: now,
    created_at: now,
    kind: 'allowance',
    debit: 'available',
    credit: 'reserved',
    amount: 1_000,
    signup_amount: 0,
    account_id: key.accountId,
    api_key_id: key.id,
    allowance_id: newId('allowance'),
    ...changes,
  };
}

/** The changes that make the hold the reservation of a task. */
function ofTask(task_id: unknown): Row {
  return { kind: 'reservation', allowance_id: null, task_id };
}

/** The settlement of a reservation; the changes override fields. */
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
    ...TOKENS,
    estimated: false,
    held: 10,
    charge: 10,
    excess: 0,
    absorbed: 0,
    ...changes,
  };
}

function allowanceOf({ id: api_key_id, accountId: account_id }: TestKey): Row {
  return {
    id: newId('allowance'),
    process_id: randomUUID(),
    account_id,
    api_key_id,
    amount: 10,
    signup_amount: 0,
    opened_at: new Date(),
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
