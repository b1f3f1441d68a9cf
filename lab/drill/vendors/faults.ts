/** The faults of vendors in a drill, and the possible outcomes of a task after each. */
import type { Recovery } from '../../../providers/media/adapter.ts';
import type { Product } from './products.ts';

export interface VendorFault {
  readonly name: string;
  /** For the simulator; docs/simulator.md lists the directives. */
  readonly directive: string;
  /** Only where the answer to a submission is a job. */
  readonly isOfJobs?: boolean;
  /** Lasts until the deadline of the task. */
  readonly isEndless?: boolean;
  /** `succeeded`, or codes of failures. */
  endings(product: Product): readonly string[];
}

const SUCCEEDED = ['succeeded'];
const UNAVAILABLE = ['processing_unavailable'];

/** The possible outcomes of a task when its worker is not killed. */
export const ENDINGS_OF_KILLS: readonly string[] = ['processing_unavailable', 'processing_timeout'];

export const VENDOR_FAULTS: readonly VendorFault[] = [
  { name: 'none', directive: '', endings: () => SUCCEEDED },
  { name: 'a slow render', directive: 'render_ms=3000', endings: () => SUCCEEDED },
  {
    name: 'turned away by moderation',
    directive: 'reject=content_policy_violation',
    endings: only('content_policy_violation'),
  },
  { name: 'turned away for its fields', directive: 'reject=bad_request', endings: only('bad_request') },
  { name: 'no money left', directive: 'broke', endings: () => UNAVAILABLE },
  { name: 'too many, twice', directive: 'limited=2', endings: () => SUCCEEDED },
  { name: 'accepted and dropped', directive: 'drop_submit,render_ms=500', endings: endingsOfLostAnswers },
  { name: 'accepted and 500', directive: 'submit_error,render_ms=500', endings: endingsOfLostAnswers },
  { name: 'accepted and empty', directive: 'unreadable_submit,render_ms=500', endings: endingsOfLostAnswers },
  {
    name: 'accepted, and not listed',
    directive: 'drop_submit,unlisted,render_ms=500',
    endings: () => [...SUCCEEDED, ...UNAVAILABLE],
  },
  {
    name: 'moderated at the end',
    directive: 'fail=content_policy_violation',
    endings: endingsOfFailures('content_policy_violation'),
  },
  { name: 'a render that fails', directive: 'fail=processing_failed', endings: endingsOfFailures('processing_failed') },
  { name: 'polls that fail', directive: 'poll_errors=3', isOfJobs: true, endings: () => SUCCEEDED },
  { name: 'unknown words', directive: 'odd_words=3,render_ms=1500', isOfJobs: true, endings: () => SUCCEEDED },
  { name: 'a job that is lost for a while', directive: 'forget=3', isOfJobs: true, endings: () => SUCCEEDED },
  { name: 'a dead link', directive: 'dead_links=1', isOfJobs: true, endings: () => SUCCEEDED },
  { name: 'a slow file', directive: 'result=slow', endings: () => SUCCEEDED },
  {
    name: 'a render without end',
    directive: 'stuck',
    isOfJobs: true,
    isEndless: true,
    endings: only('processing_timeout'),
  },
];

export function isEndless({ isEndless: endless = false }: VendorFault): boolean {
  return endless;
}

/** For kills inside a submission or a render: long enough for all vendors to receive one at the same time, and answered in time. */
export const SLOW_ANSWER: Readonly<Record<'job' | 'files', VendorFault>> = {
  job: { name: 'killed in a submission', directive: 'submit_ms=13000,render_ms=15000', endings: () => SUCCEEDED },
  files: { name: 'killed in a render', directive: 'render_ms=13000', endings: () => SUCCEEDED },
};

function only(code: string): VendorFault['endings'] {
  return () => [code];
}

/** These find the job only if no other may be it, or if a callback arrives. */
const UNSURE: readonly Recovery[] = ['exclusion', 'candidates', 'callback'];

/** By the recovery that the vendor permits. */
function endingsOfLostAnswers({ traits: { recovery } }: Product): readonly string[] {
  if (recovery === 'none') return UNAVAILABLE;
  return UNSURE.includes(recovery) ? [...SUCCEEDED, ...UNAVAILABLE] : SUCCEEDED;
}

/** A vendor that answers with the file may report a failed render like any other error, so its outcome is unknown. */
function endingsOfFailures(code: string): VendorFault['endings'] {
  return ({ traits }) => (traits.answers === 'files' ? [code, ...SUCCEEDED, ...UNAVAILABLE] : [code]);
}
