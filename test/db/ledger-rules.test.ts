import { expect } from 'chai';
import type { Database } from '../../db/database.ts';
import { moveOf, TRANSFERS } from '../../domain/ledger.ts';
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the rules that PostgreSQL keeps beside the domain', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
  });

  after(() => testDatabase.drop());

  async function definition(sql: string): Promise<string> {
    const { rows } = await database.raw<{ rows: { definition: string }[] }>(sql);
    return rows[0]?.definition ?? '';
  }

  it('let transfers move what the domain says, and nothing else', async () => {
    const check = await definition(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
      WHERE conname = 'transfers_books' AND conrelid = 'transfers'::regclass`,
    );
    const move = /kind = '(\w+)'::text\) AND \(debit = '(\w+)'::text\) AND \(credit = '(\w+)'/g;
    const allowed = [...check.matchAll(move)].map(([, ...words]) => words.join(' '));
    const moves = [...Object.entries(TRANSFERS), ['adjustment', moveOf('adjustment', true)] as const];
    expect(allowed).to.have.members(moves.map(([kind, { debit, credit }]) => `${kind} ${debit} ${credit}`));
  });

  it('replay an idempotent answer for as long as the domain says', async () => {
    const body = await definition(
      `SELECT prosrc AS definition FROM pg_proc WHERE proname = 'complete_idempotency_claim'`,
    );
    expect(body).to.include(`interval '${IDEMPOTENCY.windowHours} hours'`);
  });
});
