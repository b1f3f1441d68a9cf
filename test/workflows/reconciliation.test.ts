import { type ScheduleHandle, ScheduleOverlapPolicy } from '@temporalio/client';
import { expect } from 'chai';
import { pino } from 'pino';
import { ensureSchedules, maintainSchedules } from '../../services/operations/schedules.ts';
import { eventually } from '../support/eventually.ts';
import { uploadImage } from '../support/uploads.ts';
import { type ReportBody, reconcile, reportWhenEnded } from '../support/reconciliations.ts';
import { call, useTestStack } from '../support/stack.ts';
import { createTask, taskWhen, taskWhenFinal } from '../support/tasks.ts';

const SCHEDULE = 'genway-reconciliation';
const SWEEP_SCHEDULE = 'genway-sweep';

/** Starts the schedule's workflow. If a run is in progress, which has maybe looked already, another run follows it. */
const trigger = (schedule: ScheduleHandle): Promise<void> => schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);

describe('the reconciliation workflow', () => {
  const stack = useTestStack();
  let apiKey: string;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });

  it('finds nothing while everything agrees, and names a task without a workflow', async () => {
    const succeeded = await createTask(stack, apiKey, 'a lighthouse');
    const stuck = await createTask(stack, apiKey, 'a lighthouse [sim:stuck]');
    await taskWhenFinal(stack, apiKey, succeeded.id);
    await taskWhen(stack, apiKey, stuck.id, 'processing');
    expect((await reconcile(stack)).findings).to.deep.equal([]);

    await stack.temporal.workflow.getHandle(stuck.id).terminate('a test');
    const { status, findings } = await reconcile(stack);
    expect(status).to.equal('findings');
    expect(findings.map(({ check, subject }) => [check, subject])).to.deep.equal([['workflows', stuck.id]]);
  });

  it('runs on a schedule, which the worker creates if it is missing', async () => {
    const schedule = stack.temporal.schedule.getHandle(SCHEDULE);
    await eventually(() => schedule.describe().catch(() => undefined));
    await ensureSchedules(stack.temporal);
    await trigger(schedule);
    const scheduled = await eventually(async () => {
      const url = `${stack.baseUrl}/admin/v1/reconciliations`;
      const { body } = await call<{ data: ReportBody[] }>(url, { key: stack.adminToken });
      return body.data.find(({ requested_by: requestedBy }) => requestedBy === 'schedule');
    });
    expect((await reportWhenEnded(stack, scheduled.id)).status).to.be.oneOf(['clean', 'findings']);
  });

  it('the worker also creates a schedule that removes expired rows', async () => {
    const past = stack.database.raw(`now() - interval '1 hour'`);
    const { accountId } = await stack.createAccount();
    await stack
      .database('request_windows')
      .insert({ api_key_id: accountId, window_start: past, reads: false, requests: 1 });
    const schedule = stack.temporal.schedule.getHandle(SWEEP_SCHEDULE);
    await eventually(() => schedule.describe().catch(() => undefined));
    await trigger(schedule);
    await eventually(async () => {
      const left = await stack.database('request_windows').where({ api_key_id: accountId });
      return left.length === 0;
    });
  });

  it('the sweep removes uploads that no task used in time, with their files, and keeps other uploads', async () => {
    // contract 4.5:11
    const { apiKey: owner } = await stack.createAccount();
    const upload = () => uploadImage(stack, owner);
    const [used, unused, young] = [await upload(), await upload(), await upload()];
    const body = { model: 'vidone-3.0', prompt: 'A lighthouse', images: [used.url] };
    expect((await call(`${stack.baseUrl}/v1/videos/tasks`, { key: owner, body })).status).to.equal(201);
    await stack
      .database('uploads')
      .whereIn('id', [used.id, unused.id])
      .update({ created_at: stack.database.raw(`now() - interval '8 days'`) });
    await trigger(stack.temporal.schedule.getHandle(SWEEP_SCHEDULE));
    await eventually(async () => (await fetch(unused.url)).status === 404);
    await eventually(async () => {
      const rows = await stack.database<{ id: string }>('uploads').select('id');
      return !rows.some(({ id }) => id === unused.id);
    });
    expect([(await fetch(used.url)).status, (await fetch(young.url)).status]).to.deep.equal([200, 200]);
  });

  it('gets its schedule back when the schedule is lost while a worker runs', async () => {
    const schedule = stack.temporal.schedule.getHandle(SCHEDULE);
    await schedule.delete();
    const keeper = maintainSchedules(stack.temporal, pino({ level: 'silent' }), 10);
    await eventually(() => schedule.describe().catch(() => undefined));
    await schedule.delete();
    await eventually(() => schedule.describe().catch(() => undefined));
    await keeper.stop();
  });
});
