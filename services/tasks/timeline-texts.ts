/** The English texts of timelines. The console has them in the languages of its readers. */

/** The texts of a step of a workflow: in progress, and done. */
type StepTexts = Readonly<Record<string, readonly [step: (usd: string) => string, done: (usd: string) => string]>>;

const STEPS: StepTexts = {
  reserve: [(usd) => `Reserve ${usd}`, (usd) => `Reserved ${usd}`],
  settle: [(usd) => `Charge ${usd}`, (usd) => `Charged ${usd}`],
  refund: [(usd) => `Refund ${usd}`, (usd) => `Refunded ${usd}`],
};

/** Why an upstream did not take a job, by the recorded cause. */
const NOT_TAKEN: Readonly<Record<string, (upstream: string) => string>> = {
  access_refused: (upstream) => `${upstream} refused access`,
  unreachable: (upstream) => `${upstream} could not be reached`,
  busy: (upstream) => `${upstream} was busy`,
};

/** Labels of codes, statuses and kinds. A value without a label stays as it is. */
const LABELS: Readonly<Record<string, string>> = {
  not_taken: 'not taken',
  in_progress: 'in progress',
  cancelled_by_operator: 'cancelled by an operator',
  cancelled_by_customer: 'cancelled by the customer',
  awaiting_approval: 'awaiting approval',
  // Temporal's own words.
  'activity ScheduleToClose timeout': 'no time was left',
  'activity StartToClose timeout': 'the attempt took too long',
  'activity Heartbeat timeout': 'the worker stopped reporting',
};

