import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { createMediaTaskActivities } from '../../../activities/media-task/media-task.ts';
import { installQuietRuntime } from '../../../bin/replay.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import type { Database } from '../../../db/database.ts';
import { MACHINE_CLOCK } from '../../../db/database-clock.ts';
import {
  type StoredSubmission,
  listSubmissions,
  recordFiles,
  recordStoredFiles,
  settleSubmission,
} from '../../../db/queries/submissions.ts';
import type { NewTask } from '../../../db/queries/tasks.ts';
import { recordResultFile } from '../../../db/queries/result-files.ts';
import { recordUpstreamOverride } from '../../../db/queries/upstream-overrides.ts';
import { listOf, objectOf } from '../../../domain/json.ts';
import type { MediaRoute, NotTakenCause } from '../../../domain/media-route.ts';
import type { Task } from '../../../domain/task.ts';
import { TASK_QUEUES } from '../../../domain/task-queues.ts';
import { newId } from '../../../domain/ids.ts';
import type { KindTraits, MediaAdapter } from '../../../providers/media/adapter.ts';
import { bearer } from '../../../providers/media/credentials.ts';
import { documentOf } from '../../../providers/media/exchange.ts';
import { endIn, fingerprintOf } from '../../../providers/media/json.ts';
import { JobRefusedError, textOf } from '../../../providers/media/outcomes.ts';
import type { MediaUpstream, MediaUpstreamSettings } from '../../../providers/media/upstream.ts';
import { ANY_RANGE } from '../../../providers/media/range.ts';
import { messageFor } from '../../../providers/media/vendor-message.ts';
import { renderPng } from '../../../simulator/render/png.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { watchStorage, type WatchedStorage } from '../../../storage/watched.ts';
import { createMetrics, type Metrics } from '../../../telemetry/metrics.ts';
import { NO_TRACING } from '../../../telemetry/tracing.ts';
import { eventually, PATIENCE_MS } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  openTaskSubmission,
  reloadTask,
  type TestKey,
} from '../../support/factories.ts';
import { LIGHT_WORKERS, stopPromiseStacks } from '../../support/light-workers.ts';
import { testUpstream } from '../../support/media.ts';
import { type LocalServer, serveLocally } from '../../../lab/stack/local-server.ts';
import { useTestFolder } from '../../support/started.ts';
import { createTestNamespace, testTemporalAddress, testWorkflowBundle } from '../../support/services.ts';

const MINUTE_MS = 60_000;
const PROVIDER_PATIENCE_MS = 600;
const SIZE = { width: 1024, height: 640 };
/** The cost of every render. */
const COST = { amount: '7', unit: 'tokens' };

/** The vendor's response to a submission; by default it accepts the job. */
type Deed =
  | 'takes it'
  | 'takes it, and the answer is lost'
  | 'loses it'
  | 'has no money'
  | 'is too busy'
  | 'makes a small one'
  | 'makes twenty'
  | 'makes none'
  | 'refuses it, and charges'
  | 'names an earlier job';

interface Rendered {
  readonly id: string;
  readonly upstream: string;
  readonly taskId: string;
  readonly sent: unknown;
}

