import { expect } from 'chai';
import type { Database } from '../../db/database.ts';
import { ANNOUNCED_SECONDS } from '../../db/queries/price-lists.ts';
import { HEARTBEAT_TIMEOUT_SECONDS, isLeaseValid } from '../../db/text-lease.ts';
import { RECORDED_COLUMNS, SETTLEMENT_FIELDS } from '../../db/text-money/settlement.ts';
import { BATCH_ENDPOINTS, BATCH_LINE_STATUSES, BATCH_STATUSES } from '../../domain/batch.ts';
import { LIMIT_PERIODS } from '../../domain/api-key.ts';
import { DOCUMENT_KINDS } from '../../domain/billing-document.ts';
import { TASK_ERROR_CODES } from '../../domain/errors.ts';
import { FILE_PURPOSES } from '../../domain/file-purpose.ts';
import { findPosting, TRANSFERS } from '../../domain/ledger.ts';
import { MAIL_OUTCOMES } from '../../domain/mail.ts';
import { END_USERS, IDEMPOTENCY, REFUSED_CALLS, WEBHOOKS, RESPONSES } from '../../domain/policy.ts';
import { BLOCK_KINDS, REGISTRATION_STATES } from '../../domain/registration.ts';
import { ADMIN_ROLES, MEMBER_ROLES } from '../../domain/roles.ts';
import { SIGNUP_CREDIT_OUTCOMES } from '../../domain/signup-credit.ts';
import { TASK_STATUSES } from '../../domain/task.ts';
import { SUMMED_TOKEN_COUNTS, TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import { BILL_TOLERANCES } from '../../domain/vendor-bill.ts';
import { ENDPOINT_TEST_EVENT, SUBSCRIBABLE_EVENTS } from '../../domain/webhook-event.ts';
import { REQUEST_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { useTestDatabase } from '../support/database.ts';

describe('the domain rules that PostgreSQL also enforces', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  async function definition(sql: string, bindings: readonly string[] = []): Promise<string> {
    const { rows } = await database.raw<{ rows: { definition: string }[] }>(sql, [...bindings]);
    return rows[0]?.definition ?? '';
  }

  function constraintOf(name: string, table: string): Promise<string> {
    return definition(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
      WHERE conname = ? AND conrelid = ?::regclass`,
      [name, table],
    );
  }

  it('let transfers move the books that the domain permits, and no others', async () => {
    const check = await constraintOf('transfers_books', 'transfers');
    // The items of an array of text, such as `{"topup payments available",…}`.
    const allowed = [...check.matchAll(/"(\w+ \w+ \w+)"/g)].map(([, move]) => move);
    const moves = [...Object.entries(TRANSFERS), ['adjustment', findPosting('adjustment', true)] as const];
    expect(allowed).to.have.members(moves.map(([kind, { debit, credit }]) => `${kind} ${debit} ${credit}`));
  });

  const lists: readonly (readonly [constraint: string, table: string, words: readonly string[]])[] = [
    ['tasks_status_check', 'tasks', TASK_STATUSES],
    ['tasks_error_code_check', 'tasks', TASK_ERROR_CODES],
    ['batches_status_check', 'batches', BATCH_STATUSES],
    ['batches_endpoint_check', 'batches', BATCH_ENDPOINTS],
    ['batch_lines_status_check', 'batch_lines', BATCH_LINE_STATUSES],
    ['webhook_endpoints_events_check', 'webhook_endpoints', SUBSCRIBABLE_EVENTS],
    ['text_requests_format_check', 'text_requests', REQUEST_FORMAT_NAMES],
    ['events_type_check', 'events', [...SUBSCRIBABLE_EVENTS, ENDPOINT_TEST_EVENT]],
    ['api_keys_limit_period_check', 'api_keys', LIMIT_PERIODS],
    ['budgets_limit_period_check', 'budgets', LIMIT_PERIODS],
    ['users_staff_role_check', 'users', ADMIN_ROLES],
    ['admin_tokens_role_check', 'admin_tokens', ADMIN_ROLES],
    ['account_members_role_check', 'account_members', MEMBER_ROLES],
    ['account_invitations_role_check', 'account_invitations', MEMBER_ROLES],
    ['mails_outcome_check', 'mails', MAIL_OUTCOMES],
    ['registrations_state_check', 'registrations', REGISTRATION_STATES],
    ['registration_blocks_kind_check', 'registration_blocks', BLOCK_KINDS],
    ['signup_credits_outcome_check', 'signup_credits', SIGNUP_CREDIT_OUTCOMES],
    ['billing_documents_kind_check', 'billing_documents', DOCUMENT_KINDS],
    ['billing_numbers_kind_check', 'billing_numbers', DOCUMENT_KINDS],
    ['uploads_purpose_check', 'uploads', FILE_PURPOSES],
  ];
  for (const [constraint, table, words] of lists) {
    it(`allow only the domain’s words: ${constraint}`, async () => {
      const check = await constraintOf(constraint, table);
      expect([...check.matchAll(/'([\w./-]+)'::text/g)].map(([, word]) => word)).to.have.members([...words]);
    });
  }

  async function bodyOf(name: string): Promise<string> {
    return definition('SELECT prosrc AS definition FROM pg_proc WHERE proname = ?', [name]);
  }

  async function columnsOf(name: string): Promise<readonly string[]> {
    const { rows } = await database.raw<{ rows: { attname: string }[] }>(
      'SELECT attname FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum',
      [name],
    );
    return rows.map(({ attname }) => attname);
  }

  it('have a column for every count of tokens', async () => {
    const counts = TOKEN_COUNTS.map(({ column }) => column);
    for (const table of ['text_requests', 'failed_text_attempts'])
      expect(await columnsOf(table), table).to.include.members(counts);
    expect(await columnsOf('daily_usage')).to.include.members(SUMMED_TOKEN_COUNTS.map(({ column }) => column));
    const body = await bodyOf('settle_text');
    expect(counts.filter((column) => !body.includes(`(attempt.used->>'${column}')::bigint`))).to.deep.equal([]);
  });

  it('read settlements in the order in which text processes write them', async () => {
    expect((await columnsOf('text_settlement')).join(', ')).to.equal(
      SETTLEMENT_FIELDS.split(', ')
        .map((field) => field.split(' ')[0])
        .join(', '),
    );
    const flat = (await bodyOf('settle_text')).replace(/\s+/g, ' ');
    expect(flat).to.include(`INSERT INTO text_requests (${RECORDED_COLUMNS}, held, excess, absorbed)`);
    expect(flat).to.include(`SELECT ${RECORDED_COLUMNS}, amount_held, 0, 0`);
  });

  it('bound names of end users alike', async () => {
    for (const [constraint, table] of [
      ['budgets_end_user_check', 'budgets'],
      ['tasks_end_user_check', 'tasks'],
      ['text_requests_end_user_check', 'text_requests'],
    ] as const)
      expect(await constraintOf(constraint, table)).to.include(`<= ${END_USERS.maxNameLength}`);
  });

  it('store as much of an answer to a webhook as an attempt reads', async () => {
    const check = await constraintOf('delivery_attempts_answer_check', 'delivery_attempts');
    expect(check).to.include(`<= ${WEBHOOKS.answerBytes}`);
  });

  it('shorten the texts of refused calls alike', async () => {
    const { maxText, maxRequests } = REFUSED_CALLS;
    for (const [name, most] of [
      ['refused_calls_path_check', maxText],
      ['refused_calls_request_ids_check', maxRequests],
      ['refused_calls_have_reasons', maxRequests * maxText],
    ] as const)
      expect(await constraintOf(name, 'refused_calls')).to.include(`<= ${most}`);
  });

  it('bound the time for which responses are stored alike', async () => {
    expect(await constraintOf('accounts_response_minutes_check', 'accounts')).to.include(`<= ${RESPONSES.maxMinutes}`);
  });

  it('fence text processes by the same lease and the same silence', async () => {
    expect(await bodyOf('recall_text_money')).to.include(isLeaseValid('moment'));
    expect(await bodyOf('renew_text_lease')).to.include(`interval '${HEARTBEAT_TIMEOUT_SECONDS} seconds'`);
  });

  it('announce versions of price lists equally early', async () => {
    expect(await constraintOf('price_list_versions_are_announced', 'price_list_versions')).to.include(
      `'00:00:0${ANNOUNCED_SECONDS}'::interval`,
    );
  });

  it('tolerate the same differences of bills', async () => {
    const { rows } = await database.raw<{ rows: { body: string }[] }>(
      "SELECT prosrc AS body FROM pg_proc WHERE proname IN ('is_as_billed', 'bill_differences')",
    );
    const bodies = rows.map(({ body }) => body).join('\n');
    expect(Object.values(BILL_TOLERANCES).filter((tolerance) => !bodies.includes(String(tolerance)))).to.deep.equal([]);
  });

  it("replay an idempotent answer for the domain's time", async () => {
    expect(await bodyOf('complete_idempotency_claim')).to.include(`interval '${IDEMPOTENCY.windowHours} hours'`);
  });
});
