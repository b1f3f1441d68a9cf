/**
 * Runs the lines of a batch whose models have a route to a vendor's batch API: records jobs, sends each at most once, and
 * collects their answers. The state is in PostgreSQL; each call makes one step of every job that is due.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { isConnectionLost, isUnavailable } from '../../db/connections.ts';
import { isPostgresError } from '../../db/database.ts';
import {
  type BatchJob,
  type BatchJobOutcome,
  endJob,
  findEncryptedRequest,
  findKnownJobs,
  findNextJobModel,
  freeJobLines,
  insertBatchJob,
  type JobLine,
  type LineHold,
  listJobLines,
  listOpenJobs,
  type NewBatchJob,
  postponeJob,
  recordJobAccepted,
  recordJobHolds,
  recordJobSent,
} from '../../db/queries/batch-jobs.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { type ClaimedLine, contentId } from '../../db/queries/batch-lines.ts';
import { findAnyBatch, findRunningBatch, resumeBatch } from '../../db/queries/batch-runs.ts';
import { isLiveOverloaded, LIVE_OVERLOAD_SECONDS } from '../../db/queries/live-overload.ts';
import { recordRateCards } from '../../db/queries/rate-cards.ts';
import { rateCardsOf } from '../../db/text-money/create-billing.ts';
import { JobMoney } from '../../db/text-money/job-money.ts';
import { type Batch, OPERATOR_PAUSE, requireTextEndpoint } from '../../domain/batch.ts';
import { type ErrorCode, ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { BatchClient } from '../../providers/text/batches/client.ts';
import { batchVendorOf } from '../../providers/text/batches/index.ts';
import { type BatchOrder, type BatchResult, customIdOf, numberOf } from '../../providers/text/batches/vendor.ts';
import { parseJson } from '../../text/json/parse.ts';
import { readObject } from '../../text/read.ts';
import { UpstreamError } from '../../text/upstream-errors.ts';
import type { UpstreamRequest } from '../../text/wire-format.ts';
import { BufferedReply } from '../text/reply.ts';
import type { TextService } from '../text/text-service.ts';
import { answerLine, bodyOf, concernsBatch, contextOf, FORMAT_OF, withoutClient } from './answer-line.ts';
import { type BatchRoute, batchRoutesOf } from './batch-routes.ts';
import { answerFrom, type BillingParts, JobBilling, type JobRoute, keepRequest, settleFrom } from './job-calls.ts';
import { type ChunkServices, findCaller, findUsableCaller } from './run-chunk.ts';

export interface JobServices extends ChunkServices, BillingParts {
  readonly text: Pick<TextService, 'answerInto' | 'over' | 'catalogue' | 'useBatches'>;
  readonly log: Logger;
  /** How long a vendor's list must miss a job that was sent, before its lines are sent again; two minutes by default. */
  readonly settleMs?: number;
}

/** The progress of all jobs. */
export interface JobsResult {
  /** Whether no job is open, and no line waits for one. */
  readonly isDone: boolean;
  /** When to call again, in milliseconds. */
  readonly pauseMs: number;
  /** Why no line could start, while no job is open; null if lines started. */
  readonly reason: ErrorCode | null;
}

/** A batch of 50,000 lines at vendors that accept a thousand in a job. */
const MAX_OPEN_JOBS = 50;
const MAX_JOB_BYTES = 8 * 2 ** 20;
/** Longer than any request that creates a job takes, so that a late one is in the vendor's list. */
const SETTLE_MS = 120_000;
/** A process that stood still for so long between recording and sending a job does not send it. */
const MAX_UNSENT_MS = 30_000;
const MISSES_UNTIL_CONFIRMED = 2;
/** Answers that break off, or that the vendor no longer has, are read so often. */
const MAX_READS = 5;
/** After the end of the batch, jobs get so long to be cancelled. Vendors promise ten minutes. */
const MAX_ENDING_MS = 60 * 60_000;
const POLL_SECONDS = { min: 2, max: 60 };
const BUSY_MS = 60_000;
const ANSWERS_AT_ONCE = 16;

