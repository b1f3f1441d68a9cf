/**
 * Replicate's predictions (docs/vendors/replicate.md), `replicate` 1.4. Each model has its own fields. A prediction
 * cannot carry our id, but the list of predictions shows their inputs for an hour. Only `Cancel-After` ends an
 * abandoned prediction.
 */
import type { TaskErrorCode } from '../../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { FieldNames, VendorCost } from '../../../domain/media-route.ts';
import { mediaTypeOf } from '../../../domain/media-types.ts';
import type { JobState, KindTraits, MediaAdapter, SentSubmission } from '../adapter.ts';
import { type CallbackFormat, parseCallbackBody } from '../callbacks.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf, isMissing } from '../exchange.ts';
import { fieldsOf } from '../fields.ts';
import { failed, unfinished } from '../job-state.ts';
import { costIn, endIn, fingerprintOf, mergeParams } from '../json.ts';
import { lifetimeSecondsOf } from '../lifetime.ts';
import { JobRefusedError, NotTakenError, ProviderUnreachableError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import type { ResultFile } from '../result-file.ts';
import { assertStandardWebhook } from '../signatures/standard-webhooks.ts';
import { retryAfterMs, type VendorAnswer, type VendorCall, type VendorHttp } from '../vendor-http.ts';
import { jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { cleanVendorMessage } from '../vendor-message.ts';
import { replicateCodes, replicateStatuses } from './replicate-codes.ts';
import { parseUrl } from '../../../domain/parse-url.ts';

const PREDICTIONS = 'v1/predictions';

/** Each model has its own fields: the route maps them. */
const TRAITS = { answers: 'job', recovery: 'content', inputs: 'links', range: ANY_RANGE } as const;
const IMAGE: KindTraits = { ...TRAITS, poll: { firstMs: 2_000, everyMs: 5_000 } };
const VIDEO: KindTraits = { ...TRAITS, poll: { firstMs: 5_000, everyMs: 15_000 } };

const USUAL_FIELDS: Readonly<Record<'image' | 'video', FieldNames>> = {
  image: { prompt: { to: 'prompt' }, image: { to: 'image' }, width: { to: 'width' }, height: { to: 'height' } },
  video: {
    prompt: { to: 'prompt' },
    image: { to: 'image' },
    duration: { to: 'duration' },
    aspect_ratio: { to: 'aspect_ratio' },
    resolution: { to: 'resolution' },
  },
};

const UNFINISHED: readonly unknown[] = ['starting', 'processing'];
const MIN_LIFETIME_SECONDS = 60;
const MAX_PAGES = 20;
/** The list may be out of date, unless it contains a prediction made this long after the submission. */
const LIST_LAG_MS = 90_000;
/** After this time a search gives up. The vendor deletes inputs after an hour. */
const LISTED_FOR_MS = 15 * 60_000;
/** With these statuses, a cancellation reports that the prediction has ended or does not exist. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409, 422];

/** For example `(E6716)`. */
const CODE_IN_WORDS = /\bE\d{3,4}\b/;
/** Recognises moderation by the text of an error: Replicate has no field for it. */
const MODERATED =
  /flagged|nsfw|content (policy|filter)|safety (filter|system|check)|moderat(ed|ion)|prohibited.content/i;
const TIMED_OUT = /timed out/i;
const callbacks: CallbackFormat = {
  proof: 'secret',
  read(callback, { secret, nowMs }) {
    assertStandardWebhook(callback, secret, nowMs);
    const { id } = objectOf(parseCallbackBody(callback.rawBody));
    return { jobId: typeof id === 'string' && cleanVendorMessage(id) === id ? id : null };
  },
};

export const replicate: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://api.replicate.com',
  versionPath: 'v1',
  authorization: bearer,
  probe: { path: PREDICTIONS },
  callbacks,

  submission(request): VendorCall {
    const { model, version } = modelOf(request.model);
    const { callbackUrl } = request;
    const input = mergeParams(fieldsOf(request, USUAL_FIELDS[request.kind]), request.params);
    const hook = callbackUrl !== undefined && {
      webhook: callbackUrl,
      webhook_events_filter: ['start', 'completed'],
    };
    return {
      path: version === undefined ? `v1/models/${model}/predictions` : PREDICTIONS,
      // `Prefer: wait` would delay the answer by up to a minute.
      headers: { 'cancel-after': `${Math.max(lifetimeSecondsOf(request), MIN_LIFETIME_SECONDS)}s` },
      body: { json: { ...(version !== undefined && { version }), input, ...hook } },
      identity: { model: request.model, input },
    };
  },

  accepted: ({ document }) => ({ jobId: textOf(objectOf(document)['id'], 'prediction id') }),

  refusal,

  async find(sent, http, signal) {
    const { found, isComplete } = await findPredictions(sent, http, signal);
    if (found.length > 0 || isComplete) return found;
    if (Date.now() - sent.since.getTime() > LISTED_FOR_MS) return null;
    throw new ProviderUnreachableError('the upstream does not list the submission yet, and the list may lag behind');
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: `${PREDICTIONS}/${encodeURIComponent(jobId)}` }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)));
  },

  async cancel(jobId, http, signal) {
    const path = `${PREDICTIONS}/${encodeURIComponent(jobId)}/cancel`;
    const answer = await http.send({ method: 'POST', path }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

/** `owner/name`, or `owner/name:version`. */
function modelOf(name: string): { readonly model: string; readonly version?: string } {
  const [model = '', version] = name.split(':');
  return { model, ...(version !== undefined && { version }) };
}

interface Listed {
  readonly found: readonly string[];
  /** Whether a prediction that is not in the list certainly does not exist. */
  readonly isComplete: boolean;
}

/** Reads the list, newest first, back to the moment before the submission. */
async function findPredictions(sent: SentSubmission, http: VendorHttp, signal: AbortSignal): Promise<Listed> {
  const { since } = sent;
  const found: string[] = [];
  let isComplete = false;
  let query: Record<string, string> = { created_after: since.toISOString() };
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { results, next } = objectOf(documentOf(await http.send({ path: PREDICTIONS, query }, signal)));
    for (const prediction of listOf(results).map(objectOf)) {
      const afterMs = Date.parse(String(prediction['created_at'])) - since.getTime();
      if (afterMs > LIST_LAG_MS) isComplete = true;
      if (afterMs >= 0 && isSame(prediction, sent)) found.push(textOf(prediction['id'], 'prediction id'));
    }
    const nextUrl = typeof next === 'string' ? parseUrl(next) : null;
    if (nextUrl === null) return { found, isComplete };
    query = Object.fromEntries(nextUrl.searchParams);
  }
  throw new ProviderUnreachableError('the upstream lists more predictions than Genway reads');
}

/**
 * Whether a prediction has every submitted field; the vendor may add its own defaults.
 *
 * @throws ProviderUnreachableError for a prediction of the same model whose inputs are no longer listed
 */
function isSame(prediction: JsonObject, { request, fingerprint }: SentSubmission): boolean {
  const { model, version } = modelOf(request.model);
  if (prediction['model'] !== model && (version === undefined || prediction['version'] !== version)) return false;
  const { input, data_removed: isRemoved } = prediction;
  if (isRemoved === true || !isObject(input)) {
    throw new ProviderUnreachableError('the upstream lists a prediction without its input');
  }
  const { input: sent } = objectOf(replicate.submission(request).identity);
  const listed = Object.fromEntries(Object.keys(objectOf(sent)).map((name) => [name, input[name]]));
  return fingerprintOf({ model: request.model, input: listed }) === fingerprint;
}

function stateOf(prediction: JsonObject): JobState {
  const { status, output, error } = prediction;
  const facts = { ...costOf(prediction), ...endIn(prediction['completed_at']) };
  switch (status) {
    case 'succeeded':
      return { state: 'succeeded', results: [output].flat().flatMap(valuesOf).flatMap(fileOf), ...facts };
    case 'failed':
      // Clients do not get the error's text, which any program may have written.
      return failed(verdictOf(String(error)), undefined, { ...facts, detail: error });
    case 'canceled':
    case 'aborted':
      return failed(isOverdue(prediction) ? 'processing_timeout' : 'processing_failed', undefined, facts);
    default:
      // A running prediction may already have some of its output.
      return unfinished(status, UNFINISHED);
  }
}

/** Whether `Cancel-After` stopped the prediction. */
function isOverdue({ deadline, completed_at: endedAt }: JsonObject): boolean {
  return Date.parse(String(endedAt)) >= Date.parse(String(deadline));
}

function verdictOf(error: string): TaskErrorCode {
  const means = replicateCodes.meaningOf(CODE_IN_WORDS.exec(error)?.[0]);
  if (means !== null) return jobVerdictFor(means);
  if (MODERATED.test(error)) return 'content_policy_violation';
  return TIMED_OUT.test(error) ? 'processing_timeout' : 'processing_failed';
}

/** Some models answer with an object of links, or of lists of links. */
function valuesOf(output: unknown): readonly unknown[] {
  return isObject(output) ? Object.values(output).flat() : [output];
}

function fileOf(output: unknown): readonly ResultFile[] {
  const url = typeof output === 'string' && /^https?:\/\//.test(output) ? parseUrl(output) : null;
  if (typeof output !== 'string' || url === null) return [];
  // Tells the files of an output apart: each model names the fields of its output as it likes.
  return [{ url: output, mimeType: mediaTypeOf(url.pathname) }];
}

/** Replicate charges for most models by running time, even if they fail. */
function costOf({ metrics }: JsonObject): { readonly cost?: VendorCost } {
  return costIn(objectOf(metrics)['predict_time'], 'seconds');
}

function refusal(answer: VendorAnswer): SubmissionError | null {
  const { status, document } = answer;
  if (!isObject(document)) return null;
  const { title, detail, invalid_fields: fields } = document;
  const means = replicateStatuses.meaningOf(status);
  if (means !== 'bad_request') {
    const operatorMessage = `the upstream answered ${status}: ${cleanVendorMessage(title) ?? 'no reason'}`;
    return means && submissionErrorFor(means, { operatorMessage, retryAfterMs: waitMsOf(answer) });
  }
  const fault = JSON.stringify(fields ?? detail ?? '');
  // A client cannot correct an unknown version or a refused webhook address.
  const isOurs = /version|webhook|cancel.after/i.test(fault) || !/\binput\b/i.test(`${String(title)} ${fault}`);
  if (isOurs) return new NotTakenError(`the upstream answered ${status}`, { isRouteExcluded: true });
  const code = MODERATED.test(String(detail)) ? 'content_policy_violation' : 'bad_request';
  return new JobRefusedError(code, detail);
}

/** Reads the wait from a header or a message: `Your rate limit resets in ~9s.`, `Expected available in 1 second.` */
function waitMsOf(answer: VendorAnswer): number | undefined {
  const seconds =
    answer.headers['ratelimit-reset'] ??
    /(?:resets|available) in ~?(\d+) ?s/.exec(JSON.stringify(answer.document ?? ''))?.[1];
  return retryAfterMs(answer) ?? retryAfterMs({ headers: { 'retry-after': seconds ?? '' }, document: undefined });
}
