/**
 * The metrics that a process reports to Prometheus. The rest of the code reports events; this file decides names,
 * labels and buckets. Label values come only from short lists: an account, task, key or address is never a label.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { TextMoneyMetrics } from '../db/text-money/billing.ts';
import type { PollProblem } from '../db/queries/poll-problems.ts';
import type { Importance } from '../domain/admission.ts';
import { toUsdNumber } from '../domain/money.ts';
import { type Task, reasonOf } from '../domain/task.ts';

export interface Metrics extends TextMoneyMetrics {
  /** For registering further metrics of the process. */
  readonly registry: Registry;
  /** @param route the pattern that the path matched */
  requestEnded(request: { method: string; route: string; status: number; seconds: number }): void;
  /**
   * @param upstream the name of a text model's upstream
   * @param outcome the status of its answer, `unreachable`, or `cancelled`
   * @param seconds until the answer started
   */
  upstreamAnswered(call: { upstream: string; outcome: string; seconds: number }): void;
  /**
   * Reports one attempt to have a text request answered.
   *
   * @param model the upstream's name for the model
   * @param fault the upstream's fault, or `none`
   * @param decision the outcome of the request: `answered`, `next`, `retry`, `refused`, `broken` or `cancelled`
   * @param unreadableEvents the number of events of the answer that were skipped as unreadable
   */
  upstreamAttempted(
    attempt: { upstream: string; model: string; fault: string; decision: string },
    unreadableEvents: number,
  ): void;
  /** @param task the task in its final state */
  taskEnded(task: Pick<Task, 'model' | 'status' | 'failure' | 'price'>): void;
  /**
   * A job that a media upstream accepted has ended.
   *
   * @param model the upstream's name for the model
   * @param outcome `succeeded`, or the error code of the task
   */
  jobEnded(job: { upstream: string; model: string; outcome: string }): void;
  /** The answer to a submission was lost or made no sense. @param upstream the name of a media upstream */
  submissionUnclear(upstream: string): void;
  /** The outcome of a submission became known, or recovery gave up. */
  submissionSettled(
    upstream: string,
    settlement: { outcome: string; evidence: string; possibleLoss?: bigint | null },
  ): void;
  /** For a minute, an upstream repeated an unknown word for the state of a job, or all polls of the job failed. @param upstream the name of a media upstream */
  pollProblemRepeated(upstream: string, problem: PollProblem['kind']): void;
  /**
   * A provider announced the end of a job.
   *
   * @param upstream the name of a media upstream
   * @param outcome `accepted`, `refused` for a wrong signature, or `unknown_task`
   */
  callbackReceived(callback: { upstream: string; outcome: 'accepted' | 'refused' | 'unknown_task' }): void;
  /** A call of the moderation service has ended. @param outcome `answered`, or `unavailable` without a verdict */
  moderationEnded(outcome: 'answered' | 'unavailable'): void;
  /** @param outcome the delivery's status after the attempt: `delivered`, `pending` or `failed` */
  deliveryAttempted(outcome: string): void;
  /** Reports whether results can be stored. */
  storageChanged(isAvailable: boolean): void;
  /** A request was refused because the process had too many. */
  requestShed(importance: Importance): void;
  /** @param batch the name of the batcher */
  batchFlushed(batch: string, items: number): void;
  /** Adds metrics that another part of the process provides in Prometheus' text format. */
  addSource(read: () => Promise<string>): void;
  /** All metrics, in Prometheus' text format. */
  render(): Promise<string>;
}

const SECONDS_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 100, 300];
const ITEMS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The text-based format of https://prometheus.io/docs/instrumenting/exposition_formats/. */
export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** The answer to a request with a wrong token. */
export const METRICS_REFUSAL =
  'The metrics token is wrong. Send the value of GENWAY_METRICS_TOKEN or, if that is not set, of GENWAY_ADMIN_TOKEN.';

