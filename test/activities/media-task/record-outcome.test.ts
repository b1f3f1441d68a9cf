import { expect } from 'chai';
import type { RecordedCall } from '../../../db/call-recorder.ts';
import type { Database } from '../../../db/database.ts';
import { listMediaCircuits } from '../../../db/queries/media-outcomes.ts';
import { recordNoResult, settleSubmission } from '../../../db/queries/submissions.ts';
import type { CallTarget } from '../../../db/queries/upstream-calls.ts';
import { circuitState } from '../../../domain/circuit.ts';
import {
  CANCELLED_BY_CUSTOMER,
  CANCELLED_BY_OPERATOR,
  reasonOf,
  type Task,
  type TaskFailure,
} from '../../../domain/task.ts';
import { createFinish, createRefund, createSettle } from '../../../activities/media-task/finish.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey, createTaskRow, openTaskSubmission, type TestKey } from '../../support/factories.ts';

describe('the calls of a media upstream', () => {
  const testDatabase = useTestDatabase();
  let database: Database;
  const recorded: (CallTarget & RecordedCall)[] = [];
  const metrics = createMetrics();
  let key: TestKey;
  const calls = { record: (target: CallTarget, call: RecordedCall) => void recorded.push({ ...target, ...call }) };

  before(async () => {
    ({ database } = testDatabase);
    key = await createFundedKey(database);
  });
  beforeEach(() => recorded.splice(0));

  async function acceptedTask(provider = 'simulator'): Promise<string> {
    const task = await createTaskRow(database, key);
    const submission = await openTaskSubmission(database, task, { provider });
    await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'x', jobId: task.id });
    return task.id;
  }

  async function refuseAsBusy(task: Task, attempt: number): Promise<void> {
    const submission = await openTaskSubmission(database, task, { attempt });
    const settlement = { outcome: 'not_taken', evidence: 'the answer', code: 'busy', detail: 'No capacity' } as const;
    await settleSubmission(database, submission, settlement);
  }

  const finish = () => createFinish({ database, metrics, calls });

  it('have one answered call when the task of an accepted job succeeds', async () => {
    const taskId = await acceptedTask();
    const output = [{ type: 'video', url: 'https://x.test/a.mp4', mimeType: 'video/mp4' }] as const;
    for (let times = 0; times < 2; times++) await createSettle(finish())(taskId, output);
    expect(recorded.map(({ failure, accountId }) => [failure, accountId])).to.deep.equal([[null, key.accountId]]);
  });

  const ENDINGS: readonly (readonly [what: string, failure: TaskFailure, isFault: boolean])[] = [
    ['a render that failed', { code: 'processing_failed', message: 'The render failed.' }, true],
    ['a render that did not end in time', { code: 'processing_timeout', message: 'Too late.' }, true],
    ['a render without usable files', { code: 'result_transfer_failed', message: 'No file.' }, true],
    ['a prompt that the upstream refused', { code: 'content_policy_violation', message: 'No.' }, false],
    ['an invalid request', { code: 'bad_request', message: 'No.' }, false],
    ['a task that an operator cancelled', CANCELLED_BY_OPERATOR, false],
    ['a task that its customer cancelled', CANCELLED_BY_CUSTOMER, false],
  ];
  for (const [what, failure, isFault] of ENDINGS) {
    const { code, message, cancelledBy } = failure;
    it(`have one ${isFault ? 'failed' : 'answered'} call for ${what} after acceptance`, async () => {
      await createRefund(finish())(await acceptedTask(), code, message, cancelledBy);
      expect(recorded.map(({ failure }) => failure)).to.deep.equal([
        isFault ? { fault: code, status: null, message: '' } : null,
      ]);
      expect(await metrics.render()).to.match(
        new RegExp(`genway_media_jobs_ended_total\\{.*outcome="${reasonOf(failure)}"`),
      );
    });
  }

  it('have the words of the upstream as the message of a failure, not the message for the client', async () => {
    const taskId = await acceptedTask();
    await recordNoResult(database, taskId, { code: 'processing_failed', detail: 'GPU lost' });
    await createRefund(finish())(taskId, 'processing_failed', 'The render failed.');
    expect(recorded).to.have.nested.property('[0].failure.message', 'GPU lost');
  });

  for (const [what, { code, message, cancelledBy }, isFault] of ENDINGS) {
    it(`${isFault ? 'open' : 'do not open'} the circuit of their upstream when five in a row end with ${what}`, async () => {
      const stateOf = async (provider: string) => {
        const circuits = await listMediaCircuits(database, Date.now(), []);
        const known = circuits.find((one) => one.provider === provider);
        return known && circuitState(known.circuit, Date.now());
      };
      const taskIds = await Promise.all(Array.from({ length: 5 }, () => acceptedTask(what)));
      expect(await stateOf(what)).to.equal('closed');
      for (const taskId of taskIds) await createRefund(finish())(taskId, code, message, cancelledBy);
      expect(await stateOf(what)).to.equal(isFault ? 'open' : 'closed');
    });
  }

  it('have one failed call for a task that fails while its upstream is busy, however often it was submitted', async () => {
    const task = await createTaskRow(database, key);
    await refuseAsBusy(task, 1);
    await refuseAsBusy(task, 2);
    await createRefund(finish())(task.id, 'processing_timeout', 'Too late.');
    expect(recorded.map(({ upstream, failure }) => [upstream, failure])).to.deep.equal([
      ['simulator', { fault: 'busy', status: null, message: 'No capacity' }],
    ]);
  });

  it('have no call for a task that its customer cancels while its upstream is busy', async () => {
    const task = await createTaskRow(database, key);
    await refuseAsBusy(task, 1);
    const { code, message, cancelledBy } = CANCELLED_BY_CUSTOMER;
    await createRefund(finish())(task.id, code, message, cancelledBy);
    expect(recorded).to.deep.equal([]);
  });

  it('have no further call at the end of a task without an accepted job', async () => {
    const task = await createTaskRow(database, key);
    const submission = await openTaskSubmission(database, task);
    const settlement = { outcome: 'not_taken', evidence: 'the answer', code: 'failed', detail: 'Down' } as const;
    await settleSubmission(database, submission, settlement);
    await createRefund(finish())(task.id, 'processing_unavailable', 'Unavailable.');
    expect(recorded).to.deep.equal([]);
  });
});
