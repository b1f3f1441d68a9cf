import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  CONTENT_TO_ERASE,
  countRemainingContent,
  eraseContent,
  findContentToErase,
} from '../../../db/queries/content.ts';
import { startOutput } from '../../../db/queries/uploads.ts';
import { derivedId, newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey, createTaskRow, finishAsFailed } from '../../support/factories.ts';
import { countRowsRead } from '../../support/query-plan.ts';

const ERASED = 5_000;

describe('the search for content to erase', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  it('includes the answers of a batch that is older than the erasure, although they are written later', async () => {
    const { accountId } = await createFundedKey(database);
    await database.transaction((transaction) => eraseContent(transaction, accountId));
    for (const batchAgeMs of [1_000, -60_000]) {
      const id = derivedId('file', newId('batch', Date.now() - batchAgeMs));
      const createdAt = new Date(Date.now() + 60_000);
      const file = { id, accountId, storageKey: id, mimeType: 'application/jsonl', filename: null, createdAt };
      await startOutput(database, { ...file, purpose: 'batch_output', expiresAt: createdAt });
    }
    expect(await countRemainingContent(database, accountId)).to.deep.equal({ tasks: 0, uploads: 1 });
  });

  it('reads no task that was erased before', async () => {
    const key = await createFundedKey(database);
    const task = await createTaskRow(database, key);
    await finishAsFailed(database, task);
    await database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction.raw(
        /* sql */ `
        INSERT INTO tasks SELECT copy.* FROM tasks AS row
        CROSS JOIN generate_series(1, ${ERASED}) AS number
        CROSS JOIN LATERAL jsonb_populate_record(row, jsonb_build_object('erased_at', now(),
          'id', left(row.id, length(row.id) - 5) || lpad(number::text, 5, '0'))) AS copy
        WHERE row.id = ?`,
        [task.id],
      );
      await eraseContent(transaction, key.accountId);
    });
    await database.raw('ANALYZE tasks, accounts');
    const bounds = { endedForSeconds: 0, limit: 10 };
    const found = await findContentToErase(database, bounds);
    expect(found.map(({ taskId }) => taskId)).to.deep.equal([task.id]);
    expect(await countRowsRead(database, 'tasks', CONTENT_TO_ERASE, bounds)).to.equal(1);
  });
});
