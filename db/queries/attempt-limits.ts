import { columnsOf } from '../row.ts';

/** Limits on delivery attempts, across all processes. */
export const ATTEMPT_LIMITS = {
  /** Concurrent attempts. */
  perEndpoint: 8,
  perAccount: 32,
  /** After so many timeouts in a row, the endpoint is paused, and then gets one attempt at a time. */
  timeoutsUntilPause: 3,
  pauseSeconds: 60,
  /** After this, an attempt counts as ended even if its worker died. Longer than the activity may take. */
  leaseSeconds: 45,
  /** An endpoint is disabled after all its attempts have failed for so many days. */
  failingDays: 5,
} as const;

/** The limits in the form that the functions of `db/functions/delivery-attempts.sql` read. */
export const ATTEMPT_LIMITS_JSON = JSON.stringify(columnsOf(ATTEMPT_LIMITS));
