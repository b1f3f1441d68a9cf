/**
 * How long the steps of a media task may take, in milliseconds. Each limit is shorter than the one around it, so that
 * something slow ends at its own limit, with its own reason, and not at the limit of whatever waits for it.
 */

/** One request to a media upstream, except downloads. */
export const PROVIDER_ANSWER_MS = 15_000;
/** How long a download may be silent. */
export const DOWNLOAD_SILENCE_MS = 30_000;
/** How long the store may be silent during a write. */
export const STORE_SILENCE_MS = 60_000;
/** A render that is answered with its files: from the submission to the last byte. */
export const RENDER_LIMIT_MS = 10 * 60_000;
/** How long providers may take no job before the task is given up as unavailable. */
export const DISPATCH_LIMIT_MS = 2 * 60_000;
/** By then a submission that is recorded has arrived at its upstream, or never will. */
export const SUBMISSION_SURELY_SENT_MS = 2 * PROVIDER_ANSWER_MS;
/** How long the outcome of a submission is searched for, as a multiple of the patience with providers. */
export const RECOVERY_PATIENCES = 5;
/** The time limit for finding out whether an upstream has stopped a job, while the customer waits. */
export const WITHDRAW_LIMIT_MS = 12_000;
/** The time limit for cancelling a job. An upstream that cannot be reached may still be rendering. */
export const CANCEL_LIMIT_MS = 9 * 60_000;
/** How often a provider is asked once more about a task whose deadline has passed, and how long each time. */
export const RECHECK = { attempts: 8, attemptMs: 2 * PROVIDER_ANSWER_MS, pauseMs: 5_000 } as const;
/** How often a step reports that its worker is alive. */
export const HEARTBEAT_MS = 5_000;
/** How long a dead or frozen worker goes unnoticed. The SDK sends heartbeats at most every four fifths of this. */
export const HEARTBEAT_TIMEOUT_MS = 15_000;
/**
 * How long storing a result is retried while the store is unavailable. The result exists by then, so it may be stored even
 * long after the deadline; upstreams keep their files for an hour (docs/provider-protocol.md, "Results").
 */
export const STORE_LIMIT_MS = 60 * 60_000;
/** How long after its refund a render is waited for, to be offered to its customer. */
export const LATE_RESULT_LIMIT_MS = 60 * 60_000;
/** By then every attempt to store a result is over, even one by a worker that was frozen in between. */
export const STORE_SURELY_OVER_MS = 3 * STORE_LIMIT_MS;

/** The type of the failure for "nothing can be stored": the task waits, and no provider is asked meanwhile. */
export const STORE_AWAY = 'StoreAway';
/** Marks the failure of a task that an upstream may still be rendering. */
export const MAY_STILL_RENDER = 'MayStillRender';
/** How long a task that waits for the store pauses before it asks again. */
export const STORE_AWAY_PAUSE_MS = 10_000;
