/**
 * How long the steps of a media task may take, in milliseconds. Each limit lies inside the next wider one, so that what is
 * slow ends by its own limit, with its own reason, and never by that of what waits for it.
 */

/** One question and its answer of a media upstream, downloads excepted. */
export const PROVIDER_ANSWER_MS = 15_000;
/** The silence of a download until it is given up. */
export const DOWNLOAD_SILENCE_MS = 30_000;
/** The silence of the store until a write is given up. */
export const STORE_SILENCE_MS = 60_000;
/** One attempt to hand a job over: it is looked up, submitted and written down. */
export const DISPATCH_ATTEMPT_MS = 45_000;
/** How long the provider may stay out of reach before the task is given up as unavailable. */
export const DISPATCH_LIMIT_MS = 2 * 60_000;
/** How often a step says that its worker lives. */
export const HEARTBEAT_MS = 5_000;
/** How long a worker that died or froze goes unnoticed. The SDK sends four fifths as often as this, at the most. */
export const HEARTBEAT_TIMEOUT_MS = 15_000;
/**
 * How long storing a result is tried while our own store is away. The result exists by then, so it may be stored even long
 * after the deadline; upstreams keep their files for an hour (docs/provider-protocol.md, "Results").
 */
export const STORE_LIMIT_MS = 60 * 60_000;
/** No attempt to store a result, not even one of a worker that froze meanwhile, begins or ends after that. */
export const STORE_SURELY_OVER_MS = 3 * STORE_LIMIT_MS;

/** The type of the failure that says that nothing can be stored: the task waits, and no provider is asked meanwhile. */
export const STORE_AWAY = 'StoreAway';
/** The pause until a task that waits for the store asks again. */
export const STORE_AWAY_PAUSE_MS = 10_000;