describe('a submission', () => {
  let png: Buffer;
  let smallPng: Buffer;
  const folder = useTestFolder();
  let testDatabase: TestDatabase;
  let database: Database;
  let key: TestKey;
  let vendor: LocalServer;
  let upstreams: Map<string, MediaUpstream>;
  let metrics: Metrics;
  let storage: WatchedStorage;
  let temporal: Client;
  let stopWorkers: () => Promise<void>;
  let failingPuts = 0;
  const rendered: Rendered[] = [];
  /** The upstream and the fault of each counted call. */
  const counted: (readonly [upstream: string, fault: string | null])[] = [];
  /** The jobs that were cancelled. */
  const cancelled: string[] = [];
  /** The upstreams whose lists fail for the patience of Genway, and are empty once after it. */
  const lateLists = new Set<string>();
  /** The upstreams whose jobs were listed. */
  const listed = new Set<string>();
  /** The jobs whose state was requested. */
  const asked: string[] = [];
  /** Other states of jobs. */
  const ends = new Map<string, { readonly state?: 'running' | 'failed'; readonly ended_at?: Date }>();
  /** How often the vendor will answer that it does not know a job. */
  const forgets = new Map<string, number>();
  /** The upstreams whose polls fail ten times, and for twice the patience of Genway. */
  const latePolls = new Set<string>();
  /** The jobs whose state the vendor refuses to show, as after the key was revoked. */
  const locked = new Set<string>();
  /** The upstreams that finish jobs and name no file. */
  const withoutFiles = new Set<string>();
  /** Each upstream's next responses, in order. */
  const deeds = new Map<string, Deed[]>();
  /** For the calls, such as `vendor-0/list`, that are answered with 429 once: the seconds to wait. */
  const limited = new Map<string, number>();
  /** The time of each of these calls. */
  const callsAtMs: Record<string, number[]> = {};

  before(async () => {
    png = await renderPng({ ...SIZE, transparent: false });
    smallPng = await renderPng({ width: 16, height: 16, transparent: false });
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    key = await createFundedKey(database);
    vendor = await startVendor();
    upstreams = new Map();
    metrics = createMetrics();
    storage = storeThatFails();
    await startWorkers();
  });
  after(async () => {
    await stopWorkers();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    await vendor.close();
    await testDatabase.drop();
  });

  /** Answers submissions as in {@link deeds}, and any request about its renders. */
  async function startVendor(): Promise<LocalServer> {
    return serveLocally((request, response) => {
      const [, upstream = '', action, id] = (request.url ?? '').split('/');
      const answer = (status: number, body: unknown): void => void response.writeHead(status).end(JSON.stringify(body));
      const mine = rendered.filter((one) => one.upstream === upstream);
      const call = `${upstream}/${action}`;
      const calls = (callsAtMs[call] ??= []);
      calls.push(performance.now());
      const sinceFirstMs = performance.now() - (calls[0] ?? 0);
      const wait = limited.get(call);
      limited.delete(call);
      if (wait !== undefined) return void response.writeHead(429, { 'retry-after': String(wait) }).end('{}');
      if (action === 'file') return void response.end(png);
      if (action === 'list') {
        listed.add(upstream);
        if (!lateLists.has(upstream)) return answer(200, { jobs: mine });
        if (sinceFirstMs < PROVIDER_PATIENCE_MS) return answer(503, {});
        lateLists.delete(upstream);
        return answer(200, { jobs: [] });
      }
      if (action === 'cancel') {
        cancelled.push(String(id));
        return answer(200, {});
      }
      if (action === 'jobs') {
        asked.push(String(id));
        if (locked.has(String(id))) return void response.writeHead(401, { 'retry-after': '0.05' }).end('{}');
        const isEarly = calls.length < 10 || sinceFirstMs < 2 * PROVIDER_PATIENCE_MS;
        if (latePolls.has(upstream) && isEarly) return answer(503, {});
        const forgetsLeft = forgets.get(String(id)) ?? 0;
        forgets.set(String(id), forgetsLeft - 1);
        if (forgetsLeft > 0) return answer(200, { state: 'unknown' });
        const url = withoutFiles.has(upstream) ? null : `/${upstream}/file/${id}`;
        return answer(200, { state: 'succeeded', url, ...ends.get(String(id)) });
      }
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.once('end', () => {
        const deed = deeds.get(upstream)?.shift() ?? 'takes it';
        if (deed === 'has no money') return answer(402, {});
        if (deed === 'is too busy') return answer(429, {});
        if (deed === 'loses it') return request.socket.destroy();
        const sent = JSON.parse(body);
        const job = { id: randomUUID(), upstream, taskId: String(request.headers['x-task']), sent };
        rendered.push(job);
        if (deed === 'takes it, and the answer is lost') return request.socket.destroy();
        const file = deed === 'makes a small one' ? smallPng : png;
        const base64 = file.toString('base64');
        const id = deed === 'names an earlier job' ? mine[0]?.id : job.id;
        const number = deed === 'makes none' ? 0 : deed === 'makes twenty' ? 20 : 1;
        answer(200, { id, b64: Array(number).fill(base64), refused: deed === 'refuses it, and charges' });
      });
    });
  }

  /** The store, whose next writes fail. */
  function storeThatFails(): WatchedStorage {
    const local = createLocalStorage({ directory: folder, publicUrl: 'http://files.test' });
    const put: typeof local.put = async (...args) => {
      if (!args[0].startsWith('results/') || failingPuts === 0) return local.put(...args);
      failingPuts -= 1;
      throw new Error('the disk is full');
    };
    return watchStorage({ ...local, put }, { onChange: () => {}, retryMs: 10 });
  }

  async function startWorkers(): Promise<void> {
    installQuietRuntime();
    const address = await testTemporalAddress();
    const namespace = await createTestNamespace();
    const connection = await NativeConnection.connect({ address });
    const clientConnection = await Connection.connect({ address });
    temporal = new Client({ connection: clientConnection, namespace });
    const activities = createMediaTaskActivities({
      database,
      upstreams,
      isLimited: () => false,
      storage,
      readInputs: async () => new Map(),
      providerPatienceMs: PROVIDER_PATIENCE_MS,
      metrics,
      calls: { record: ({ upstream }, { failure }) => void counted.push([upstream, failure?.fault ?? null]) },
      clock: MACHINE_CLOCK,
    });
    const workflowBundle = { codePath: await testWorkflowBundle() };
    const common = { connection, namespace, activities, ...LIGHT_WORKERS, ...NO_TRACING.workerOptions };
    const workers = [
      await Worker.create({ ...common, workflowBundle, taskQueue: TASK_QUEUES.media }),
      await Worker.create({ ...common, taskQueue: TASK_QUEUES.renders }),
    ];
    stopPromiseStacks();
    const running = workers.map((worker) => worker.run());
    stopWorkers = async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
      await connection.close();
      await clientConnection.close();
    };
  }

  /** An upstream with a new name and these next responses. */
  function upstreamWith(
    traits: Partial<KindTraits>,
    next: readonly Deed[] = [],
    settings: Partial<MediaUpstreamSettings> = {},
    callbackBase: string | null = null,
  ): string {
    const name = `vendor-${upstreams.size}`;
    deeds.set(name, [...next]);
    const options = { callbackBase };
    upstreams.set(
      name,
      testUpstream({ name, adapter: adapterWith(traits), baseUrl: `${vendor.url}/${name}`, ...settings }, options),
    );
    return name;
  }

  /** The address of an earlier upstream, in another spelling. */
  const sameVendorAs = (name: string): Partial<MediaUpstreamSettings> => ({
    baseUrl: `${vendor.url.replace('http:', 'HTTP:')}/${name}/`,
  });

  const taskOn = (...providers: readonly string[]): Promise<Task> => taskOf(key, providers);
  const taskOfAnother = async (provider: string): Promise<Task> => taskOf(await createFundedKey(database), [provider]);

  async function taskOf(owner: TestKey, providers: readonly string[], settings: Partial<NewTask> = {}): Promise<Task> {
    const routes = providers.map((provider): MediaRoute => ({ provider, model: 'm' }));
    const request = { kind: 'image', prompt: 'A boat', ...SIZE, routes } as const;
    return createTaskRow(database, owner, { kind: 'image', provider: providers[0] ?? '', request, ...settings });
  }

  async function run(task: Task): Promise<Task> {
    await temporal.workflow.execute('mediaTask', {
      workflowId: task.id,
      taskQueue: TASK_QUEUES.media,
      args: [{ taskId: task.id, deadlineAt: task.deadlineAt.toISOString(), price: '$0.50' }],
    });
    return reloadTask(database, task);
  }

  const rendersOf = ({ id }: Task): readonly string[] =>
    rendered.filter(({ taskId }) => taskId === id).map(({ upstream }) => upstream);

  async function attemptsOf({ id }: Task): Promise<readonly string[]> {
    const submissions = await listSubmissions(database, id);
    return submissions.map((one: StoredSubmission) => `${one.provider}: ${one.outcome} by ${one.evidence}`);
  }

  describe('whose task failed while no workflow ran', () => {
    it('starts a workflow that only cancels its job', async () => {
      const name = upstreamWith({});
      const task = await taskOn(name);
      const submission = await openTaskSubmission(database, task, { provider: name });
      await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the answer', jobId: task.id });
      await finishAsFailed(database, task);
      expect((await run(task)).failure).to.include({ code: 'processing_failed' });
      expect(cancelled).to.include(task.id);
      expect(rendersOf(task)).to.deep.equal([]);
    });

    it('Genway searches for the job until the submission has surely arrived, and then cancels the job', async () => {
      const name = upstreamWith({});
      const task = await taskOn(name);
      await openTaskSubmission(database, task, { provider: name });
      await finishAsFailed(database, task);
      const over = run(task);
      await waitUntil(async () => expect([...listed]).to.include(name), { timeoutMs: PATIENCE_MS });
      const job = { id: randomUUID(), upstream: name, taskId: task.id, sent: {} };
      rendered.push(job);
      await over;
      expect(cancelled).to.include(job.id);
      expect(await attemptsOf(task)).to.deep.equal([`${name}: accepted by a look-up of its key`]);
    });
  });

  describe('while an upstream fails', () => {
    /** The outcomes of this many earlier tasks there. */
    async function earlier(provider: string, count: number, code: NotTakenCause): Promise<void> {
      for (let number = 0; number < count; number += 1) {
        const task = await taskOn(provider);
        const submission = await openTaskSubmission(database, task, { provider });
        await settleSubmission(database, submission, { outcome: 'not_taken', evidence: 'the answer', code });
      }
    }

    /** Makes this worker's cached health of upstreams too old. */
    const untilReadAgain = () => setTimeout(2_100);
    const why = { model: null, author: 'ada', reason: 'a test' };
    let refusing: string;
    let busy: string;
    let unreachable: string;
    let disabled: string;
    let disabledForOther: string;
    let disabledShortly: string;

    before(async () => {
      [refusing, busy, unreachable] = [upstreamWith({}), upstreamWith({}), upstreamWith({})];
      await Promise.all([
        earlier(refusing, 1, 'access_refused'),
        earlier(busy, 10, 'busy'),
        earlier(unreachable, 5, 'unreachable'),
      ]);
      [disabled, disabledForOther, disabledShortly] = [upstreamWith({}), upstreamWith({}), upstreamWith({})];
      await Promise.all([
        database('upstream_overrides').insert({
          ...why,
          upstream: disabled,
          kind: 'rest',
          created_at: new Date(Date.now() - 10 * MINUTE_MS),
          until: new Date(Date.now() + 10 * MINUTE_MS),
        }),
        recordUpstreamOverride(database, {
          ...why,
          upstream: disabledForOther,
          model: 'another model',
          disabledSeconds: 600,
        }),
        recordUpstreamOverride(database, { ...why, upstream: disabledShortly, disabledSeconds: 3_600 }),
      ]);
      await untilReadAgain();
    });

    it('uses the next route at once if the vendor refused access before', async () => {
      const other = upstreamWith({});
      const task = await run(await taskOn(refusing, other));
      expect(task.status).to.equal('succeeded');
      expect(await attemptsOf(task)).to.deep.equal([`${other}: accepted by the answer`]);
    });

    it('keeps its route although the vendor was too busy for others', async () => {
      const task = await run(await taskOn(busy, upstreamWith({})));
      expect(await attemptsOf(task)).to.deep.equal([`${busy}: accepted by the answer`]);
    });

    it('uses the next route if the vendor is too busy for this submission', async () => {
      const [name, other] = [upstreamWith({}, ['is too busy']), upstreamWith({})];
      expect(await attemptsOf(await run(await taskOn(name, other)))).to.deep.equal([
        `${name}: not_taken by the answer`,
        `${other}: accepted by the answer`,
      ]);
    });

    it('uses a route whose circuit is open if there is no other', async () => {
      expect(await attemptsOf(await run(await taskOn(unreachable)))).to.deep.equal([
        `${unreachable}: accepted by the answer`,
      ]);
    });

    it('never uses a route that an operator disabled, and uses it when it is enabled again', async () => {
      expect(await attemptsOf(await run(await taskOn(disabledForOther)))).to.deep.equal([
        `${disabledForOther}: accepted by the answer`,
      ]);
      const other = upstreamWith({});
      expect(await attemptsOf(await run(await taskOn(disabled, other)))).to.deep.equal([
        `${other}: accepted by the answer`,
      ]);
      const createdAt = new Date(Date.now() - 3 * MINUTE_MS);
      const early = { id: newId('task', createdAt.getTime()), createdAt };
      expect((await run(await taskOf(key, [disabled], early))).failure, 'for more than two minutes').to.include({
        code: 'processing_unavailable',
      });
      const waiting = await taskOn(disabledShortly);
      const ended = run(waiting);
      await untilReadAgain();
      expect(await attemptsOf(waiting), 'out of service').to.deep.equal([]);
      await recordUpstreamOverride(database, { ...why, upstream: disabledShortly, disabledSeconds: null });
      await ended;
      expect(await attemptsOf(waiting)).to.deep.equal([`${disabledShortly}: accepted by the answer`]);
    });
  });

  describe('to an upstream that requests a wait', () => {
    const expectWait = (call: string): void => {
      const [first = 0, second = 0] = callsAtMs[call] ?? [];
      expect(second - first, call).to.be.at.least(1_900);
    };

    it('waits as long as requested before it repeats the state of a job, a file or a search for a job', async () => {
      const CASES = [
        ['jobs', 'takes it'],
        ['file', 'takes it'],
        ['list', 'takes it, and the answer is lost'],
      ] as const;
      const waited = CASES.map(async ([action, next]) => {
        const name = upstreamWith({}, [next]);
        limited.set(`${name}/${action}`, 2);
        expect((await run(await taskOn(name))).status).to.equal('succeeded');
        expectWait(`${name}/${action}`);
      });
      await Promise.all(waited);
    });

    it('waits as long as requested before it repeats a cancellation', async () => {
      const name = upstreamWith({});
      limited.set(`${name}/cancel`, 2);
      const task = await taskOn(name);
      const submission = await openTaskSubmission(database, task, { provider: name });
      await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the answer', jobId: task.id });
      await finishAsFailed(database, task);
      await run(task);
      expect(cancelled).to.include(task.id);
      expectWait(`${name}/cancel`);
    });
  });

  describe('whose polls fail', () => {
    it('continues, also if they fail for longer than Genway waits for a job that its upstream does not know', async () => {
      const name = upstreamWith({});
      latePolls.add(name);
      expect((await run(await taskOn(name))).status).to.equal('succeeded');
    });
  });

  describe('whose outcome is unknown', () => {
    for (const [recovery, how] of [
      ['key', 'a look-up of its key'],
      ['id', 'a look-up of our id'],
      ['content', 'a look-up of what was sent'],
      ['exclusion', 'exclusion'],
    ] as const) {
      it(`reveals its job by ${recovery}: the task continues, and Genway submits once`, async () => {
        const name = upstreamWith({ recovery }, ['takes it, and the answer is lost']);
        const task = await run(await taskOn(name));
        expect(task.status).to.equal('succeeded');
        expect(await attemptsOf(task)).to.deep.equal([`${name}: accepted by ${how}`]);
        expect(rendersOf(task)).to.deep.equal([name]);
      });

      it(`Genway submits again once a search by ${recovery} shows that there is no job`, async () => {
        const name = upstreamWith({ recovery }, ['loses it']);
        const task = await run(await taskOn(name));
        expect(task.status).to.equal('succeeded');
        expect(await attemptsOf(task)).to.deep.equal([
          `${name}: not_taken by ${how}`,
          `${name}: accepted by the answer`,
        ]);
        expect(rendersOf(task)).to.deep.equal([name]);
      });
    }

    it('Genway never submits again if the list may omit jobs, also if it has jobs of other tasks', async () => {
      const name = upstreamWith({ recovery: 'candidates' }, ['takes it', 'loses it']);
      expect((await run(await taskOn(name))).status).to.equal('succeeded');
      const lost = await run(await taskOfAnother(name));
      expect(lost.failure).to.include({ code: 'processing_unavailable' });
      expect(await attemptsOf(lost)).to.deep.equal([`${name}: unknown by nothing`]);
      expect(rendersOf(lost)).to.deep.equal([]);
    });

    it('reaches the upstream once if a single search, however late, misses its job', async () => {
      const name = upstreamWith({ recovery: 'exclusion' }, ['takes it, and the answer is lost']);
      lateLists.add(name);
      const task = await run(await taskOn(name));
      expect(await attemptsOf(task)).to.deep.equal([`${name}: accepted by exclusion`]);
      expect(rendersOf(task)).to.deep.equal([name]);
    });

    for (const recovery of ['content', 'exclusion'] as const) {
      it(`Genway assigns no job by ${recovery} that may belong to another task, at any upstream of the vendor`, async () => {
        const name = upstreamWith({ recovery }, ['takes it, and the answer is lost', 'loses it']);
        const second = upstreamWith({ recovery }, [], sameVendorAs(name));
        const tasks = await Promise.all((await Promise.all([taskOn(name), taskOfAnother(second)])).map(run));
        const jobs = (await Promise.all(tasks.map(({ id }) => listSubmissions(database, id)))).flat();
        const taken = jobs.flatMap(({ jobId }) => (jobId === null ? [] : [jobId]));
        expect(new Set(taken).size).to.equal(taken.length);
        for (const task of tasks) expect(rendersOf(task).length).to.be.at.most(1);
      });
    }

    for (const recovery of ['content', 'exclusion'] as const) {
      it(`Genway submits again if ${recovery} finds a job that another task has by another upstream of the vendor`, async () => {
        const name = upstreamWith({ recovery }, ['takes it', 'loses it']);
        const second = upstreamWith({ recovery }, [], sameVendorAs(name));
        const [owner, lost] = [await run(await taskOn(name)), await run(await taskOfAnother(second))];
        expect([owner.status, lost.status]).to.deep.equal(['succeeded', 'succeeded']);
        expect(lost.providerJobId).not.to.equal(owner.providerJobId);
        expect([rendersOf(owner), rendersOf(lost)]).to.deep.equal([[name], [name]]);
      });
    }

    it('continues its own job although the answer named the job of another task, at any upstream of the vendor', async () => {
      const name = upstreamWith({ recovery: 'id' }, ['takes it', 'names an earlier job', 'names an earlier job']);
      const other = upstreamWith({ recovery: 'id' }, [], sameVendorAs(name));
      expect((await run(await taskOn(name))).status).to.equal('succeeded');
      for (const upstream of [name, other]) {
        const task = await run(await taskOfAnother(upstream));
        expect(task.status).to.equal('succeeded');
        expect(task.providerJobId).to.equal(rendered.find(({ taskId }) => taskId === task.id)?.id);
        expect(await attemptsOf(task)).to.deep.equal([`${upstream}: accepted by a look-up of our id`]);
        expect(rendersOf(task)).to.deep.equal([name]);
      }
    });

    it('continues the job that its callback reveals', async () => {
      const settings = { callbackSecret: 'a-secret-of-16-characters' };
      const name = upstreamWith({ recovery: 'callback' }, ['takes it, and the answer is lost'], settings, vendor.url);
      const task = await taskOn(name);
      const ended = run(task);
      const submission = await eventually(async () => {
        const [open] = await listSubmissions(database, task.id);
        return rendersOf(task).length === 0 ? undefined : open;
      });
      const jobId = rendered.find(({ taskId }) => taskId === task.id)?.id ?? '';
      await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the callback', jobId });
      expect((await ended).status).to.equal('succeeded');
      expect(rendersOf(task)).to.deep.equal([name]);
    });

    it('continues the job that its callback reveals between the reads of the task and its submissions', async () => {
      const name = upstreamWith({});
      const task = await taskOn(name);
      const submission = await openTaskSubmission(database, task, { provider: name });
      await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the callback', jobId: 'told' });
      await database.transaction(async (transaction) => {
        await transaction.raw('SET LOCAL session_replication_role = replica');
        await transaction('tasks').where({ id: task.id }).update({ provider_job_id: null });
      });
      expect((await run(task)).status).to.equal('succeeded');
      expect(rendersOf(task)).to.deep.equal([]);
    });

    it('ends in a refund and counts as a possible loss if nothing reveals the job', async () => {
      const name = upstreamWith({ recovery: 'none' }, ['takes it, and the answer is lost']);
      const other = upstreamWith({ recovery: 'key' });
      const task = await run(await taskOn(name, other));
      expect(task.failure).to.include({ code: 'processing_unavailable' });
      expect(await attemptsOf(task)).to.deep.equal([`${name}: unknown by nothing`]);
      expect(rendersOf(task)).to.deep.equal([name]);
      expect((await listSubmissions(database, task.id))[0]).to.include({ possibleLoss: task.price });
      expect(await metrics.render()).to.contain(`genway_media_possible_loss_usd_total{upstream="${name}"} 1`);
    });

    const REFUSAL = 'content_policy_violation: too: long';
    for (const [outcome, settlement, code] of [
      ['unknown', { evidence: 'nothing' }, 'processing_unavailable'],
      ['refused', { evidence: 'the answer', code: 'bad_request', detail: REFUSAL }, 'bad_request'],
    ] as const) {
      it(`Genway does not submit again if the worker died after it recorded the outcome ${outcome}`, async () => {
        const name = upstreamWith({ recovery: 'none' });
        const task = await taskOn(name, name);
        const submission = await openTaskSubmission(database, task, { provider: name });
        await settleSubmission(database, submission, { outcome, ...settlement });
        const { failure } = await run(task);
        expect(failure).to.include({ code });
        if (outcome === 'refused') expect(failure).to.include({ message: messageFor('bad_request', REFUSAL) });
        expect(rendersOf(task)).to.deep.equal([]);
      });
    }

    it('Genway submits again once if the operator permits it', async () => {
      const lost = 'takes it, and the answer is lost';
      for (const [next, status] of [
        [[lost], 'succeeded'],
        [[lost, lost, 'takes it'], 'failed'],
      ] as const) {
        const name = upstreamWith({ recovery: 'none' }, next, { onUnknown: 'resubmit' });
        const task = await run(await taskOn(name));
        expect(task.status).to.equal(status);
        expect(rendersOf(task)).to.deep.equal([name, name]);
      }
    });
  });

  describe('on several routes', () => {
    it('tries the next route at once if the credit at the vendor is used up', async () => {
      const [first, second] = [upstreamWith({}, ['has no money']), upstreamWith({})];
      const task = await run(await taskOn(first, second));
      expect(task).to.include({ status: 'succeeded', provider: second });
      expect(await attemptsOf(task)).to.deep.equal([
        `${first}: not_taken by the answer`,
        `${second}: accepted by the answer`,
      ]);
    });

    it('tries the other routes before it returns to a busy route, and skips routes without credit', async () => {
      const [busy, poor] = [upstreamWith({}, ['is too busy']), upstreamWith({}, ['has no money'])];
      const task = await run(await taskOn(busy, poor));
      expect(task).to.include({ status: 'succeeded', provider: busy });
      expect(rendersOf(task)).to.deep.equal([busy]);
      const calls = counted.filter(([upstream]) => upstream === busy || upstream === poor);
      expect(calls, 'without the submission that was refused for load').to.deep.equal([
        [poor, 'access_refused'],
        [busy, null],
      ]);
    });

    it('moves from a route that answers with a job to a route that answers with files, and back', async () => {
      const [jobs, files] = [upstreamWith({}, ['has no money']), upstreamWith({ answers: 'files', recovery: 'none' })];
      expect(await run(await taskOn(jobs, files))).to.include({ status: 'succeeded', provider: files });
      const poor = upstreamWith({ answers: 'files', recovery: 'none' }, ['has no money']);
      expect(await run(await taskOn(poor, jobs))).to.include({ status: 'succeeded', provider: jobs });
    });

    it('fails if no route accepts it', async () => {
      const poor: Deed[] = ['has no money'];
      const task = await run(await taskOn(upstreamWith({}, poor), upstreamWith({}, poor)));
      expect(task.failure).to.include({ code: 'processing_unavailable' });
      expect(rendersOf(task)).to.deep.equal([]);
    });
  });

  it('fails with result_transfer_failed when the upstream finishes the job and names no file, and records the cost', async () => {
    const name = upstreamWith({});
    withoutFiles.add(name);
    const task = await run(await taskOn(name));
    expect(task.failure).to.include({ code: 'result_transfer_failed' });
    expect((await listSubmissions(database, task.id))[0]?.vendorCost).to.deep.equal(COST);
  });

  describe('whose deadline passed while no worker ran', () => {
    const DEADLINE = new Date(Date.now() - 60_000);
    const [BEFORE, AFTER] = [new Date(DEADLINE.getTime() - 1_000), new Date(DEADLINE.getTime() + 1_000)];
    const PICTURE = { type: 'image', mimeType: 'image/png', ...SIZE } as const;

    const lateTask = (name: string): Promise<Task> => taskOf(key, [name], { deadlineAt: DEADLINE });

    /** A late task whose job the vendor has, and its state so far. */
    async function submitted(end: { state?: 'running' | 'failed'; ended_at?: Date } = {}): Promise<Task> {
      const name = upstreamWith({});
      const task = await lateTask(name);
      const submission = await openTaskSubmission(database, task, { provider: name });
      await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the answer', jobId: task.id });
      ends.set(task.id, end);
      return task;
    }

    /** Stores a file as an attempt did whose worker died then. */
    async function storedFile(task: Task): Promise<{ readonly key: string; readonly url: string }> {
      const name = `results/${task.id}/attempt/0.png`;
      await recordResultFile(database, name, task.id);
      const { url } = await storage.put(name, new Blob([Uint8Array.from(png)]).stream(), {
        contentType: 'image/png',
        maxBytes: 1_000_000,
      });
      return { key: name, url };
    }

    for (const [what, end, outcome] of [
      ['Genway charges the task if its render ended before the deadline', { ended_at: BEFORE }, 'succeeded'],
      ['Genway charges the task if its render ended and the vendor reports no time', {}, 'succeeded'],
      ['Genway refunds the task if its render ended after the deadline', { ended_at: AFTER }, 'processing_timeout'],
      ['Genway refunds the task if its render continues', { state: 'running' }, 'processing_timeout'],
      [
        'the task fails with the code of its render if the render failed before the deadline',
        { state: 'failed', ended_at: BEFORE },
        'content_policy_violation',
      ],
      [
        'the task fails with processing_timeout if its render failed after the deadline',
        { state: 'failed', ended_at: AFTER },
        'processing_timeout',
      ],
    ] as const) {
      it(`${what}, and records the cost`, async () => {
        const task = await run(await submitted(end));
        expect(task.failure?.code ?? task.status).to.equal(outcome);
        const [submission] = await listSubmissions(database, task.id);
        expect(submission?.vendorCost).to.deep.equal('state' in end && end.state === 'running' ? null : COST);
        expect(cancelled.includes(task.id)).to.equal(outcome === 'processing_timeout');
      });
    }

    it('Genway charges the task if the vendor does not know the job for a moment, and then reports an end before the deadline', async () => {
      const task = await submitted({ ended_at: BEFORE });
      forgets.set(task.id, 1);
      expect((await run(task)).status).to.equal('succeeded');
    });

    it('Genway refunds the task if the vendor refuses every check, and records the vendor’s answer for operators', async () => {
      const task = await submitted({ ended_at: BEFORE });
      locked.add(task.id);
      expect((await run(task)).failure).to.include({ code: 'processing_timeout' });
      const [submission] = await listSubmissions(database, task.id);
      expect(submission).to.include({ code: 'processing_timeout', detail: 'the upstream answered 401' });
    });

    it('waits as long as the vendor requests before the next check', async () => {
      const task = await submitted({ ended_at: BEFORE });
      const call = `${task.provider}/jobs`;
      limited.set(call, 6);
      expect((await run(task)).status).to.equal('succeeded');
      const [first = 0, second = 0] = callsAtMs[call] ?? [];
      expect(second - first).to.be.at.least(5_900);
    });

    for (const [what, isKept, recovery, status] of [
      [
        'Genway charges the task if it finds the job only now, and the render ended before the deadline',
        true,
        'key',
        'succeeded',
      ], // contract 3:7
      [
        'Genway charges the task if the record of the submission is lost, and the vendor knows the job by its id',
        false,
        'key',
        'succeeded',
      ],
      [
        'Genway refunds the task if the record of the submission is lost, and the vendor knows jobs by the sent request',
        false,
        'content',
        'failed',
      ],
    ] as const) {
      it(what, async () => {
        const name = upstreamWith({ recovery });
        const task = await lateTask(name);
        if (isKept) await openTaskSubmission(database, task, { provider: name });
        const job = { id: randomUUID(), upstream: name, taskId: task.id, sent: {} };
        rendered.push(job);
        ends.set(job.id, { ended_at: BEFORE });
        expect((await run(task)).status).to.equal(status);
      });
    }

    for (const [when, endedAt, status] of [
      ['before', BEFORE, 'succeeded'],
      ['after', AFTER, 'failed'],
    ] as const) {
      it(`the task ends as ${status} without another request to the vendor if its file was stored and its render ended ${when} the deadline`, async () => {
        // contract 3:7
        const task = await submitted({ ended_at: endedAt });
        const { key: name, url } = await storedFile(task);
        await recordStoredFiles(database, task.id, { files: [{ ...PICTURE, url }], endedAt });
        expect((await run(task)).status).to.equal(status);
        expect(asked).not.to.include(task.id);
        expect((await storage.sizeOf(name)) !== null, 'what was refunded is removed').to.equal(status === 'succeeded');
      });

      it(`the task ends as ${status} if its files came in the answer, and the answer arrived ${when} the deadline`, async () => {
        const name = upstreamWith({ answers: 'files', recovery: 'none' });
        const task = await lateTask(name);
        const submission = await openTaskSubmission(database, task, { provider: name });
        const { url } = await storedFile(task);
        await recordFiles(database, submission, { files: [{ ...PICTURE, url }], endedAt });
        expect((await run(task)).status).to.equal(status);
        expect(rendersOf(task)).to.deep.equal([]);
      });
    }
  });

  describe('to an upstream that answers with the files', () => {
    const files = (next: readonly Deed[] = []): string => upstreamWith({ answers: 'files', recovery: 'none' }, next);

    it('stores the files, without a job to wait for', async () => {
      const name = files();
      const task = await run(await taskOn(name));
      expect(task).to.include({ status: 'succeeded', providerJobId: null });
      expect(task.output?.[0]).to.include({ type: 'image', mimeType: 'image/png', ...SIZE });
      expect(await storage.sizeOf(storage.keyOf(task.output?.[0]?.url ?? '') ?? '')).to.be.a('number');
      expect(rendersOf(task)).to.deep.equal([name]);
    });

    it('keeps the files while the store is unavailable, and stores them later', async () => {
      failingPuts = 1;
      const name = files();
      const task = await run(await taskOn(name));
      expect(task.status).to.equal('succeeded');
      expect(rendersOf(task)).to.deep.equal([name]);
    });

    it('finds the files that an earlier attempt stored', async () => {
      const name = files();
      const task = await taskOn(name);
      const submission = await openTaskSubmission(database, task, { provider: name });
      const kept = { type: 'image', url: 'http://files.test/results/0.png', mimeType: 'image/png', ...SIZE } as const;
      await recordFiles(database, submission, { files: [kept], endedAt: new Date() });
      expect((await run(task)).output).to.deep.equal([kept]);
      expect(rendersOf(task)).to.deep.equal([]);
    });

    it('fails with result_transfer_failed when the files do not match, are too many or none, records the cost and requests no other files', async () => {
      for (const deed of ['makes a small one', 'makes twenty', 'makes none'] as const) {
        const name = upstreamWith({ answers: 'files', recovery: 'none' }, [deed], { onUnknown: 'resubmit' });
        const task = await run(await taskOn(name));
        expect(task.failure).to.include({ code: 'result_transfer_failed' });
        expect(rendersOf(task)).to.deep.equal([name]);
        expect(await attemptsOf(task)).to.deep.equal([`${name}: accepted by the answer`]);
        expect((await listSubmissions(database, task.id))[0]?.vendorCost).to.deep.equal(COST);
      }
    });

    it('records the cost of a refusal that the vendor charges for', async () => {
      const task = await run(await taskOn(files(['refuses it, and charges'])));
      expect(task.failure).to.include({ code: 'content_policy_violation' });
      expect((await listSubmissions(database, task.id))[0]?.vendorCost).to.deep.equal(COST);
    });

    it('ends in a refund and renders no second time when the answer is lost', async () => {
      const name = files(['takes it, and the answer is lost']);
      const task = await run(await taskOn(name));
      expect(task.failure).to.include({ code: 'processing_unavailable' });
      expect(rendersOf(task)).to.deep.equal([name]);
    });
  });
});

