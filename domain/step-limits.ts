/**
 * How long the steps of a media task may take, in milliseconds. Each limit is shorter than the limit of the step around
 * it, so that a slow step ends at its own limit, with its own reason.
 */

/** One request to a media upstream, except downloads. */
export const PROVIDER_ANSWER_MS = 15_000;
/** How long a download may be silent. */
export const DOWNLOAD_SILENCE_MS = 30_000;
/** How long the store may be silent during a write. */
export const STORE_SILENCE_MS = 60_000;
/** A render whose upstream answers with the files: from the submission to the last byte. */
export const RENDER_LIMIT_MS = 10 * 60_000;
/** How long providers may accept no job before the task fails with `processing_unavailable`. */
export const DISPATCH_LIMIT_MS = 2 * 60_000;
/** After this, a recorded submission has arrived at its upstream, or never will. */
export const SUBMISSION_SURELY_SENT_MS = 2 * PROVIDER_ANSWER_MS;
/** How long Genway searches for the outcome of a submission, as a multiple of `providerPatienceMs`. */
export const RECOVERY_PATIENCES = 5;
/** The time limit for finding out whether an upstream has stopped a job, while the customer waits. */
export const WITHDRAW_LIMIT_MS = 12_000;
/** The time limit for cancelling a job. An upstream that cannot be reached may still be rendering. */
export const CANCEL_LIMIT_MS = 9 * 60_000;
/** The polls of a provider after a task's deadline has passed. */
export const RECHECK = { attempts: 8, attemptMs: 2 * PROVIDER_ANSWER_MS, pauseMs: 5_000 } as const;
/** How often a step reports that its worker is alive. */
export const HEARTBEAT_MS = 5_000;
/** After this, Temporal detects a dead or frozen worker. The SDK sends heartbeats at most every four fifths of this. */
export const HEARTBEAT_TIMEOUT_MS = 15_000;
/**
 * How long storing a result is retried while the store is unavailable. The render has succeeded, so its result may be
 * stored long after the deadline; upstreams keep their files for an hour (docs/provider-protocol.md, "Results").
 */
export const STORE_LIMIT_MS = 60 * 60_000;
/** How long after the refund Genway waits for a render, to offer the result to the customer. */
export const LATE_RESULT_LIMIT_MS = 60 * 60_000;
/** After this, every attempt to store a result has ended, even an attempt by a worker that was frozen in between. */
export const STORE_SURELY_OVER_MS = 3 * STORE_LIMIT_MS;

/** The failure type for an unavailable store: the task waits, and polls no provider meanwhile. */
export const STORE_UNAVAILABLE = 'StoreUnavailable';
/** Marks the failure of a task that an upstream may still be rendering. */
export const MAY_STILL_RENDER = 'MayStillRender';
/** How long a task pauses between checks of an unavailable store. */
export const STORE_UNAVAILABLE_PAUSE_MS = 10_000;
