/**
 * The errors of OpenAI's APIs, which other gateways speak, too: `{"error": {"message", "type", "param", "code"}}`. A `type` may
 * say what a `code` of the same name says.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import { objectOf } from './json.ts';
import { JobRefusedError, NotTakenError, type SubmissionError } from './outcomes.ts';
import type { VendorAnswer } from './vendor-http.ts';

const VERDICTS: Readonly<Record<string, TaskErrorCode>> = {
  moderation_blocked: 'content_policy_violation',
  content_policy_violation: 'content_policy_violation',
  sentinel_block: 'content_policy_violation',
  invalid_request_error: 'bad_request',
  invalid_value: 'bad_request',
};

/** What the operator has to mend; some come with 400, others with 429. */
const ACCOUNT_CODES: readonly unknown[] = ['insufficient_quota', 'billing_hard_limit_reached', 'model_not_found'];
/** Statuses of verdicts on a request: 413 is a body that is too large. */
const VERDICT_STATUSES: readonly number[] = [400, 413, 422];

/** What a code, or a type, says of a job; null for those that say nothing. */
export function openaiVerdict(code: unknown): TaskErrorCode | null {
  return VERDICTS[String(code)] ?? null;
}

/** What an answer says that is no success; null where only its status tells. */
export function openaiRefusal({ status, document }: VendorAnswer): SubmissionError | null {
  const { code, type, message } = objectOf(objectOf(document)['error']);
  if (ACCOUNT_CODES.includes(code))
    return new NotTakenError(`the upstream said ${String(code)}`, { leavesRoute: true });
  if (!VERDICT_STATUSES.includes(status)) return null;
  return new JobRefusedError(openaiVerdict(code) ?? openaiVerdict(type) ?? 'bad_request', message);
}
