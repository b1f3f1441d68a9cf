import { expect } from 'chai';
import type { Database } from '../../db/database.ts';
import { TASK_ERROR_CODES } from '../../domain/errors.ts';
import { findPosting, TRANSFERS } from '../../domain/ledger.ts';
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { TASK_STATUSES } from '../../domain/task.ts';
import { SUBSCRIBABLE_EVENTS } from '../../domain/webhook-event.ts';
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
    ['webhook_endpoints_events_check', 'webhook_endpoints', SUBSCRIBABLE_EVENTS],
    ['text_requests_format_check', 'text_requests', REQUEST_FORMAT_NAMES],
  ];
  for (const [constraint, table, words] of lists) {
    it(`allow only the domain’s words: ${constraint}`, async () => {
      const check = await constraintOf(constraint, table);
      expect([...check.matchAll(/'([\w.-]+)'::text/g)].map(([, word]) => word)).to.have.members([...words]);
    });
  }

  it("replay an idempotent answer for the domain's time", async () => {
    const body = await definition(
      `SELECT prosrc AS definition FROM pg_proc WHERE proname = 'complete_idempotency_claim'`,
    );
    expect(body).to.include(`interval '${IDEMPOTENCY.windowHours} hours'`);
  });
});