export async function runJobs(
  batchId: string,
  services: JobServices,
  { signal }: { readonly signal: AbortSignal },
): Promise<JobsResult> {
  const { database } = services;
  const running = await findRunningBatch(database, batchId);
  // Vendors keep their answers for weeks. A batch that is over ends its jobs all the same.
  if (running !== null && (await isLiveOverloaded(database))) {
    return { isDone: false, pauseMs: LIVE_OVERLOAD_SECONDS * 1000, reason: null };
  }
  for (const job of await listOpenJobs(database, batchId)) {
    signal.throwIfAborted();
    if (job.nextPollAt.getTime() <= Date.now()) await new JobRun(job, running, services).step();
  }
  const started = running === null ? NOTHING_LEFT : await startJobs(running, services, signal);
  const open = await listOpenJobs(database, batchId);
  const dueMs = open.map(({ nextPollAt }) => nextPollAt.getTime() - Date.now());
  const pauseMs = Math.max(Math.min(...dueMs, started.kind === 'busy' ? BUSY_MS : Infinity), 500);
  return {
    isDone: open.length === 0 && started.kind === 'none',
    pauseMs: Number.isFinite(pauseMs) ? pauseMs : 0,
    reason: started.kind === 'refused' && open.length === 0 ? started.reason : null,
  };
}

/** `none`: no line waits. `busy`: the vendor accepts no job at the moment. `refused`: no line can start. */
type Started =
  | { readonly kind: 'none' | 'busy' | 'started' }
  | { readonly kind: 'refused'; readonly reason: ErrorCode };

const NOTHING_LEFT: Started = { kind: 'none' };

/** Starts jobs until no line waits, or none can start. */
async function startJobs(batch: Batch, services: JobServices, signal: AbortSignal): Promise<Started> {
  const { database } = services;
  const routes = batchRoutesOf(services.text.catalogue());
  for (let open = (await listOpenJobs(database, batch.id)).length; open < MAX_OPEN_JOBS; open += 1) {
    signal.throwIfAborted();
    const model = await findNextJobModel(database, batch.id, [...routes.keys()]);
    const route = model === null ? undefined : routes.get(model);
    if (model === null || route === undefined) return NOTHING_LEFT;
    if (batch.operatorPausedAt !== null) return { kind: 'refused', reason: OPERATOR_PAUSE };
    const caller = await findUsableCaller(database, batch);
    if (caller instanceof ServiceError) return { kind: 'refused', reason: caller.code };
    const started = await startJob(batch, caller, model, route, services);
    if (started.kind !== 'started') return started;
    if (batch.pausedReason !== null) await resumeBatch(database, batch.id);
  }
  return { kind: 'started' };
}

async function startJob(
  batch: Batch,
  caller: Caller,
  model: string,
  route: BatchRoute,
  services: JobServices,
): Promise<Started> {
  const { provider, format, model: upstreamModel, batch: settings } = route;
  try {
    const started = await services.text.useBatches(
      { provider, format, model: upstreamModel, keyDigest: null },
      async (client, keyDigest): Promise<Started> => {
        const job: NewBatchJob = {
          id: randomUUID(),
          batchId: batch.id,
          model,
          upstream: provider,
          upstreamFormat: format,
          upstreamModel,
          keyDigest,
          remainder: settings.remainder,
          costFactor: settings.costFactor.decimal,
          createdAt: new Date(),
        };
        return new NewJob(job, batch, caller, services).start(client);
      },
    );
    return started ?? { kind: 'busy' };
  } catch (error) {
    // An upstream that operators have taken out of service.
    if (error instanceof ServiceError && error.code === 'processing_unavailable') return { kind: 'busy' };
    throw error;
  }
}