export const TIMELINE_TEXTS = {
  labels: LABELS,
  separator: '; ',
  task: {
    succeeded: (usd: string) => `Succeeded; ${usd} charged.`,
    failed: (code: string, message: string, usd: string) => `Failed (${code}): ${message} ${usd} refunded in full.`,
    inProgress: (usd: string) => `In progress; ${usd} on hold.`,
    temporalSilent: (usd: string) => `In progress; ${usd} on hold. Temporal does not answer, so nothing more is known.`,
    noWorkflow: (usd: string) => `In progress; ${usd} on hold. Temporal has no workflow for the task yet.`,
    workflowClosed: (usd: string, status: string) =>
      `In progress; ${usd} on hold, but the workflow of the task is closed (${status}).`,
    refundSoon: (deadline: string) =>
      `Genway refunds the price soon after the deadline, ${deadline}. Cancel the task to refund it now.`,
    created: (request: string, key: string) => `Created by request ${request} with key ${key}`,
    ended: (status: string, code: string | null) => `Ended as ${status}${code === null ? '' : `: ${code}`}`,
  },
  batch: {
    final: (status: string, answered: number, total: number, usd: string) =>
      `${status}: ${answered} of ${total} requests answered; ${usd} charged.`,
    running: (status: string, ended: number, total: number, usd: string) =>
      `${status}: ${ended} of ${total} requests have ended; ${usd} charged so far.`,
    paused: (reason: string) => `Paused: ${reason}.`,
    pausedByOperator: 'Paused by an operator.',
    temporalSilent: 'Temporal does not answer, so nothing more is known.',
    noWorkflow: 'Temporal runs no workflow for the batch: the relay starts it within five minutes.',
    created: (endpoint: string, file: string, request: string, key: string) =>
      `Created for ${endpoint} from ${file} by request ${request} with key ${key}`,
    started: (total: number) => `The input was read: ${total} requests`,
    cancelling: 'Cancelled: no further request starts',
    finalizing: 'The last request ended',
    ended: (status: string, files: string) => `Ended as ${status}${files === '' ? '' : `: ${files}`}`,
  },
  submission: {
    submitted: (attempt: number, upstream: string, model: string) =>
      `Attempt ${attempt}: submitted to ${upstream} as ${model}`,
    attempt: (attempt: number, outcome: string) => `Attempt ${attempt}: ${outcome}`,
    accepted: (upstream: string) => `${upstream} accepted the job`,
    noResult: (upstream: string) => `${upstream} delivered no result`,
    refused: (upstream: string) => `${upstream} refused the job`,
    notTaken: NOT_TAKEN,
    notTakenOtherwise: (upstream: string) => `${upstream} did not take the job`,
    unknown: (upstream: string) => `it is unknown whether ${upstream} has the job`,
    knownFrom: (source: string) => `, known from ${source}`,
    because: (reason: string) => ` (${reason})`,
    job: (id: string) => `job ${id}`,
    possibleLoss: (usd: string) => `possible renders that no client received, at a list price of ${usd}`,
    vendorCharged: (amount: string, unit: string) => `the upstream charged ${amount} ${unit}`,
    cost: (usd: string) => `cost ${usd}`,
  },
  steps: {
    names: STEPS,
    outcomes: {
      done: (step: string) => `${step}: done`,
      failed: (step: string, failure: string) => `${step}: failed: ${failure}`,
      timedOut: (step: string, failure: string) => `${step}: timed out: ${failure}`,
      cancelled: (step: string) => `${step}: cancelled`,
      running: (step: string, attempt: number) => `${step}: in progress, attempt ${attempt}`,
    },
    attempt: (step: string, attempt: number) => `${step} (attempt ${attempt})`,
    previousFailed: (failure: string) => `the previous attempt failed: ${failure}`,
    heartbeat: (at: string, details: string) => `heartbeat of ${at}: ${details}`,
    noReason: 'for a reason that was not recorded',
    started: (summary: string) => `The workflow started: ${summary}`,
    startedChild: (summary: string, id: string) => `${summary}: ${id}`,
    signalled: (signal: string) => `The signal ${signal} arrived`,
    cancelRequested: 'Cancellation was requested',
    customerCancels: 'The customer asked to cancel the task',
    customerAnswered: (answer: string) => `The customer was answered: ${answer}`,
    ended: 'The workflow ended',
    timedOut: 'The workflow timed out',
    failed: (failure: string) => `The workflow failed, which is a bug: ${failure}`,
    terminated: (by: string, reason: string) => `The workflow was terminated by ${by}: ${reason}`,
    noReasonGiven: 'no reason given',
  },
  operator: (kind: string, usd: string | null, author: string, reason: string) =>
    `${kind}${usd === null ? '' : ` of ${usd}`} by ${author}: ${reason}`,
  action: (kind: string, subject: string, author: string, reason: string) =>
    `${kind} of ${subject} by ${author}: ${reason}`,
  transfer: {
    moved: (kind: string, usd: string, debit: string, credit: string, id: string) =>
      `${kind} of ${usd} from ${debit} to ${credit}: ${id}`,
    forCause: (kind: string, usd: string, cause: string, verdict: string) =>
      `${kind} of ${usd} for ${cause}. ${verdict}`,
    alone: (kind: string, usd: string, reason: string) => `${kind} of ${usd}: ${reason}`,
    noReference: 'no reference',
  },
  delivery: {
    made: (event: string, endpoint: string, id: string, status: string) =>
      `${event} to ${endpoint}: ${id}, now ${status}`,
    next: (at: string) => `, next attempt at ${at}`,
    attempt: (id: string, number: number, answer: string, milliseconds: number) =>
      `${id}, attempt ${number}: ${answer}, after ${milliseconds} ms`,
    verdict: (event: string, endpoint: string, status: string, attempts: number) =>
      `${event} to ${endpoint} is ${status} after ${attempts} attempts.`,
  },
  event: {
    verdict: (type: string, task: string | null, endpoints: number) =>
      `${type}${task === null ? '' : ` of ${task}`}, for ${endpoints} endpoints.`,
    happened: (type: string, task: string | null) => `${type}${task === null ? '' : ` of ${task}`} happened`,
  },
  account: {
    open: (name: string, available: string, held: string) =>
      `${name} is open; ${available} available, ${held} on hold.`,
    closed: (name: string, since: string, available: string, held: string) =>
      `${name} was closed by its owner at ${since}; ${available} available, ${held} on hold.`,
    merged: (name: string, target: string, since: string, available: string, held: string) =>
      `${name} was merged into ${target} at ${since}; ${available} available, ${held} on hold.`,
    suspended: (name: string, since: string, available: string, held: string) =>
      `${name} is suspended since ${since}; ${available} available, ${held} on hold.`,
    created: 'Created',
    toppedUp: 'Topped up for the first time',
    key: (id: string, hint: string, state: string) => `${id} (${hint}) created, now ${state}`,
  },
  key: {
    verdict: (hint: string, state: string, used: string, limit: string | null) =>
      `${hint} is ${state}; it used ${used} ${limit === null ? 'without a limit' : `of at most ${limit}`}.`,
    created: (name: string) => (name === '' ? 'Created' : `Created as ${name}`),
    disabled: 'Disabled',
    expires: 'Expires',
    deleted: 'Deleted',
  },
  endpoint: {
    verdict: (url: string, state: string) => `${url} is ${state}.`,
    created: (url: string) => `Created for ${url}`,
    failing: 'The first failed attempt since the last success',
    disabled: (reason: string) => `Disabled: ${reason}`,
    deleted: 'Deleted',
  },
  file: {
    verdict: (name: string | null, type: string, bytes: number) =>
      `${name ?? 'a file without a name'}, ${type}, ${bytes} bytes.`,
    uploading: 'The upload began',
    stored: 'Stored',
    used: 'Used by a task for the first time',
    deleted: 'Deleted',
  },
  promo: {
    verdict: (usd: string, reference: string) => `Promo credit of ${usd} (${reference})`,
    parts: (available: string, held: string, spent: string, expired: string) =>
      `: ${available} available, ${held} on hold, ${spent} spent, ${expired} expired.`,
    given: (usd: string, author: string, reason: string) => `${usd} given by ${author}: ${reason}`,
    expires: 'What is left expires',
  },
  gift: {
    batch: (label: string, codes: number, usd: string, redeemed: number, status: string) =>
      `${codes} gift codes of ${usd} (${label}): ${redeemed} redeemed, ${status}.`,
    code: (account: string | null, batch: string, verdict: string) =>
      `${account === null ? 'Not redeemed' : `Redeemed by ${account}`}, of ${batch}: ${verdict}`,
    issued: (author: string) => `Issued by ${author}`,
    approved: (author: string) => `Approved by ${author}`,
    withdrawn: (author: string, reason: string) => `Withdrawn by ${author}: ${reason}`,
    redeemed: (credit: string) => `Redeemed as ${credit}`,
    expires: 'Codes that nobody redeemed expire',
  },
  refusal: {
    verdict: (status: number, code: string) => `Refused with status ${status}, ${code}; nothing was charged.`,
    refused: (call: string, key: string, reason: string) =>
      `${call === '' ? 'A call' : call} with key ${key} was refused at this time or shortly before: ${reason}`,
  },
  text: {
    verdict: (outcome: string, code: string | null, usd: string, loss: string | null) =>
      `${outcome}${code === null ? '' : ` (${code})`}; ${usd} charged${loss === null ? '' : `, ${loss} our loss`}.`,
    asked: (model: string, request: string, key: string) => `${model} asked by request ${request} with key ${key}`,
    answered: (upstream: string | null, model: string, outcome: string, tokens: string) =>
      `${upstream ?? 'no upstream'} as ${model}: ${outcome}, ${tokens}`,
    tokens: (input: number | string, output: number | string) => `${input} tokens in, ${output} out`,
    route: (upstream: string, model: string, format: string, key: string) =>
      `${upstream} as ${model} (${format}, key …${key})`,
    attempt: (number: number, route: string, answer: string, decision: string, milliseconds: number) =>
      `Attempt ${number}, ${route}: ${answer === '' ? '' : `${answer}; `}${decision} after ${milliseconds} ms`,
    failedAttempt: (upstream: string, model: string, tokens: string, usd: string | null) =>
      `A failed attempt at ${upstream} as ${model} used ${tokens}, and cost us ${usd ?? 'an unknown amount'}`,
  },
};

export type TimelineTexts = typeof TIMELINE_TEXTS;

/** The label of a code, status or kind; the value itself if there is none. */
export function timelineLabel(value: string, { labels }: TimelineTexts): string {
  return labels[value] ?? value;
}
