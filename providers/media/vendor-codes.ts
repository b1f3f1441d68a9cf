/**
 * The meanings of vendors' error codes, as data. The file `adapters/NAME-codes.ts` beside each adapter holds the
 * vendor's published table row by row, with its address.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import { valueIn } from './json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError, type SubmissionError } from './outcomes.ts';

/** The meaning of a vendor's code: for a submission, and for a job that failed with it. */
export type CodeMeaning =
  /** A verdict on the request. The same request would be refused again. */
  | 'bad_request'
  | 'content_policy_violation'
  /** The operator's credential, money, model or settings: not accepted, and the task excludes the route. */
  | 'operator'
  /** Too many requests or jobs, or no capacity: not accepted, but perhaps later. */
  | 'busy'
  /** The render did not start or end in time. The outcome of a submission is unknown. */
  | 'timeout'
  /** The vendor itself failed. The outcome of a submission is unknown. */
  | 'failed';

export type CodeRow = readonly [code: string | number, means: CodeMeaning, explanation: string];

export interface VendorCodes {
  /** The vendor's page with the table. */
  readonly source: string;
  readonly rows: readonly CodeRow[];
  /** The meaning of a code; null for an unknown code. `Name.Detail` means the same as `Name`, unless it has a row. */
  meaningOf(code: unknown): CodeMeaning | null;
}

/** @param source the page where the vendor publishes the codes */
export function vendorCodes(source: string, rows: readonly CodeRow[]): VendorCodes {
  const meanings: Readonly<Record<string, CodeMeaning>> = Object.fromEntries(
    rows.map(([code, means]) => [code, means]),
  );
  return {
    source,
    rows,
    meaningOf(code) {
      const group = typeof code === 'string' ? code.split('.')[0] : undefined;
      return valueIn(meanings, code) ?? valueIn(meanings, group) ?? null;
    },
  };
}

interface RefusalFacts {
  /** For operators. */
  readonly operatorMessage: string;
  /** For clients, if the vendor's message reveals nothing about the operator. */
  readonly vendorMessage?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** The outcome of a submission that the vendor answered with a code of this meaning. */
export function submissionErrorFor(
  means: CodeMeaning,
  { operatorMessage, vendorMessage, retryAfterMs }: RefusalFacts,
): SubmissionError {
  switch (means) {
    case 'bad_request':
    case 'content_policy_violation':
      return new JobRefusedError(means, vendorMessage);
    case 'operator':
      return new NotTakenError(operatorMessage, { isRouteExcluded: true });
    case 'busy':
      return new NotTakenError(operatorMessage, { retryAfterMs });
    default:
      return new OutcomeUnknownError(operatorMessage);
  }
}

const JOB_VERDICTS: Readonly<Record<CodeMeaning, TaskErrorCode>> = {
  bad_request: 'bad_request',
  content_policy_violation: 'content_policy_violation',
  operator: 'processing_unavailable',
  busy: 'processing_unavailable',
  timeout: 'processing_timeout',
  failed: 'processing_failed',
};

/** The verdict on a job that failed with a code of this meaning; `processing_failed` for an unknown code. */
export function jobVerdictFor(means: CodeMeaning | null): TaskErrorCode {
  return means === null ? 'processing_failed' : JOB_VERDICTS[means];
}
