/** Shared by Google's APIs: inputs and files in base64, and refusals. */
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { RenderRequest } from '../adapter.ts';
import { NotTakenError, type SubmissionError } from '../outcomes.ts';
import type { ResultFile } from '../result-file.ts';
import { type CodeMeaning, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { interactionCodes } from './google-codes.ts';

/** Statuses that are verdicts on a request; 413 means that the body is too large. */
const VERDICT_STATUSES: readonly number[] = [400, 413];
/** Recognises safety refusals in messages, where no field reports them. */
const SAFETY_MESSAGE = /safety|polic|prohibited|responsible ai|sensitive|violat/i;
/** Recognises an expired key, which Google reports without the reason that other invalid keys have. */
const KEY_WORDS = /\bAPI key\b/i;

export interface InlineInput {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

/** The inputs that Genway fetched, in base64. */
export function inlineInputs(links: readonly string[], { files }: RenderRequest): readonly InlineInput[] {
  return links.flatMap((link) => {
    const file = files.get(link);
    return file ? [{ mimeType: file.mimeType, data: Buffer.from(file.bytes).toString('base64') }] : [];
  });
}

/** The file in base64; none if the data is no text. */
export function fileOf(data: unknown, mimeType: unknown): readonly ResultFile[] {
  if (typeof data !== 'string') return [];
  return [{ bytes: Buffer.from(data, 'base64'), mimeType: typeof mimeType === 'string' ? mimeType : null }];
}

export function safetyIn(vendorMessage: unknown): CodeMeaning | null {
  return SAFETY_MESSAGE.test(String(vendorMessage)) ? 'content_policy_violation' : null;
}

/** Does not pass on Google's message, which may name the operator's project. */
export function googleRefusal(answer: VendorAnswer): SubmissionError | null {
  const error = errorIn(answer.document);
  const { code, status, message, details } = error;
  if (answer.status === 429) {
    return new NotTakenError('the upstream answered 429: too many requests, or the quota is used up', {
      retryAfterMs: retryAfterMs(answer),
    });
  }
  const operatorMessage = `the upstream answered ${String(status ?? code)}`;
  const known = interactionCodes.meaningOf(code);
  if (known !== null && known !== 'bad_request') return submissionErrorFor(known, { operatorMessage });
  if (!VERDICT_STATUSES.includes(answer.status)) return null;
  // Google reports a wrong key, an account without billing and a policy of the operator's organization as bad requests.
  const facts = listOf(details).map(objectOf);
  const isKey = facts.some(({ reason }) => String(reason).startsWith('API_KEY_')) || KEY_WORDS.test(String(message));
  const isOurs = isKey || status === 'FAILED_PRECONDITION';
  return submissionErrorFor(isOurs ? 'operator' : (safetyIn(message) ?? 'bad_request'), { operatorMessage });
}

/** Google's front end puts the error into a list. */
function errorIn(document: unknown): JsonObject {
  return objectOf(objectOf(Array.isArray(document) ? listOf(document)[0] : document)['error']);
}
