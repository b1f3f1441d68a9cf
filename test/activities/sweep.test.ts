import { expect } from 'chai';
import { createFileSweeps } from '../../activities/sweep.ts';
import { eraseContent } from '../../db/queries/content.ts';
import { findLateResult, storeLateResult, lockLateResult } from '../../db/queries/late-results.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { findTask } from '../../db/queries/tasks.ts';
import { recordResultFile } from '../../db/queries/result-files.ts';
import { finishUpload, reserveUpload } from '../../db/queries/uploads.ts';
import { newId } from '../../domain/ids.ts';
import { STORE_SURELY_OVER_MS } from '../../domain/step-limits.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  VIDEO,
} from '../support/factories.ts';

const LONG_AGO = new Date(Date.now() - STORE_SURELY_OVER_MS - 1_000);

describe('the sweep of files', () => {
  let testDatabase: TestDatabase;
  let deleted: string[];
  let sweeps: ReturnType<typeof createFileSweeps>;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    deleted = [];
    const storage = { delete: async (key: string) => void deleted.push(key), keyOf: () => null };
    const histories = { erase: async () => undefined };
    sweeps = createFileSweeps({ storage, histories, uploadExpiryMs: 60_000 });
  });
  afterEach(() => testDatabase.drop());

  it('removes files that no task refers to, and keeps the others, even if the store’s address has changed', async () => {
    const { database } = testDatabase;
    const key = await createKey(database, await createAccount(database, { fundedUsd: 10 }));
    const [succeeded, failed] = [await createTaskRow(database, key), await createTaskRow(database, key)];
    await finishAsSucceeded(database, succeeded);
    await finishAsFailed(database, failed);
    const url = (await findTask(database, succeeded.id))?.output?.[0]?.url ?? '';
    const named = new URL(url).pathname.slice(1);
    expect(named).not.to.equal('');
    await recordResultFile(database, named, succeeded.id);
    await recordResultFile(database, `results/${succeeded.id}/another-attempt/0.mp4`, succeeded.id);
    await recordResultFile(database, `results/${failed.id}/attempt/0.mp4`, failed.id);
    await database('result_files').update({ created_at: LONG_AGO });
    expect(await sweeps['result files'](database, 100)).to.equal(3);
    expect(deleted).to.have.members([
      `results/${succeeded.id}/another-attempt/0.mp4`,
      `results/${failed.id}/attempt/0.mp4`,
    ]);
    expect(await sweeps['result files'](database, 100)).to.equal(0);
  });

  it('erases the files of a late result, after which nobody can claim it or a later result', async () => {
    const { database } = testDatabase;
    const key = await createKey(database, await createAccount(database, { fundedUsd: 10 }));
    const { id: taskId } = await createTaskRow(database, key);
    const failure = { code: 'processing_timeout', message: 'It took too long.' } as const;
    await finishTask(database, taskId, { status: 'failed', failure }, null);
    const late = { accountId: key.accountId, taskId };
    await storeLateResult(database, { ...late, output: [VIDEO] });
    expect(await findLateResult(database, late)).not.to.equal(null);
    await database.transaction((transaction) => eraseContent(transaction, key.accountId));
    expect(await findLateResult(database, late)).to.equal(null);
    const claimable: unknown[] = [];
    const claim = await database.transaction();
    await claim.raw('SELECT now()');
    const storage = {
      keyOf: (url: string) => url,
      delete: async (url: string) => {
        deleted.push(url);
        claimable.push(await findLateResult(database, late), await lockLateResult(claim, late));
        await claim.rollback();
      },
    };
    const histories = { erase: async () => undefined };
    const erasing = createFileSweeps({ storage, histories, uploadExpiryMs: 60_000, erasedAfterMs: 0 });
    expect(await erasing['content of tasks'](database, 100)).to.equal(1);
    expect([deleted, claimable]).to.deep.equal([[VIDEO.url], [null, null]]);
    await storeLateResult(database, { ...late, output: [VIDEO] });
    expect(await findLateResult(database, late)).to.equal(null);
  });

  it('removes the uploads that no task used in time, and no other uploads', async () => {
    const { database } = testDatabase;
    const account = await createAccount(database, { fundedUsd: 10 });
    const uploads = ['unused', 'used', 'new'].map((name) => {
      const id = newId('file');
      return {
        id,
        accountId: account.id,
        storageKey: `uploads/${id}.png`,
        purpose: 'user_data' as const,
        expiresAt: null,
        mimeType: 'image/png',
        filename: name,
        createdAt: new Date(),
      };
    });
    for (const upload of uploads) {
      await reserveUpload(database, upload, { needed: 1, wanted: 1 }, { bytes: 100, files: 10 });
      await finishUpload(database, upload, 1);
    }
    await database('uploads').whereIn('filename', ['unused', 'used']).update({ created_at: LONG_AGO });
    await database('uploads').where({ filename: 'used' }).update({ used_at: LONG_AGO });
    expect(await sweeps.uploads(database, 100)).to.equal(1);
    expect(deleted).to.deep.equal([uploads[0]?.storageKey]);
    expect(await database('uploads').orderBy('id').pluck('filename')).to.have.members(['used', 'new']);
  });
});
