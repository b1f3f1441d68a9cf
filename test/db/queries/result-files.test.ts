import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { findDoneResultFiles, deleteResultFiles, recordResultFile } from '../../../db/queries/result-files.ts';
import { STORE_SURELY_OVER_MS } from '../../../domain/step-limits.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createKey, createTaskRow, finishAsFailed, finishAsSucceeded } from '../../support/factories.ts';

describe('the files of results', () => {
  let database: Database;
  let succeeded: string;
  let failed: string;
  let running: string;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    const key = await createKey(database, await createAccount(database, { fundedUsd: 10 }));
    const tasks = [
      await createTaskRow(database, key),
      await createTaskRow(database, key),
      await createTaskRow(database, key),
    ] as const;
    await finishAsSucceeded(database, tasks[0]);
    await finishAsFailed(database, tasks[1]);
    [succeeded, failed, running] = [tasks[0].id, tasks[1].id, tasks[2].id];
    for (const id of [succeeded, failed, running]) await recordResultFile(database, `results/${id}/old/0.mp4`, id);
    await database('result_files').update({ created_at: new Date(Date.now() - STORE_SURELY_OVER_MS - 1_000) });
    await recordResultFile(database, `results/${failed}/new/0.mp4`, failed);
  });

  it('are due for a check once their task is final and no step can be writing them, with the files that the task names', async () => {
    const files = await findDoneResultFiles(database, 100);
    expect(files.map(({ taskId }) => taskId)).to.have.members([succeeded, failed]);
    expect(files.find(({ taskId }) => taskId === failed)?.urls).to.deep.equal([]);
    expect(files.find(({ taskId }) => taskId === succeeded)?.urls).to.have.length(1);
  });

  it('are deleted by their names', async () => {
    await deleteResultFiles(database, [`results/${failed}/old/0.mp4`]);
    const files = await findDoneResultFiles(database, 100);
    expect(files.map(({ taskId }) => taskId)).to.deep.equal([succeeded]);
  });
});
