import { expect } from 'chai';
import type { Database } from '../../db/database.ts';
import { PARTITIONED_TABLES } from '../../db/partitions.ts';
import { SWEEPS } from '../../db/sweeps.ts';
import { newId } from '../../domain/ids.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { useTestDatabase } from '../support/database.ts';
import { createAccount } from '../support/factories.ts';

const DAY_MS = 86_400_000;
const LONG_AGO = new Date(Date.now() - (WEBHOOKS.keptDays + 1) * DAY_MS);

/** Why each table without monthly partitions stays bounded: by a sweep, or by the rows that it depends on. */
const BOUNDS: Readonly<Record<string, { readonly sweep: string } | { readonly because: string }>> = {
  account_members: { because: 'people are made members by people' },
  account_merges: { because: 'a few, which people make, and books keep for ever' },
  accounts: { because: 'one for each customer; operators make them' },
  acknowledgements: { because: 'people make them, with a reason each, and books keep them for ever' },
  agreed_checkouts: { because: 'one for each card that people give' },
  admin_actions: { because: 'people make changes, and audits read them for ever' },
  admin_tokens: { because: 'one for each person or program that operates, and audits refer to them for ever' },
  applied_functions: { because: 'one for each function of db/functions' },
  api_keys: { because: 'operators make them, and charges refer to them for ever' },
  batches: { because: 'an account has few at a time, and finance names them by their text requests for ever' },
  batch_jobs: { because: 'a batch has few, and operators find the jobs of a vendor by them' },
  batch_lines: { because: 'the end of their batch deletes them' },
  batch_contents: { because: 'the end of their batch deletes them' },
  billing_documents: { because: 'one for each payment, and for each month of an account, which books keep for ever' },
  billing_numbers: { because: 'one for each kind and year' },
  carried_balances: { because: 'one for each account and detached month, which stand for all its rows' },
  carried_usage: { because: 'one for each key and detached month, which stand for all its rows' },
  closed_months: { because: 'one for each month, which books keep for ever' },
  configurations: { because: 'one for each start of a process, and for each change of the files and process' },
  contradicted_payments: { because: 'one for each payment that was credited otherwise, which audits read for ever' },
  corrections: { because: 'a few, which people make, and books keep for ever' },
  daily_transfers: { because: 'one for each day and kind, which stand for all transfers of an account' },
  daily_usage: { because: 'one for each day, key and model that an account used, which stand for all its rows' },
  daily_usage_summed: { because: 'one row' },
  deleted_results: { because: 'one for each task whose customer deleted the files' },
  deliveries: { sweep: 'events' },
  delivery_attempts: { sweep: 'events' },
  due_credit_notes: { because: 'issuing the credit notes removes them: db/queries/returned-payments.ts' },
  budgets: { because: 'owners and operators make them, at most 10,000 of end users and 40 others for an account' },
  events: { sweep: 'events' },
  gift_batches: { because: 'people issue them, and books keep them for ever' },
  gift_codes: { because: 'at most 1,000 of a batch, which books keep for ever' },
  idempotency_keys: { sweep: 'idempotency keys' },
  invoiced_months: { because: 'one for each closed month' },
  knex_migrations: { because: 'one for each migration' },
  knex_migrations_lock: { because: 'one row' },
  live_overload: { because: 'one row' },
  late_usage: { because: 'summing usage removes them: db/usage-sums.ts' },
  mails: { sweep: 'mails' },
  model_overrides: { because: 'people give them, with a reason each, and audits read them for ever' },
  unapproved_adjustments: { because: 'one for each amount that people move by hand, which books keep for ever' },
  late_results: {
    because:
      'their own sweep removes those that nobody claimed (activities/sweep.ts); a task stands for each of the others',
  },
  operator_actions: { because: 'people make them, with a reason each, and audits read them for ever' },
  price_lists: { because: 'people make them, at most 1,000' },
  price_list_versions: { because: 'people make them, with a reason each, and charges name them for ever' },
  processes: { sweep: 'processes' },
  plan_periods: { because: 'one for each paid invoice of a plan, which books keep for ever' },
  subscriptions: { because: 'one for each subscription that an account paid' },
  subscription_pages: { because: 'one for each account' },
  promo_grants: { because: 'one for each grant, which books keep for ever' },
  promo_holds: { because: 'those of holds under way; whatever ends a hold removes them' },
  rate_cards: { because: 'one for each model and edition of the catalogue, by which charges are computed again' },
  returned_payments: { because: 'one for each payment that went back, which books keep for ever' },
  auto_top_ups: { because: 'one for each account' },
  recovery_codes: { because: 'ten for each user with a second factor' },
  reconciliations: { sweep: 'reconciliations' },
  registration_blocks: { because: 'people make them, with a reason each, and audits read them for ever' },
  registrations: { sweep: 'registrations' },
  address_changes: { sweep: 'changes of addresses' },
  result_files: { because: 'their own sweep removes them once their task has ended: activities/sweep.ts' },
  refused_calls: { sweep: 'refused calls' },
  refused_payments: { sweep: 'refused payments' },
  request_windows: { sweep: 'request windows' },
  sellers: { because: 'one for each change of the configuration' },
  realtime_calls: { sweep: 'calls over WebRTC' },
  realtime_secrets: { sweep: 'client secrets' },
  sent_forms: { sweep: 'sent forms' },
  sessions: { sweep: 'sessions' },
  stored_responses: { sweep: 'stored responses' },
  signup_credits: { because: 'one for each account that registered, and a mailbox gets credit once for ever' },
  sign_in_attempts: { sweep: 'attempts to sign in' },
  secret_marks: { because: 'one row for each kind of secret' },
  failed_text_attempts: { because: 'their costs are of the books, and few attempts fail after they have used tokens' },
  text_costs: { because: 'one for each route of text and edition of the catalogue, by which costs are computed' },
  text_free_slots: { sweep: 'slots of free text' },
  text_allowances: { because: 'one for each key that is used; those of dead processes are released' },
  top_ups: { because: 'one for each payment, which books keep for ever' },
  uploads: {
    because: 'an account keeps as many as its quota allows; those that no task used and files of batches expire',
  },
  upstream_overrides: { because: 'people give them, with a reason each, and audits read them for ever' },
  account_invitations: { sweep: 'invitations' },
  process_circuits: { sweep: 'circuits of processes' },
  text_attempts: { sweep: 'attempts of text requests' },
  upstream_calls: { sweep: 'calls of upstreams' },
  upstream_call_failures: { sweep: 'failures of upstream calls' },
  vendor_bills: { because: 'one for each vendor and month, which people import and books keep for ever' },
  vendor_bill_lines: { because: 'about 100,000 of a bill at most' },
  upstream_failures: { because: 'one for each route, key and fault' },
  poll_problems: { because: 'two for each upstream and model' },
  user_links: { sweep: 'links of users' },
  user_identities: { because: 'a few for each user, who connect them' },
  users: { because: 'people are invited by people' },
  vendor_jobs: { sweep: 'jobs of vendors' },
  webhook_endpoints: { sweep: 'webhook endpoints' },
};