/** Creates a separate registry, so that one process can have several. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const sources: (() => Promise<string>)[] = [];
  registerProcessMetrics(registry);
  const { upstreams, upstreamAttempts, unreadable, clamped, possibleLoss, unsettled } = textInstruments([registry]);
  const media = mediaInstruments([registry]);
  const { requests, shed, attempts, storageUnavailable, batches } = processInstruments([registry]);

  return {
    registry,
    requestEnded: ({ method, route, status, seconds }) => {
      requests.observe({ method, route, status: String(status) }, seconds);
    },
    upstreamAnswered: ({ upstream, outcome, seconds }) => upstreams.observe({ upstream, outcome }, seconds),
    upstreamAttempted: (attempt, unreadableEvents) => {
      upstreamAttempts.inc(attempt);
      if (unreadableEvents > 0) unreadable.inc({ upstream: attempt.upstream }, unreadableEvents);
    },
    usageClamped: (upstream) => clamped.inc({ upstream }),
    textPossiblyLost: (upstream, listPrice) => possibleLoss.inc({ upstream }, toUsdNumber(listPrice)),
    textUnsettled: (amount) => unsettled.inc(toUsdNumber(amount)),
    taskEnded: ({ model, status, failure, price }) => {
      media.tasks.inc({ model, outcome: failure ? reasonOf(failure) : status });
      (failure ? media.refunded : media.settled).inc(toUsdNumber(price));
    },
    jobEnded: (job) => media.jobs.inc(job),
    submissionUnclear: (upstream) => media.unclear.inc({ upstream }),
    submissionSettled: (upstream, { outcome, evidence, possibleLoss: loss }) => {
      media.submissions.inc({ upstream, outcome, learnt_from: evidence });
      if (outcome === 'unknown') media.orphaned.inc({ upstream });
      if (loss) media.possibleLoss.inc({ upstream }, toUsdNumber(loss));
    },
    pollProblemRepeated: (upstream, problem) => media.pollProblems.inc({ upstream, problem }),
    callbackReceived: (callback) => media.callbacks.inc(callback),
    moderationEnded: (outcome) => media.moderations.inc({ outcome }),
    deliveryAttempted: (outcome) => attempts.inc({ outcome }),
    storageChanged: (isAvailable) => storageUnavailable.set(isAvailable ? 0 : 1),
    requestShed: (importance) => shed.inc({ importance }),
    batchFlushed: (batch, items) => batches.observe({ batch }, items),
    addSource: (read) => void sources.push(read),
    render: async () => (await Promise.all([registry.metrics(), ...sources.map((read) => read())])).join('\n'),
  };
}

function textInstruments(registers: Registry[]) {
  return {
    upstreams: new Histogram({
      name: 'genway_text_upstream_response_seconds',
      help: 'Time until the first byte of answers of text upstreams, by status of the answer, unreachable or cancelled',
      labelNames: ['upstream', 'outcome'],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    upstreamAttempts: new Counter({
      name: 'genway_text_attempts_total',
      help: 'Attempts at text upstreams, by the fault of the upstream and the outcome of the request',
      labelNames: ['upstream', 'model', 'fault', 'decision'],
      registers,
    }),
    unreadable: new Counter({
      name: 'genway_text_unreadable_events_total',
      help: 'Events of text upstreams that were skipped in the middle of a stream because they could not be read',
      labelNames: ['upstream'],
      registers,
    }),
    clamped: new Counter({
      name: 'genway_text_usage_clamped_total',
      help: 'Text requests whose upstream reported more tokens than the request can have used',
      labelNames: ['upstream'],
      registers,
    }),
    possibleLoss: new Counter({
      name: 'genway_text_possible_loss_usd_total',
      help: 'USD held for text requests that no upstream answered in time, and for realtime responses that it broke off',
      labelNames: ['upstream'],
      registers,
    }),
    unsettled: new Counter({
      name: 'genway_text_unsettled_lost_usd_total',
      help: 'USD left in the allowances of dead text processes, including requests that the processes had not charged',
      registers,
    }),
  };
}

function mediaInstruments(registers: Registry[]) {
  return {
    tasks: new Counter({
      name: 'genway_tasks_ended_total',
      help: 'Final media tasks, by outcome: succeeded or the error code',
      labelNames: ['model', 'outcome'],
      registers,
    }),
    jobs: new Counter({
      name: 'genway_media_jobs_ended_total',
      help: 'Jobs that media upstreams accepted and that ended, by outcome: succeeded or the error code of the task',
      labelNames: ['upstream', 'model', 'outcome'],
      registers,
    }),
    settled: new Counter({
      name: 'genway_tasks_settled_usd_total',
      help: 'USD charged for media tasks',
      registers,
    }),
    refunded: new Counter({
      name: 'genway_tasks_refunded_usd_total',
      help: 'USD refunded for media tasks',
      registers,
    }),
    submissions: new Counter({
      name: 'genway_media_submissions_total',
      help: 'Submissions of media tasks to upstreams, by outcome and the way in which it was determined',
      labelNames: ['upstream', 'outcome', 'learnt_from'],
      registers,
    }),
    unclear: new Counter({
      name: 'genway_media_submissions_unclear_total',
      help: 'Submissions of media tasks whose answer was lost',
      labelNames: ['upstream'],
      registers,
    }),
    orphaned: new Counter({
      name: 'genway_orphaned_submissions_total',
      help: 'Submissions of media tasks whose outcome could not be determined; the upstream may have charged for a render that no client received',
      labelNames: ['upstream'],
      registers,
    }),
    pollProblems: new Counter({
      name: 'genway_media_poll_problems_total',
      help: 'Minutes for which all polls of a job failed (failed_polls), or reported a state that Genway does not know (unknown_state)',
      labelNames: ['upstream', 'problem'],
      registers,
    }),
    callbacks: new Counter({
      name: 'genway_provider_callbacks_total',
      help: 'Callbacks of media upstreams about the end of a job, by outcome: accepted, refused or unknown_task',
      labelNames: ['upstream', 'outcome'],
      registers,
    }),
    moderations: new Counter({
      name: 'genway_moderations_total',
      help: 'Checks by the moderation service, by outcome: answered or unavailable',
      labelNames: ['outcome'],
      registers,
    }),
    possibleLoss: new Counter({
      name: 'genway_media_possible_loss_usd_total',
      help: 'List price of the tasks of orphaned submissions',
      labelNames: ['upstream'],
      registers,
    }),
  };
}

function processInstruments(registers: Registry[]) {
  return {
    requests: new Histogram({
      name: 'genway_http_request_duration_seconds',
      help: 'Duration of HTTP requests, from arrival to the last byte of the response',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    shed: new Counter({
      name: 'genway_requests_shed_total',
      help: 'Requests refused with 503 because the process was overloaded, by importance',
      labelNames: ['importance'],
      registers,
    }),
    attempts: new Counter({
      name: 'genway_webhook_attempts_total',
      help: 'Attempts to deliver an event, by status of the delivery: delivered, pending (will be tried again) or failed',
      labelNames: ['outcome'],
      registers,
    }),
    storageUnavailable: new Gauge({
      name: 'genway_storage_unavailable',
      help: '1 if this process found the store of results unavailable; otherwise 0',
      aggregator: 'max',
      registers,
    }),
    batches: new Histogram({
      name: 'genway_batch_items',
      help: 'Number of calls that shared one database round trip',
      labelNames: ['batch'],
      buckets: ITEMS_BUCKETS,
      registers,
    }),
  };
}

/** The metrics of Node and of the process. Each set of them measures for ever, so a process has one. */
let processMetrics: Registry | undefined;

function registerProcessMetrics(registry: Registry): void {
  if (!processMetrics) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  for (const { name } of processMetrics.getMetricsAsArray()) {
    const metric = processMetrics.getSingleMetric(name);
    if (metric) registry.registerMetric(metric);
  }
}
