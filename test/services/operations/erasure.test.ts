import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { isNotFound } from '../../../services/tasks/workflow-not-found.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { CONTENT_COPIES, CONTENT_SWEEPS } from '../../../db/queries/content.ts';
import type { Sweep } from '../../../db/sweeps.ts';
import { recordCalls } from '../../../db/queries/upstream-calls.ts';
import { eventually, PATIENCE_MS } from '../../support/eventually.ts';
import { fileSweepsOf, filesFolderOf } from '../../support/files.ts';
import { uploadImage } from '../../support/uploads.ts';
import { startRecordingReceiver } from '../../support/receiver.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { call, useTestStack } from '../../support/stack.ts';
import { type TaskBody, taskWhenFinal } from '../../support/tasks.ts';
import { createWebhookClient } from '../../support/webhooks.ts';

interface ContentBody {
  readonly data: {
    readonly erase_before: number | null;
    readonly content_days: number | null;
    readonly tasks_left: number;
    readonly uploads_left: number;
  };
}

const MARKER = 'zebrafish';
const NAMED = { model: 'vidone-3.0', prompt: `A ${MARKER}`, duration: 5, user: MARKER };
const TARGET = { upstream: 'u', format: 'f', model: 'm', key: 'k' };

describe('the content of an account', () => {
  const stack = useTestStack();
  before(() => Promise.all([stack.api.start(), stack.worker.start()]));

  /** A task that contains the marker, with an upload that contains it. */
  async function order(key: string, script = ''): Promise<TaskBody> {
    const images = [(await uploadImage(stack, key, MARKER)).url];
    const { body } = await create(key, { ...NAMED, prompt: `A ${MARKER} ${script}`, images });
    return taskWhenFinal(stack, key, body.data.id);
  }

  const create = (key: string, body: object, headers: Record<string, string> = {}) =>
    call<{ data: TaskBody & { readonly end_user?: string } }>(`${stack.baseUrl}/v1/videos/tasks`, {
      key,
      body,
      headers,
    });

  /** The rows with an encrypted copy, which the marker does not find. */
  async function findEncrypted(accountId: string): Promise<readonly string[]> {
    const responses = stack
      .database('idempotency_keys')
      .where({ account_id: accountId })
      .whereNotNull('encrypted_body');
    return [
      ...(await responses.pluck('key')),
      ...(await stack.database('sent_forms').where({ content_of: accountId })),
    ];
  }

  /** A text request that names an end user. */
  async function ask(key: string, user: string): Promise<void> {
    const { status } = await call(`${stack.baseUrl}/v1/chat/completions`, {
      key,
      body: { model: 'textg-6-sol', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }], user },
    });
    expect(status).to.equal(200);
  }

  const endUsersOf = (accountId: string): Promise<readonly (string | null)[]> =>
    stack.database('text_requests').where({ account_id: accountId }).orderBy('id').pluck('end_user');

  async function content(accountId: string, method: 'GET' | 'DELETE' = 'GET'): Promise<ContentBody['data']> {
    const path = `${stack.baseUrl}/admin/v1/accounts/${accountId}/content`;
    return (await call<ContentBody>(path, { key: stack.adminToken, method })).body.data;
  }

  /** Runs everything that is due, as the worker's sweep does every ten minutes. */
  async function sweep(): Promise<void> {
    const sweeps: readonly Sweep[] = Object.values({ ...CONTENT_SWEEPS, ...fileSweepsOf(stack, { erasedAfterMs: 0 }) });
    const deletedLongAgo = { deleted_at: new Date(0) };
    // An upload is free once its task is erased, and is removed a while later.
    for (let round = 1; round <= 2; round += 1) {
      await stack.database('uploads').whereNotNull('deleted_at').update(deletedLongAgo);
      for (const remove of sweeps) while ((await remove(stack.database, 10)) > 0);
    }
  }

  /** The tables, files and histories that contain the marker. */
  async function findMarker(workflowIds: readonly string[]): Promise<readonly string[]> {
    const tables = await stack
      .database('information_schema.tables')
      .where({ table_schema: 'public', table_type: 'BASE TABLE' })
      .pluck<string[]>('table_name');
    const found: string[] = [];
    const known = new Set(Object.keys(CONTENT_COPIES).map((copy) => copy.split(/[. ]/)[0]));
    for (const table of tables) {
      const { rows } = await stack.database.raw(`SELECT FROM ?? AS row WHERE row::text ILIKE ? LIMIT 1`, [
        table,
        `%${MARKER}%`,
      ]);
      if (rows.length === 0) continue;
      found.push(`table ${table}`);
      expect(known, `CONTENT_COPIES in db/queries/content.ts lacks ${table}`).to.include(
        table.replace(/_\d{4}_\d\d$/, ''),
      );
    }
    for (const file of await readdir(filesFolderOf(stack), { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name);
      if (file.isFile() && (await readFile(path)).includes(MARKER)) found.push('a file');
    }
    for (const workflowId of workflowIds) {
      const history = await stack.temporal.workflow
        .getHandle(workflowId)
        .fetchHistory()
        .catch((error: unknown) => {
          if (isNotFound(error)) return null;
          throw error;
        });
      if (history) found.push(historyToJSON(history).includes(MARKER) ? 'a history' : 'a history without it');
    }
    return found;
  }

  it('occurs nowhere after its erasure, and the balances stay unchanged', async () => {
    // contract 4.11:10
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 50 });
    const receiver = await startRecordingReceiver((response) => response.end(MARKER));
    const webhooks = createWebhookClient(stack, apiKey);
    const endpoint = await webhooks.create(receiver.url);
    await webhooks.test(endpoint.id);
    const tasks = [await order(apiKey), await order(apiKey, '[sim:fail=processing_failed]')];
    await eventually(async () =>
      (await webhooks.deliveries(endpoint.id)).every(({ status }) => status === 'delivered'),
    );
    await receiver.close();
    const ofTasks = (await webhooks.deliveries(endpoint.id)).filter(({ task_id: taskId }) => taskId !== null);
    const deliveries = ofTasks.map(({ id }) => id);
    await ask(apiKey, MARKER);
    await call(`${stack.baseUrl}/admin/v1/accounts/${accountId}/end-user-budgets`, {
      key: stack.adminToken,
      body: { end_user: MARKER, usage_limit_usd: 5, limit_period: 'day' },
    });
    await eventually(async () => (await endUsersOf(accountId)).length === 1);
    const message = `refused: ${MARKER}`;
    await recordCalls(stack.database, {
      processId: crypto.randomUUID(),
      sums: [],
      failureSums: [],
      failures: [{ ...TARGET, fault: 'failed', status: 400, message }],
      attempts: [
        {
          ...TARGET,
          accountId,
          requestId: 'req_1',
          number: 1,
          decision: 'refused',
          fault: null,
          status: 400,
          message,
          durationMs: 1,
          ageMs: 1,
        },
      ],
      circuits: null,
    });
    // Nothing returns to the balance during the comparison.
    await eventually(
      async () => (await stack.database('text_allowances').where({ account_id: accountId })).length === 0,
    );
    const books = () => stack.database('transfers').where({ account_id: accountId }).orderBy(['created_at', 'id']);
    const before = await books();
    const workflows = [...tasks.map(({ id }) => id), ...deliveries];
    expect(await findMarker([])).to.include.members([
      'table tasks',
      'table uploads',
      'table text_attempts',
      'table delivery_attempts',
      'table budgets',
      'a file',
    ]);
    expect(await endUsersOf(accountId)).to.deep.equal([MARKER]);

    expect(await content(accountId, 'DELETE')).to.include({ tasks_left: 2, uploads_left: 2 });
    await sweep();
    expect(await findMarker([])).to.deep.equal([]);
    // Temporal deletes histories in the background, half a minute later.
    const areGone = async () => expect(await findMarker(workflows)).to.deep.equal([]);
    await waitUntil(areGone, { timeoutMs: PATIENCE_MS, pauseMs: 500 });
    expect(await content(accountId)).to.include({ tasks_left: 0, uploads_left: 0 });
    expect(await books()).to.deep.equal(before);
    const [succeeded, failed] = await Promise.all(tasks.map(({ id }) => taskWhenFinal(stack, apiKey, id)));
    expect(succeeded).to.deep.include({ status: 'succeeded', output: { media: [], r2_url: null } });
    expect(succeeded?.usage).to.deep.equal(tasks[0]?.usage);
    expect(failed).to.include({ status: 'failed', error_message: 'The message of this failure was erased.' });
    expect((await fetch(tasks[0]?.output?.r2_url ?? '')).status).to.equal(404);
  });

  it('is in no answer from the moment of its erasure, and a repeated create makes no other task', async () => {
    // contract 4.11:10
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 50 });
    const once = { 'idempotency-key': 'once' };
    const first = await create(apiKey, NAMED, once);
    await taskWhenFinal(stack, apiKey, first.body.data.id);
    expect((await create(apiKey, NAMED, once)).body.data.end_user).to.equal(MARKER);
    expect(await findEncrypted(accountId)).to.deep.equal(['once']);
    await content(accountId, 'DELETE');
    for (const isSwept of [false, true]) {
      if (isSwept) await sweep();
      const again = await create(apiKey, NAMED, once);
      expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true']);
      expect(again.body.data.id).to.equal(first.body.data.id);
      expect(JSON.stringify(again.body)).not.to.include(MARKER);
    }
    expect(await findEncrypted(accountId)).to.deep.equal([]);
    const later = { 'idempotency-key': 'later' };
    await create(apiKey, NAMED, later);
    expect((await create(apiKey, NAMED, later)).body.data.end_user).to.equal(MARKER);
    const conflict = await create(apiKey, { ...NAMED, duration: 6 }, once);
    expect(conflict.status).to.equal(409);
  });

  it('is in no repeated answer in text from the moment of its erasure', async () => {
    // contract 4.11:10 4.15:3
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 50 });
    const run = () =>
      call<{ data: { text: string } }>(`${stack.baseUrl}/v1/capabilities/run`, {
        key: apiKey,
        headers: { 'idempotency-key': 'text' },
        body: { capability_id: 'textg-6-sol', inputs: { prompt: `Say exactly: ${MARKER}` } },
      });
    expect((await run()).body.data.text).to.equal(MARKER);
    expect((await run()).headers.get('idempotent-replayed')).to.equal('true');
    expect(await findEncrypted(accountId)).to.deep.equal(['text']);
    await content(accountId, 'DELETE');
    expect((await run()).status).to.equal(409);
    await sweep();
    expect(await findEncrypted(accountId)).to.deep.equal([]);
    expect((await run()).headers.get('idempotent-replayed')).to.equal(null);
  });

  it('is encrypted in listed columns only, apart from secrets', async () => {
    const columns = await stack
      .database('information_schema.columns')
      .where({ table_schema: 'public', data_type: 'bytea' })
      .select<{ table_name: string; column_name: string }[]>('table_name', 'column_name');
    const unlisted = columns
      .map(({ table_name: table, column_name: column }) => `${table}.${column}`)
      .filter((name) => !(name in CONTENT_COPIES) && !/digest|secret|mark$/.test(name));
    expect(unlisted).to.deep.equal([]);
  });

  it('disappears when its lifetime has passed, and newer content stays', async () => {
    // contract 4.11:10
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 50 });
    const path = `${stack.baseUrl}/admin/v1/accounts/${accountId}`;
    const { status } = await call(path, { key: stack.adminToken, method: 'PATCH', body: { content_days: 30 } });
    expect(status).to.equal(200);
    const task = await order(apiKey);
    await ask(apiKey, 'alice');
    await eventually(async () => (await endUsersOf(accountId)).length === 1);
    await sweep();
    expect(await endUsersOf(accountId)).to.deep.equal(['alice']);
    expect(await content(accountId)).to.include({ content_days: 30, tasks_left: 0, uploads_left: 0 });
    expect((await taskWhenFinal(stack, apiKey, task.id)).output?.media).to.have.length(1);
    await stack
      .database('uploads')
      .where({ account_id: accountId })
      .update({ created_at: new Date(0) });
    expect(await content(accountId)).to.include({ uploads_left: 1 });
    await sweep();
    expect(await content(accountId)).to.include({ uploads_left: 0 });
  });

  it('the content of other accounts stays, and the content of a running task disappears once the task is final', async () => {
    // contract 4.11:10
    const [one, other] = [await stack.createAccount({ fundedUsd: 50 }), await stack.createAccount({ fundedUsd: 50 })];
    const kept = await order(other.apiKey);
    const { body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/videos/tasks`, {
      key: one.apiKey,
      body: { model: 'vidone-3.0', prompt: `A ${MARKER} [sim:render_ms=3000]`, duration: 5 },
    });
    await content(one.accountId, 'DELETE');
    await sweep();
    expect(await content(one.accountId)).to.include({ tasks_left: 1 });
    expect(await taskWhenFinal(stack, one.apiKey, body.data.id)).to.include({ status: 'succeeded' });
    await sweep();
    expect(await content(one.accountId)).to.include({ tasks_left: 0 });
    expect((await taskWhenFinal(stack, other.apiKey, kept.id)).output?.media).to.have.length(1);
  });

  it('admits no other change', async () => {
    const { apiKey } = await stack.createAccount({ fundedUsd: 50 });
    const task = await order(apiKey);
    const change = (columns: object) => rejectionOf(stack.database('tasks').where({ id: task.id }).update(columns));
    expect(await change({ output: '[]' }))
      .to.be.an('error')
      .with.property('constraint', 'tasks_change_lawfully');
    expect(await change({ erased_at: new Date(), price: 1 })).to.have.property('constraint', 'tasks_change_lawfully');
    await stack.database('tasks').where({ id: task.id }).update({ erased_at: new Date(), output: '[]' });
    expect(await change({ output: '[1]' })).to.have.property('constraint', 'tasks_change_lawfully');
    expect(await change({ erased_at: null })).to.have.property('constraint', 'tasks_change_lawfully');
  });
});
