import { columnsOf } from '../row.ts';

/** Limits on delivery attempts, across all processes. */
export const ATTEMPT_LIMITS = {
  /** Concurrent attempts. */
  perEndpoint: 8,
  perAccount: 32,
  /** After this many timeouts in a row, the endpoint is paused, and then tried one attempt at a time. */
  timeoutsUntilPause: 3,
  pauseSeconds: 60,
  /** After this long an attempt counts as over even if its worker died. Longer than the activity may take. */
  leaseSeconds: 45,
  /** An endpoint whose attempts have all failed for this long is disabled. */
  failingDays: 5,
} as const;

/** As the functions of `db/functions/delivery-attempts.ts` read them. */
export const ATTEMPT_LIMITS_JSON = JSON.stringify(columnsOf(ATTEMPT_LIMITS));
