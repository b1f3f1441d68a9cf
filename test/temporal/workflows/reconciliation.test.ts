import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { ensureSchedules, maintainSchedules } from '../../../temporal/schedules.ts';
import { uploadImage } from '../../support/uploads.ts';
import { call, useTestStack } from '../../support/stack.ts';
import { createTask, taskWhen, taskWhenFinal } from '../../support/tasks.ts';

interface Report {
  readonly id: string;
  readonly status: 'running' | 'clean' | 'findings';
  readonly requested_by: string;
  readonly findings: readonly { readonly check: string; readonly subject: string; readonly detail: string }[];
}

const POLL_MS = 200;
const TIMEOUT_MS = 60_000;
const SCHEDULE = 'genway-reconciliation';
const SWEEP_SCHEDULE = 'genway-sweep';

describe('the reconciliation workflow', function () {
  this.timeout(120_000);
  const stack = useTestStack();
  let apiKey: string;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });

  async function ask<Body>(method: string, path: string): Promise<Body> {
    const { body } = await call<Body>(`${stack.baseUrl}/admin/v1/reconciliations${path}`, {
      method,
      key: stack.adminToken,
    });
    return body;
  }

  async function reportOf(id: string): Promise<Report> {
    return until(async () => {
      const { data } = await ask<{ data: Report }>('GET', `/${id}`);
      return data.status === 'running' ? undefined : data;
    });
  }

  async function reconcile(): Promise<Report> {
    const { data } = await ask<{ data: Report }>('POST', '');
    return reportOf(data.id);
  }

  it('finds nothing while everything agrees, and names a task without a workflow', async () => {
    const succeeded = await createTask(stack, apiKey, 'a lighthouse');
    const stuck = await createTask(stack, apiKey, 'a lighthouse [sim:stuck]');
    await taskWhenFinal(stack, apiKey, succeeded.id);
    await taskWhen(stack, apiKey, stuck.id, 'processing');
    expect((await reconcile()).findings).to.deep.equal([]);

    await stack.temporal.workflow.getHandle(stuck.id).terminate('a test');
    const { status, findings } = await reconcile();
    expect(status).to.equal('findings');
    expect(findings.map(({ check, subject }) => [check, subject])).to.deep.equal([['workflows', stuck.id]]);
  });

  it('runs on a schedule, which the worker creates if it is missing', async () => {
    const schedule = stack.temporal.schedule.getHandle(SCHEDULE);
    await until(() => schedule.describe().catch(() => undefined));
    await ensureSchedules(stack.temporal);
    await schedule.trigger();
    const scheduled = await until(async () => {
      const { data } = await ask<{ data: Report[] }>('GET', '');
      return data.find(({ requested_by: requestedBy }) => requestedBy === 'schedule');
    });
    expect((await reportOf(scheduled.id)).status).to.be.oneOf(['clean', 'findings']);
  });

  it('the worker also creates a schedule that removes expired rows', async () => {
    const past = stack.database.raw(`now() - interval '1 hour'`);
    const { accountId } = await stack.createAccount();
    await stack
      .database('request_windows')
      .insert({ api_key_id: accountId, window_start: past, reads: false, requests: 1 });
    const schedule = stack.temporal.schedule.getHandle(SWEEP_SCHEDULE);
    await until(() => schedule.describe().catch(() => undefined));
    await schedule.trigger();
    await until(async () => {
      const left = await stack.database('request_windows').where({ api_key_id: accountId });
      return left.length === 0 || undefined;
    });
  });

  it('the sweep removes uploads that no task used in time, with their files, and keeps other uploads', async () => {
    // contract 4.5:10
    const { apiKey: owner } = await stack.createAccount();
    const upload = () => uploadImage(stack, owner);
    const [used, unused, young] = [await upload(), await upload(), await upload()];
    const body = { model: 'vidone-3.0', prompt: 'A lighthouse', images: [used.url] };
    expect((await call(`${stack.baseUrl}/v1/videos/tasks`, { key: owner, body })).status).to.equal(201);
    await stack
      .database('uploads')
      .whereIn('id', [used.id, unused.id])
      .update({ created_at: stack.database.raw(`now() - interval '8 days'`) });
    await stack.temporal.schedule.getHandle(SWEEP_SCHEDULE).trigger();
    await until(async () => (await fetch(unused.url)).status === 404 || undefined);
    await until(async () => {
      const rows = await stack.database<{ id: string }>('uploads').select('id');
      return !rows.some(({ id }) => id === unused.id) || undefined;
    });
    expect([(await fetch(used.url)).status, (await fetch(young.url)).status]).to.deep.equal([200, 200]);
  });

  it('gets its schedule back when the schedule is lost while a worker runs', async () => {
    const schedule = stack.temporal.schedule.getHandle(SCHEDULE);
    await schedule.delete();
    const keeper = maintainSchedules(stack.temporal, pino({ level: 'silent' }), 10);
    await until(() => schedule.describe().catch(() => undefined));
    await schedule.delete();
    await until(() => schedule.describe().catch(() => undefined));
    await keeper.stop();
  });
});

/** Repeats the call until there is an answer. */
async function until<Answer>(attempt: () => Promise<Answer | undefined>): Promise<Answer> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const answer = await attempt();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error('it took too long');
    await sleep(POLL_MS);
  }
}
