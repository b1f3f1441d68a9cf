/** The behaviour of the upstream of a media task, and the outcome that the task must have. */

export interface Scenario {
  readonly weight: number;
  /** For the simulator. */
  readonly directive: string;
  /** `succeeded`, or the code of the failure. */
  readonly ending: string;
}

/** The scenarios of tasks while no upstream has a fault. */
export function scenariosFor(taskDeadlineMs: number): readonly Scenario[] {
  const lateMs = Math.max(taskDeadlineMs - BEFORE_DEADLINE_MS, 0);
  return [...SCENARIOS, { weight: 2, directive: `render_ms=${lateMs}`, ending: 'succeeded' }];
}

/** How long before its deadline the latest render of a task ends. */
const BEFORE_DEADLINE_MS = 8_000;

const SCENARIOS: readonly Scenario[] = [
  { weight: 10, directive: '', ending: 'succeeded' },
  { weight: 6, directive: 'render_ms=3000', ending: 'succeeded' },
  { weight: 2, directive: 'render_ms=12000', ending: 'succeeded' },
  { weight: 2, directive: 'drop_submit', ending: 'succeeded' },
  { weight: 2, directive: 'poll_errors=4', ending: 'succeeded' },
  { weight: 1, directive: 'result=slow', ending: 'succeeded' },
  { weight: 1, directive: 'result=missing', ending: 'result_transfer_failed' },
  { weight: 1, directive: 'result=truncated', ending: 'result_transfer_failed' },
  { weight: 1, directive: 'fail=content_policy_violation', ending: 'content_policy_violation' },
  { weight: 1, directive: 'fail=processing_failed', ending: 'processing_failed' },
  { weight: 1, directive: 'reject=bad_request', ending: 'bad_request' },
  { weight: 1, directive: 'reject=processing_unavailable', ending: 'processing_unavailable' },
  { weight: 1, directive: 'stuck', ending: 'processing_timeout' },
];
