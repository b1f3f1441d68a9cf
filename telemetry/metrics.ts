/**
 * What a process tells Prometheus about itself. The rest of the code reports what happened in its own words; names, labels
 * and buckets are decided here. Labels take their values from short lists only: no account, task, key or address is one.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { toUsdNumber } from '../domain/money.ts';
import type { Task } from '../domain/task.ts';

export interface Metrics {
  /** Where further measurements of the process are registered. */
  readonly registry: Registry;
  /** @param route the pattern that the path matched */
  requestEnded(request: { method: string; route: string; status: number; seconds: number }): void;
  /**
   * @param upstream of a text model, by its name
   * @param outcome the status of its answer, `unreachable`, or `cancelled`
   * @param seconds until the answer began
   */
  upstreamAnswered(call: { upstream: string; outcome: string; seconds: number }): void;
  /**
   * One attempt to have a text request answered.
   *
   * @param model the upstream's name for it
   * @param fault what is wrong with the upstream, or `none`
   * @param decision what became of the request: `answered`, `next`, `refused`, `broken` or `cancelled`
   */
  upstreamAttempted(attempt: { upstream: string; model: string; fault: string; decision: string }): void;
  /** @param upstream that reported more tokens than it can have used */
  usageClamped(upstream: string): void;
  /** @param task as it stands after its ending */
  taskEnded(task: Pick<Task, 'model' | 'status' | 'failure' | 'price'>): void;
  /** The answer to a submission was lost, or made no sense. @param upstream of media, by its name */
  submissionUnclear(upstream: string): void;
  /** It is known, or was given up to learn, what became of a submission. */
  submissionSettled(
    upstream: string,
    settlement: { outcome: string; learntFrom: string; possibleLoss?: bigint | null },
  ): void;
  /** @param outcome what became of the delivery: `delivered`, `pending` or `failed` */
  deliveryAttempted(outcome: string): void;
  /** Whether results can be stored. */
  storageChanged(isAvailable: boolean): void;
  /** @param batch the name of the batcher */
  batchFlushed(batch: string, items: number): void;
  /** Adds measurements that something else in the process writes in Prometheus' text format. */
  addSource(read: () => Promise<string>): void;
  /** Everything, in Prometheus' text format. */
  render(): Promise<string>;
}

const SECONDS_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 100, 300];
const ITEMS_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** What https://prometheus.io/docs/instrumenting/exposition_formats/ calls the text-based format. */
export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** What whoever asks for them with another token reads. */
export const METRICS_REFUSAL =
  'The metrics token is wrong. It is the value of GENWAY_METRICS_TOKEN, or else of GENWAY_ADMIN_TOKEN.';

/** Metrics of their own, so that several can live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const sources: (() => Promise<string>)[] = [];
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments([registry]);
  const { requests, upstreams, clamped, tasks, settled, refunded, attempts, storageAway, batches } = instruments;
  const { submissions, unclear, orphaned, possibleLoss } = instruments;

  return {
    registry,
    requestEnded: ({ method, route, status, seconds }) => {
      requests.observe({ method, route, status: String(status) }, seconds);
    },
    upstreamAnswered: ({ upstream, outcome, seconds }) => upstreams.observe({ upstream, outcome }, seconds),
    upstreamAttempted: (attempt) => instruments.upstreamAttempts.inc(attempt),
    usageClamped: (upstream) => clamped.inc({ upstream }),
    taskEnded: ({ model, status, failure, price }) => {
      tasks.inc({ model, outcome: failure?.code ?? status });
      (failure ? refunded : settled).inc(toUsdNumber(price));
    },
    submissionUnclear: (upstream) => unclear.inc({ upstream }),
    submissionSettled: (upstream, { outcome, learntFrom, possibleLoss: loss }) => {
      submissions.inc({ upstream, outcome, learnt_from: learntFrom });
      if (outcome === 'unknown') orphaned.inc({ upstream });
      if (loss) possibleLoss.inc({ upstream }, toUsdNumber(loss));
    },
    deliveryAttempted: (outcome) => attempts.inc({ outcome }),
    storageChanged: (isAvailable) => storageAway.set(isAvailable ? 0 : 1),
    batchFlushed: (batch, items) => batches.observe({ batch }, items),
    addSource: (read) => void sources.push(read),
    render: async () => (await Promise.all([registry.metrics(), ...sources.map((read) => read())])).join('\n'),
  };
}

/** What is counted and measured. */
function createInstruments(registers: Registry[]) {
  return {
    requests: new Histogram({
      name: 'genway_http_request_duration_seconds',
      help: 'HTTP requests: from their arrival to the last byte of the answer',
      labelNames: ['method', 'route', 'status'],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    upstreams: new Histogram({
      name: 'genway_text_upstream_response_seconds',
      help: 'Calls of upstreams of text models until their answer begins, by its status, unreachable or cancelled',
      labelNames: ['upstream', 'outcome'],
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    upstreamAttempts: new Counter({
      name: 'genway_text_attempts_total',
      help: 'Attempts to have text requests answered, by what was wrong with the upstream and what became of the request',
      labelNames: ['upstream', 'model', 'fault', 'decision'],
      registers,
    }),
    clamped: new Counter({
      name: 'genway_text_usage_clamped_total',
      help: 'Text requests whose upstream reported more tokens than it can have used',
      labelNames: ['upstream'],
      registers,
    }),
    tasks: new Counter({
      name: 'genway_tasks_ended_total',
      help: 'Media tasks that ended, by how: succeeded, or their error code',
      labelNames: ['model', 'outcome'],
      registers,
    }),
    settled: new Counter({
      name: 'genway_tasks_settled_usd_total',
      help: 'USD charged for media tasks',
      registers,
    }),
    refunded: new Counter({
      name: 'genway_tasks_refunded_usd_total',
      help: 'USD that media tasks had reserved and gave back',
      registers,
    }),
    submissions: new Counter({
      name: 'genway_media_submissions_total',
      help: 'Submissions of media tasks to upstreams, by their outcome and how it was learnt',
      labelNames: ['upstream', 'outcome', 'learnt_from'],
      registers,
    }),
    unclear: new Counter({
      name: 'genway_media_submissions_unclear_total',
      help: 'Submissions of media tasks whose answer was lost: their outcome is found out, or given up',
      labelNames: ['upstream'],
      registers,
    }),
    orphaned: new Counter({
      name: 'genway_orphaned_submissions_total',
      help: 'Submissions of media tasks whose outcome was given up: the upstream may have rendered them for nobody',
      labelNames: ['upstream'],
      registers,
    }),
    possibleLoss: new Counter({
      name: 'genway_media_possible_loss_usd_total',
      help: 'List price of the tasks of orphaned submissions',
      labelNames: ['upstream'],
      registers,
    }),
    attempts: new Counter({
      name: 'genway_webhook_attempts_total',
      help: 'Attempts to deliver an event, by what became of the delivery: delivered, pending (tried again later) or failed',
      labelNames: ['outcome'],
      registers,
    }),
    storageAway: new Gauge({
      name: 'genway_storage_away',
      help: 'Whether the store of results cannot be written, as the process last saw it: 1 or 0',
      registers,
    }),
    batches: new Histogram({
      name: 'genway_batch_items',
      help: 'How many calls shared one database round trip',
      labelNames: ['batch'],
      buckets: ITEMS_BUCKETS,
      registers,
    }),
  };
}