class NewJob {
  readonly #job: NewBatchJob;
  readonly #batch: Batch;
  readonly #caller: Caller;
  readonly #services: JobServices;
  readonly #money: JobMoney;

  constructor(job: NewBatchJob, batch: Batch, caller: Caller, services: JobServices) {
    this.#job = job;
    this.#batch = batch;
    this.#caller = caller;
    this.#services = services;
    this.#money = new JobMoney(services.database, job.id);
  }

  async start(client: BatchClient): Promise<Started> {
    const { database, text } = this.#services;
    const { upstreamFormat, upstreamModel } = this.#job;
    // Usage refers to the prices of its catalogue.
    await recordRateCards(database, rateCardsOf(text.catalogue()));
    const limits = { lines: batchVendorOf(upstreamFormat).maxRequests, bytes: MAX_JOB_BYTES };
    const lines = await insertBatchJob(database, this.#job, limits);
    if (lines.length === 0) return { kind: 'started' };
    const { requests, refusal } = await this.#plan(lines);
    if (requests.length === 0) {
      await this.#end('not_taken');
      return refusal === null ? { kind: 'started' } : { kind: 'refused', reason: refusal.code };
    }
    const order = { mark: this.#job.id, model: upstreamModel, requests };
    const sent = await this.#send(order, client);
    return sent.kind === 'started' && refusal !== null ? { kind: 'refused', reason: refusal.code } : sent;
  }

  /** Holds the money of the lines, and takes lines out of the job that cannot be a part of it. */
  async #plan(
    lines: readonly ClaimedLine[],
  ): Promise<{ readonly requests: BatchOrder['requests']; readonly refusal: ServiceError | null }> {
    const { database } = this.#services;
    const billing = new JobBilling(this.#money, lines.length);
    const planned = await Promise.all(
      lines.map(async (line) => ({ line, ...(await this.#planLine(line, billing).finally(() => billing.leave())) })),
    );
    const kept = planned.flatMap(({ line: { number }, request, hold }) =>
      request && hold ? [{ number, request, hold }] : [],
    );
    const failed = planned.filter(({ request, hold }) => !request || !hold);
    const waiting = failed.filter(({ error }) => error !== null && concernsBatch(error));
    const direct = failed.filter(({ error }) => error === null || !concernsBatch(error));
    if (billing.prices !== null) await recordJobHolds(database, this.#job, billing.prices, kept);
    await freeJobLines(database, this.#job, {
      numbers: waiting.map(({ line }) => line.number),
      direct: false,
      isCalled: false,
    });
    // The path of direct requests tells the client what is wrong.
    await freeJobLines(database, this.#job, {
      numbers: direct.map(({ line }) => line.number),
      direct: true,
      isCalled: false,
    });
    const requests = kept.map(({ number, request }) => ({ customId: customIdOf(this.#job.id, number), request }));
    return { requests, refusal: waiting[0]?.error ?? null };
  }

  async #planLine(
    line: ClaimedLine,
    billing: JobBilling,
  ): Promise<{
    readonly request: UpstreamRequest | null;
    readonly hold: LineHold | undefined;
    readonly error: ServiceError | null;
  }> {
    const { encryption } = this.#services;
    const { id: batchId } = this.#batch;
    const endpoint = requireTextEndpoint(this.#batch.endpoint);
    const requestId = newId('request');
    let request: UpstreamRequest | null = null;
    const text = this.#services.text.over({
      billing: billing.billingWith(this.#services),
      clock: { nowMs: () => this.#job.createdAt.getTime() },
      call: keepRequest(jobRouteOf(this.#job), (kept) => (request = kept)),
    });
    try {
      const body = await parseBody(encryption.decrypt(line.encryptedRequest, contentId(batchId, line.number, 0)));
      await text.answerInto(
        {
          context: withoutClient(requestId),
          caller: this.#caller,
          format: FORMAT_OF[endpoint],
          parseContext: contextOf(this.#batch),
          streamsArray: false,
          batchId,
          body: bodyOf({ body, endpoint }),
        },
        new BufferedReply(),
        (hold) => ({ ...hold, settle: async () => {} }),
      );
    } catch (error) {
      // The next call starts the lines anew.
      if (isPostgresError(error) || isConnectionLost(error) || isUnavailable(error)) throw error;
      return { request: null, hold: undefined, error: toServiceError(error) };
    }
    return { request, hold: billing.holdOf(requestId), error: null };
  }

  async #send(order: BatchOrder, client: BatchClient): Promise<Started> {
    const { database, log } = this.#services;
    const { id, upstream, upstreamFormat, remainder } = this.#job;
    const vendor = batchVendorOf(upstreamFormat);
    let isSent = false;
    try {
      const vendorId = await vendor.create(order, client, async () => {
        const startedAtMs = performance.now();
        await recordJobSent(database, id);
        isSent = true;
        if (performance.now() - startedAtMs > MAX_UNSENT_MS) throw new Error(`the job ${id} was not sent in time`);
      });
      const isOurs = await recordJobAccepted(database, id, vendorId);
      log.info({ job: id, upstream, vendor_id: vendorId, lines: order.requests.length }, 'sent a job to a vendor');
      // Another process has given the job up meanwhile, and may have sent its lines again.
      if (!isOurs) await vendor.cancel(vendorId, client);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const refusal = isSent ? refusalOf(error) : 'busy';
      log.warn({ err: error, job: id, upstream, refusal }, 'a vendor has not confirmed a job');
      if (refusal === 'refused') await this.#end('refused', remainder === 'direct');
      else if (refusal === 'busy') await this.#end('not_taken');
      if (refusal === 'busy') return { kind: 'busy' };
      if (refusal === null) await postponeJob(database, id, { seconds: POLL_SECONDS.min, misses: 0 });
    }
    return { kind: 'started' };
  }

  async #end(outcome: BatchJobOutcome, direct = false): Promise<void> {
    await this.#money.release();
    await endJob(this.#services.database, this.#job, { outcome, direct });
  }
}

/** What a vendor's error says about a job that was sent: null if the vendor may have it. */
function refusalOf({ upstreamStatus: status, fault }: UpstreamError): 'refused' | 'busy' | null {
  if (fault === 'unreachable' || fault === 'key_refused' || fault === 'access_refused' || status === 429) return 'busy';
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 409 ? 'refused' : null;
}

function jobRouteOf({ upstream, upstreamFormat, upstreamModel }: NewBatchJob): JobRoute {
  return { provider: upstream, format: upstreamFormat, model: upstreamModel };
}

async function parseBody(text: string): Promise<JsonObject> {
  return readObject(await parseJson(Buffer.from(text)), '');
}

/** Whom the lines of a job belong to. */
interface Owner {
  readonly batch: Batch;
  readonly caller: Caller;
}

/** A step of a job that an earlier call has started. */
class JobRun {
  readonly #job: BatchJob;
  /** Null if no further line of the batch may start. */
  readonly #running: Batch | null;
  readonly #services: JobServices;
  readonly #money: JobMoney;
  /** Read once for all lines of the step. */
  #owner: Promise<Owner> | null = null;

  constructor(job: BatchJob, running: Batch | null, services: JobServices) {
    this.#job = job;
    this.#running = running;
    this.#services = services;
    this.#money = new JobMoney(services.database, job.id);
  }

  /** An upstream's error is no verdict: the next call asks again, until the batch has been over for an hour. */
  async step(): Promise<void> {
    const { sentAt, vendorId, upstream } = this.#job;
    // The process that recorded the job ended before it sent the job.
    if (sentAt === null) return this.#end('not_taken');
    if (await this.#isTooLate()) return this.#leaveOut('lost', await listJobLines(this.#services.database, this.#job));
    try {
      const use = async (client: BatchClient): Promise<true> => {
        if (vendorId === null) await this.#lookUp(client, sentAt);
        else await this.#poll(client, vendorId);
        return true;
      };
      const { upstreamFormat: format, upstreamModel: model, keyDigest } = this.#job;
      const used = await this.#services.text.useBatches({ provider: upstream, format, model, keyDigest }, use);
      if (used === null) await this.#postpone();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await this.#failed(error);
    }
  }

  async #failed(error: ServiceError): Promise<void> {
    const { database, log } = this.#services;
    const { id, upstream, vendorId, misses } = this.#job;
    log.warn(
      { err: error, job: id, upstream, vendor_id: vendorId },
      'could not follow a job of a vendor; trying again',
    );
    const isGone = error instanceof UpstreamError && (error.upstreamStatus === 404 || error.upstreamStatus === 410);
    // An answer that breaks off or is too long, and a job that the vendor has deleted.
    const isMissing = vendorId !== null && (isGone || !(error instanceof UpstreamError));
    if (isMissing && misses + 1 >= MAX_READS) return this.#leaveOut('lost', await listJobLines(database, this.#job));
    await this.#postpone(isMissing ? misses + 1 : misses);
  }

  async #lookUp(client: BatchClient, sentAt: Date): Promise<void> {
    const { database, log, settleMs = SETTLE_MS } = this.#services;
    const { id, upstream, upstreamFormat, misses } = this.#job;
    const lines = await listJobLines(database, this.#job);
    const sent = { mark: id, sentAtMs: sentAt.getTime(), requestCount: lines.length };
    const findKnown = (ids: readonly string[]): Promise<ReadonlySet<string>> => findKnownJobs(database, upstream, ids);
    const found = await batchVendorOf(upstreamFormat).find(sent, client, findKnown);
    if (found.kind === 'found' && (await recordJobAccepted(database, id, found.vendorId))) {
      log.info({ job: id, upstream, vendor_id: found.vendorId }, 'found a job of a vendor whose outcome was unknown');
      return;
    }
    const nowMissing = found.kind === 'absent' ? misses + 1 : 0;
    const isSettled = Date.now() - sentAt.getTime() >= settleMs;
    if (nowMissing >= MISSES_UNTIL_CONFIRMED && isSettled) return this.#end('not_taken');
    await this.#postpone(nowMissing);
  }

  async #poll(client: BatchClient, vendorId: string): Promise<void> {
    const { cancelledAt, upstreamFormat, remainder, misses } = this.#job;
    const vendor = batchVendorOf(upstreamFormat);
    const state = await vendor.read(vendorId, client);
    if (state.kind === 'refused') {
      this.#services.log.warn(
        { job: this.#job.id, vendor_id: vendorId, reason: state.reason },
        'a vendor refused a job',
      );
      if (state.isBusy) return this.#end('not_taken');
      return this.#leaveOut('refused', await listJobLines(this.#services.database, this.#job));
    }
    if (state.kind === 'running') {
      const mustCancel = this.#running === null && cancelledAt === null;
      if (mustCancel) await vendor.cancel(vendorId, client);
      return this.#postpone(0, mustCancel);
    }
    const { left, isBroken } = await this.#collect(vendor.results(state.job, client));
    // A vendor may still write the file.
    if (left.length > 0 && isBroken && misses + 1 < MAX_READS) return this.#postpone(misses + 1);
    return this.#leaveOut('collected', left, remainder === 'direct');
  }

  /** @returns the lines that have no answer, and whether an answer was not readable */
  async #collect(
    results: AsyncIterable<BatchResult | null>,
  ): Promise<{ readonly left: readonly JobLine[]; readonly isBroken: boolean }> {
    const { database } = this.#services;
    const lines = new Map((await listJobLines(database, this.#job)).map((line) => [line.number, line]));
    const left: JobLine[] = [];
    let isBroken = false;
    let answering: Promise<void>[] = [];
    for await (const result of results) {
      if (result === null) isBroken = true;
      const number = result && numberOf(this.#job.id, result.customId);
      const line = number === null ? undefined : lines.get(number);
      // The custom id of another job, or a second answer, whose first one counts.
      if (result === null || line === undefined || result.status === null) continue;
      lines.delete(line.number);
      answering.push(this.#answer(line, result, false).then((isAnswered) => void (isAnswered || left.push(line))));
      if (answering.length < ANSWERS_AT_ONCE) continue;
      await Promise.all(answering);
      answering = [];
    }
    await Promise.all(answering);
    return { left: [...left, ...lines.values()], isBroken };
  }

  /** @returns whether the line is final */
  async #answer(line: JobLine, result: BatchResult | null, mustEnd: boolean): Promise<boolean> {
    const { database, encryption, text } = this.#services;
    const { batchId, prices, costFactor, remainder, createdAt } = this.#job;
    if (prices === null) throw new Error(`the job ${this.#job.id} has no prices`);
    const { batch, caller } = await (this.#owner ??= this.#findOwner());
    const endpoint = requireTextEndpoint(batch.endpoint);
    const encrypted = await findEncryptedRequest(database, batchId, line.number);
    const { number, attempt, hold } = line;
    const body = await parseBody(encryption.decrypt(encrypted, contentId(batchId, number, 0)));
    const outcome = await answerLine(
      {
        batchId,
        endpoint,
        number,
        attempt,
        caller,
        body,
        betas: batch.betas,
        isLastTry: mustEnd || remainder === 'fail',
      },
      {
        ...this.#services,
        text: text.over({
          billing: settleFrom(this.#money, hold, prices, costFactor, this.#services),
          clock: { nowMs: () => createdAt.getTime() },
          call: answerFrom(jobRouteOf(this.#job), result),
        }),
      },
    );
    return outcome.kind === 'answered';
  }

  async #findOwner(): Promise<Owner> {
    const { database } = this.#services;
    const batch = await findAnyBatch(database, this.#job.batchId);
    if (batch === null) throw new Error(`the job ${this.#job.id} has no batch`);
    return { batch, caller: await findCaller(database, batch) };
  }

  /** Ends the job. Lines without an answer run directly, or fail. */
  async #leaveOut(
    outcome: BatchJobOutcome,
    left: readonly JobLine[],
    direct = this.#job.remainder === 'direct',
  ): Promise<void> {
    // Lines of a batch that is over end with the batch.
    if (!direct && this.#running !== null) for (const line of left) await this.#answer(line, null, true);
    await this.#end(outcome, direct);
  }

  async #end(outcome: BatchJobOutcome, direct = false): Promise<void> {
    const { database, log } = this.#services;
    const { id, upstream, vendorId } = this.#job;
    await this.#money.release();
    await endJob(database, this.#job, { outcome, direct });
    log.info({ job: id, upstream, vendor_id: vendorId, outcome }, 'a job of a vendor has ended');
  }

  /** Asks less often the longer the job takes. */
  async #postpone(misses = this.#job.misses, cancelled = false): Promise<void> {
    const { id, createdAt, cancelledAt } = this.#job;
    const ageSeconds = (Date.now() - (cancelledAt ?? createdAt).getTime()) / 1000;
    const seconds = cancelled
      ? POLL_SECONDS.min
      : Math.min(Math.max(ageSeconds / 10, POLL_SECONDS.min), POLL_SECONDS.max);
    await postponeJob(this.#services.database, id, { seconds, misses, cancelled });
  }

  async #isTooLate(): Promise<boolean> {
    if (this.#running !== null) return false;
    const batch = await findAnyBatch(this.#services.database, this.#job.batchId);
    if (batch === null) return true;
    return Date.now() - (batch.cancellingAt ?? batch.expiresAt).getTime() > MAX_ENDING_MS;
  }
}
