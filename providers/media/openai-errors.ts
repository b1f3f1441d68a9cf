/**
 * Errors of OpenAI's APIs, which other gateways use too: `{"error": {"message", "type", "param", "code"}}`. The same
 * name may be in `type` or in `code`, and other gateways leave out both.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import { type JsonObject, objectOf } from '../../domain/json.ts';
import { openaiCodes } from './openai-codes.ts';
import type { SubmissionError } from './outcomes.ts';
import { type CodeMeaning, jobVerdictFor, submissionErrorFor } from './vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from './vendor-http.ts';

/** The meanings of statuses without a known error code; 413 means that the body is too large. */
const USUAL_MEANINGS: Readonly<Record<number, CodeMeaning>> = {
  400: 'bad_request',
  413: 'bad_request',
  422: 'bad_request',
  429: 'busy',
};
/** The meanings that an error has whatever its status; a wrong key may have the type `invalid_request_error`. */
const CLEAR_MEANINGS: readonly CodeMeaning[] = ['content_policy_violation', 'operator', 'busy'];
/** Recognise messages that come without a code. */
const MODERATION_WORDS = /\bmoderat|safety system|content policy/i;
/** Recognises messages about the operator's account, also where Azure names its content policy. */
const ACCOUNT_WORDS = /billing hard limit|exceeded your current quota|resource has been temporarily blocked/i;
/** As in `Please try again in 467ms.` */
const WAIT_WORDS = /try again in (\d{1,5}(?:\.\d+)?)(ms|s)\b/i;

/** The verdict on a job that failed with this error. */
export function openaiVerdict(error: JsonObject): TaskErrorCode {
  return jobVerdictFor(meaningOf(error));
}

/** The refusal in an unsuccessful answer; null if only its status is meaningful. */
export function openaiRefusal(answer: VendorAnswer): SubmissionError | null {
  const error = errorIn(answer);
  // OpenAI refuses a withdrawn model like a value that is not allowed.
  const means = error['param'] === 'model' ? 'operator' : (meaningOf(error) ?? USUAL_MEANINGS[answer.status] ?? null);
  // Refusals of wrong keys also have the type `invalid_request_error`.
  if (means === null || (isVerdict(means) && USUAL_MEANINGS[answer.status] !== 'bad_request')) return null;
  return submissionErrorOf(means, answer);
}

/**
 * The refusal in a successful answer of a relay that names neither a job nor a file; null unless the error's code or type
 * blames moderation, the operator's account or the load. After any other error, the relay may have the job.
 */
export function openaiRefusalInSuccess(answer: VendorAnswer): SubmissionError | null {
  const means = namedMeaningOf(errorIn(answer));
  return means !== null && CLEAR_MEANINGS.includes(means) ? submissionErrorOf(means, answer) : null;
}

function errorIn({ document }: VendorAnswer): JsonObject {
  return objectOf(objectOf(document)['error']);
}

function submissionErrorOf(means: CodeMeaning, answer: VendorAnswer): SubmissionError {
  const { code, type, message } = errorIn(answer);
  const operatorMessage = `the upstream answered ${answer.status} with code ${String(code)} and type ${String(type)}`;
  return submissionErrorFor(means, {
    operatorMessage,
    vendorMessage: message,
    retryAfterMs: retryAfterMs(answer) ?? waitIn(message),
  });
}

function namedMeaningOf({ code, type }: JsonObject): CodeMeaning | null {
  return openaiCodes.meaningOf(code) ?? openaiCodes.meaningOf(type);
}

function meaningOf(error: JsonObject): CodeMeaning | null {
  const { message } = error;
  const named = namedMeaningOf(error);
  if (named !== null) return named;
  if (ACCOUNT_WORDS.test(String(message))) return 'operator';
  return MODERATION_WORDS.test(String(message)) ? 'content_policy_violation' : null;
}

function isVerdict(means: CodeMeaning): boolean {
  return means === 'bad_request' || means === 'content_policy_violation';
}

function waitIn(message: unknown): number | undefined {
  const [, amount, unit] = WAIT_WORDS.exec(String(message)) ?? [];
  return amount === undefined ? undefined : Math.ceil(Number(amount) * (unit === 'ms' ? 1 : 1000));
}