describe('the sweeps of old rows', () => {
  let database: Database;
  let accountId: string;
  let endpointId: string;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    accountId = (await createAccount(database)).id;
    endpointId = await insertEndpoint();
  });

  async function insertEndpoint(deletedAt: Date | null = null): Promise<string> {
    const id = newId('webhookEndpoint');
    await database('webhook_endpoints').insert({
      id,
      account_id: accountId,
      url: 'https://example.com/',
      events: ['task.failed'],
      encrypted_secret: Buffer.alloc(1),
      created_at: LONG_AGO,
      updated_at: LONG_AGO,
      deleted_at: deletedAt,
    });
    return id;
  }

  /** An old event with one delivery. @returns the id of the event */
  async function insertDelivery(delivery: { status: string; completed_at: Date | null }): Promise<string> {
    const common = { account_id: accountId, created_at: LONG_AGO };
    const eventId = newId('event', LONG_AGO.getTime());
    const id = newId('delivery', LONG_AGO.getTime());
    await database('events').insert({ ...common, id: eventId, type: 'endpoint.test', payload: '{}' });
    await database('deliveries').insert({ ...common, ...delivery, id, event_id: eventId, endpoint_id: endpointId });
    await database('delivery_attempts').insert({
      delivery_id: id,
      number: 1,
      started_at: LONG_AGO,
      latency_ms: 1,
      status: 500,
    });
    return eventId;
  }

  async function sweep(name: string, limit = 1_000): Promise<number> {
    const run = SWEEPS[name];
    if (!run) throw new Error(`there is no sweep of ${name}`);
    return run(database, limit);
  }

  it('leave no table that grows forever: each is partitioned by month, swept, or bounded by live rows', async () => {
    const { rows } = await database.raw<{ rows: { table_name: string }[] }>(
      `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
        AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = quote_ident(table_name)::regclass)
      ORDER BY table_name`,
    );
    const tables = rows.map((row) => row.table_name);
    expect(tables).to.have.members([...PARTITIONED_TABLES, ...Object.keys(BOUNDS)]);
    const named = Object.values(BOUNDS).flatMap((bound) => ('sweep' in bound ? [bound.sweep] : []));
    expect(new Set(named)).to.deep.equal(new Set(Object.keys(SWEEPS)));
  });

  it('remove events with their deliveries and attempts when all completed long ago, and no others', async () => {
    // contract 6:24
    const over = await insertDelivery({ status: 'delivered', completed_at: LONG_AGO });
    const pending = await insertDelivery({ status: 'pending', completed_at: null });
    const deliveredAgain = await insertDelivery({ status: 'delivered', completed_at: new Date() });
    expect(await sweep('events')).to.equal(1);
    const left = await database('events').whereIn('id', [over, pending, deliveredAgain]).pluck('id');
    expect(left).to.have.members([pending, deliveredAgain]);
    expect(await database('deliveries').where({ event_id: over })).to.deep.equal([]);
    expect(await sweep('events')).to.equal(0);
  });

  it('remove at most the limit at a time', async () => {
    for (let count = 0; count < 3; count += 1) await insertDelivery({ status: 'failed', completed_at: LONG_AGO });
    expect([await sweep('events', 2), await sweep('events', 2), await sweep('events', 2)]).to.deep.equal([2, 1, 0]);
  });

  it('remove a deleted endpoint once nothing refers to it', async () => {
    const live = await insertEndpoint();
    const unused = await insertEndpoint(LONG_AGO);
    const used = await insertEndpoint(LONG_AGO);
    endpointId = used;
    await insertDelivery({ status: 'failed', completed_at: LONG_AGO });
    expect(await sweep('webhook endpoints')).to.equal(1);
    const left = await database('webhook_endpoints').whereIn('id', [live, unused, used]).pluck('id');
    expect(left).to.have.members([live, used]);
    await sweep('events');
    expect(await sweep('webhook endpoints')).to.equal(1);
  });

  it('remove the slots of free text of past minutes, and reconciliation reports that are years old', async () => {
    await database('text_free_slots').insert([
      { account_id: accountId, text_request_id: newId('textRequest'), taken_at: LONG_AGO },
      { account_id: accountId, text_request_id: newId('textRequest'), taken_at: new Date() },
    ]);
    expect(await sweep('slots of free text')).to.equal(1);
    const report = { requested_by: 'schedule', checks: '[]', findings: '[]' };
    await database('reconciliations').insert([
      { ...report, id: newId('reconciliation'), finished_at: new Date(Date.now() - 500 * DAY_MS) },
      { ...report, id: newId('reconciliation'), finished_at: LONG_AGO },
    ]);
    expect(await sweep('reconciliations')).to.equal(1);
  });
});
