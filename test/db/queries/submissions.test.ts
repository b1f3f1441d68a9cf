import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  findOwnedJobs,
  hasAmbiguousSubmissions,
  isJobOfAnotherTask,
  listSubmissions,
  openSubmission,
  recordCost,
  recordFiles,
  recordNoResult,
  type Settlement,
  settleSubmission,
} from '../../../db/queries/submissions.ts';
import { newId } from '../../../domain/ids.ts';
import type { Task } from '../../../domain/task.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  openTaskSubmission,
  reloadTask,
  submitTask,
  type TestKey,
  VIDEO,
} from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const NOT_TAKEN: Settlement = { outcome: 'not_taken', evidence: 'the answer' };
const GIVEN_UP: Settlement = { outcome: 'unknown', evidence: 'nothing', possibleLoss: 7n };

describe('submissions', () => {
  let database: Database;
  let key: TestKey;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    key = await createFundedKey(database);
  });

  const newTask = (): Promise<Task> => createTaskRow(database, key);
  const accepted = (jobId: string): Settlement => ({ outcome: 'accepted', evidence: 'the answer', jobId });
  const attempt = (task: Task, number: number) =>
    openSubmission(database, {
      taskId: task.id,
      attempt: number,
      route: 1,
      provider: 'other',
      vendor: 'v',
      model: 'm',
      fingerprint: 'f',
    });

  it('keep the first reason why there is no result', async () => {
    const task = await newTask();
    await submitTask(database, task, 'late_job');
    await recordNoResult(database, task.id, { code: 'processing_timeout', detail: 'drawing, 42%' });
    await recordNoResult(database, task.id, { code: 'processing_failed', detail: 'cancelled' });
    const [submission] = await listSubmissions(database, task.id);
    expect(submission).to.include({ code: 'processing_timeout', detail: 'drawing, 42%' });
  });

  describe('opening a submission', () => {
    it('moves the task to its upstream', async () => {
      const task = await newTask();
      expect(await attempt(task, 1)).to.include({ attempt: 1, provider: 'other', outcome: null });
      expect(await reloadTask(database, task)).to.include({ provider: 'other', status: 'queued' });
    });

    it('counts the task as processing where no job will exist to wait for', async () => {
      const task = await newTask();
      const sent = { provider: 'p', vendor: 'v', model: 'm', fingerprint: 'f' };
      const submission = { taskId: task.id, attempt: 1, route: 0, ...sent };
      await openSubmission(database, submission, { isRendering: true });
      expect(await reloadTask(database, task)).to.include({ provider: 'p', status: 'processing' });
    });

    it('is refused while the outcome of another is unknown, or when one was accepted', async () => {
      const task = await newTask();
      await openTaskSubmission(database, task);
      await rejectionOf(attempt(task, 2));
      await submitTask(database, await newTask(), 'job_of_another');
      const done = await newTask();
      await submitTask(database, done, 'job');
      expect(await attempt(done, 2)).to.equal(null);
    });

    it('is possible after a rejected submission, and after an abandoned one', async () => {
      const task = await newTask();
      await settleSubmission(database, await openTaskSubmission(database, task), NOT_TAKEN);
      const second = await openTaskSubmission(database, task, { attempt: 2 });
      await settleSubmission(database, second, GIVEN_UP);
      expect(await attempt(task, 3)).to.include({ attempt: 3 });
      const outcomes = (await listSubmissions(database, task.id)).map(({ outcome }) => outcome);
      expect(outcomes).to.deep.equal(['not_taken', 'unknown', null]);
    });

    it('is not possible for a final task', async () => {
      const { task } = await finishAsFailed(database, await newTask());
      expect(await attempt(task, 1)).to.equal(null);
    });
  });

  describe('settling a submission', () => {
    it('gives the task its job', async () => {
      const task = await newTask();
      const submission = await openTaskSubmission(database, task);
      expect(await settleSubmission(database, submission, accepted('job_1'))).to.equal(true);
      expect(await reloadTask(database, task)).to.include({ status: 'processing', providerJobId: 'job_1' });
    });

    it('counts only the first time', async () => {
      const task = await newTask();
      const submission = await openTaskSubmission(database, task);
      await settleSubmission(database, submission, accepted('job_once'));
      expect(await settleSubmission(database, submission, accepted('job_2'))).to.equal(false);
      expect(await settleSubmission(database, submission, NOT_TAKEN)).to.equal(false);
      expect(await reloadTask(database, task)).to.include({ providerJobId: 'job_once' });
    });

    it('cannot be changed by hand afterwards, nor can the sent request', async () => {
      const task = await newTask();
      await settleSubmission(database, await openTaskSubmission(database, task), NOT_TAKEN);
      const row = (): ReturnType<Database> => database('submissions').where({ task_id: task.id });
      for (const change of [{ outcome: 'accepted' }, { fingerprint: 'other' }, { attempt: 9 }]) {
        await rejectionOf(row().update(change));
      }
      await rejectionOf(row().delete());
    });

    it('leaves a final task without its job', async () => {
      const task = await newTask();
      const submission = await openTaskSubmission(database, task);
      await finishAsFailed(database, task);
      await settleSubmission(database, submission, accepted('job_too_late'));
      expect(await reloadTask(database, task)).to.include({ status: 'failed', providerJobId: null });
      expect((await listSubmissions(database, task.id))[0]).to.include({ jobId: 'job_too_late' });
    });

    it('gives a job of a vendor to one task, whichever upstreams lead to the vendor, also when two claim it at once', async () => {
      const tasks = [await newTask(), await newTask(), await newTask()];
      const submissions = await Promise.all(
        tasks.map((task, index) => openTaskSubmission(database, task, { provider: `upstream-${index}` })),
      );
      const settled = await Promise.allSettled(
        submissions.map((submission) => settleSubmission(database, submission, accepted('job_for_one'))),
      );
      const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(refused.map(isJobOfAnotherTask)).to.deep.equal([true, true]);
      const reloaded = await Promise.all(tasks.map((task) => reloadTask(database, task)));
      expect(reloaded.filter(({ providerJobId }) => providerJobId === 'job_for_one')).to.have.length(1);
      const elsewhere = await openTaskSubmission(database, await newTask(), { vendor: 'another vendor' });
      expect(await settleSubmission(database, elsewhere, accepted('job_for_one'))).to.equal(true);
    });

    it('keeps the possible loss, and the stored files of a render that was returned with them', async () => {
      const lost = await newTask();
      await settleSubmission(database, await openTaskSubmission(database, lost), GIVEN_UP);
      expect((await listSubmissions(database, lost.id))[0]).to.include({ outcome: 'unknown', possibleLoss: 7n });
      const rendered = await newTask();
      const endedAt = new Date();
      await recordFiles(database, await openTaskSubmission(database, rendered), { files: [VIDEO], endedAt });
      const [kept] = await listSubmissions(database, rendered.id);
      expect(kept).to.deep.include({ outcome: 'accepted', files: [VIDEO], endedAt });
    });
  });

  it('keep the upstream’s charge', async () => {
    const task = await newTask();
    await submitTask(database, task, 'job_that_cost');
    await recordCost(database, task.id, { reported: { amount: '12.5', unit: 'credits' }, cost: 3n });
    expect((await listSubmissions(database, task.id))[0]).to.deep.include({
      vendorCost: { amount: '12.5', unit: 'credits' },
      cost: 3n,
    });
  });

  it('identify the jobs of other tasks', async () => {
    const [mine, theirs] = [await newTask(), await newTask()];
    await submitTask(database, mine, 'job_of_mine');
    await submitTask(database, theirs, 'job_of_theirs');
    const [submission] = await listSubmissions(database, mine.id);
    const owned = await findOwnedJobs(database, {
      taskId: mine.id,
      vendor: submission?.vendor ?? '',
      jobIds: ['job_of_mine', 'job_of_theirs', 'job_of_nobody'],
    });
    expect([...owned]).to.deep.equal(['job_of_theirs']);
  });

  it('have rivals in others of the same body, or of the same model, whose outcome is unknown', async () => {
    const submit = async (fingerprint: string, vendor = 'rivalry') =>
      openTaskSubmission(database, await newTask(), { provider: newId('task'), vendor, fingerprint });
    const submission = await submit('mine');
    const rivals = (fingerprint: string | null): Promise<boolean> =>
      hasAmbiguousSubmissions(database, submission, { fingerprint, withinMs: 60_000 });
    expect([await rivals('mine'), await rivals(null)]).to.deep.equal([false, false]);
    await submit('mine', 'another vendor');
    expect([await rivals('mine'), await rivals(null)]).to.deep.equal([false, false]);
    const other = await submit('other');
    expect([await rivals('mine'), await rivals(null)]).to.deep.equal([false, true]);
    await settleSubmission(database, other, GIVEN_UP);
    expect(await rivals(null), 'what was given up may be anything').to.equal(true);
    const same = await submit('mine');
    expect(await rivals('mine')).to.equal(true);
    await settleSubmission(database, same, accepted('job_of_same'));
    expect(await rivals('mine')).to.equal(false);
  });
});