/** A vendor that reports little. */
function adapterWith(traits: Partial<KindTraits>): MediaAdapter {
  const poll = { firstMs: 10, everyMs: 50 };
  const image: KindTraits = { answers: 'job', recovery: 'key', inputs: 'links', poll, range: ANY_RANGE, ...traits };
  return {
    kinds: { image },
    baseUrl: null,
    authorization: bearer,
    callbacks: { proof: 'address', read: () => ({ jobId: null }) },
    submission({ taskId, prompt }) {
      const json = { prompt };
      return { path: 'submit', headers: { 'x-task': taskId }, body: { json }, identity: json };
    },
    accepted({ document }) {
      const { id, b64, refused } = objectOf(document);
      if (refused === true) throw new JobRefusedError('content_policy_violation', undefined, COST);
      if (image.answers === 'job') return { jobId: textOf(id, 'id') };
      const files = listOf(b64).map((file) => Buffer.from(String(file), 'base64'));
      return { files: files.map((bytes) => ({ bytes, mimeType: 'image/png' })), cost: COST };
    },
    async find({ request, fingerprint }, http, signal) {
      const jobs = listOf(objectOf(documentOf(await http.send({ path: 'list' }, signal)))['jobs']).map(objectOf);
      const isIt = (job: Readonly<Record<string, unknown>>): boolean =>
        image.recovery === 'content'
          ? fingerprintOf(job['sent']) === fingerprint
          : ['exclusion', 'candidates'].includes(image.recovery) || job['taskId'] === request.taskId;
      return jobs.filter(isIt).map(({ id }) => String(id));
    },
    async cancel(jobId, http, signal) {
      await http.send({ method: 'POST', path: `cancel/${jobId}` }, signal);
    },
    async status(jobId, http, signal) {
      const job = objectOf(documentOf(await http.send({ path: `jobs/${jobId}` }, signal)));
      const { state, url } = job;
      if (state === 'unknown') return { state };
      if (state === 'running') return { state, progressPercent: null, detail: null };
      const end = endIn(job['ended_at']);
      if (state === 'failed') return { state, code: 'content_policy_violation', message: 'No.', cost: COST, ...end };
      const links = typeof url === 'string' ? [new URL(url, http.base).href] : [];
      return {
        state: 'succeeded',
        results: links.map((href) => ({ url: href, mimeType: 'image/png' })),
        cost: COST,
        ...end,
      };
    },
  };
}
