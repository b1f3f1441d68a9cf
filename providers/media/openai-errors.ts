/**
 * Errors of OpenAI's APIs, which other gateways use too: `{"error": {"message", "type", "param", "code"}}`. The same
 * name may be in `type` or in `code`.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import { lookUp, objectOf } from './json.ts';
import { JobRefusedError, NotTakenError, type SubmissionError } from './outcomes.ts';
import type { VendorAnswer } from './vendor-http.ts';

const VERDICTS: Readonly<Record<string, TaskErrorCode>> = {
  moderation_blocked: 'content_policy_violation',
  content_policy_violation: 'content_policy_violation',
  sentinel_block: 'content_policy_violation',
  invalid_request_error: 'bad_request',
  invalid_value: 'bad_request',
};

/** Problems of the operator's account; some come with 400, others with 429. */
const ACCOUNT_CODES: readonly unknown[] = ['insufficient_quota', 'billing_hard_limit_reached', 'model_not_found'];
/** Statuses that are verdicts on a request: 413 means that the body is too large. */
const VERDICT_STATUSES: readonly number[] = [400, 413, 422];

/** The verdict on a job that a code or type expresses; null if it expresses none. */
export function openaiVerdict(code: unknown): TaskErrorCode | null {
  return lookUp(VERDICTS, code) ?? null;
}

/** The refusal in an unsuccessful answer; null if only its status says anything. */
export function openaiRefusal({ status, document }: VendorAnswer): SubmissionError | null {
  const { code, type, message } = objectOf(objectOf(document)['error']);
  if (ACCOUNT_CODES.includes(code))
    return new NotTakenError(`the upstream answered ${String(code)}`, { leavesRoute: true });
  if (!VERDICT_STATUSES.includes(status)) return null;
  return new JobRefusedError(openaiVerdict(code) ?? openaiVerdict(type) ?? 'bad_request', message);
}
