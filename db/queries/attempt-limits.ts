/** What holds for the attempts of all processes together. */
export const ATTEMPT_LIMITS = {
  /** Under way at once. */
  perEndpoint: 8,
  perAccount: 32,
  /** In a row; then the endpoint is left alone for a while, and tried with one attempt at a time until it answers. */
  timeoutsUntilPause: 3,
  pauseSeconds: 60,
  /** After which an attempt counts as over, should its worker have died. Longer than its activity may take. */
  leaseSeconds: 45,
  /** An endpoint whose attempts have failed for so long without one success is disabled. */
  failingDays: 5,
} as const;

/** As the functions of migration 0008 read it. */
export const ATTEMPT_LIMITS_JSON = JSON.stringify({
  per_endpoint: ATTEMPT_LIMITS.perEndpoint,
  per_account: ATTEMPT_LIMITS.perAccount,
  timeouts_until_pause: ATTEMPT_LIMITS.timeoutsUntilPause,
  pause_seconds: ATTEMPT_LIMITS.pauseSeconds,
  lease_seconds: ATTEMPT_LIMITS.leaseSeconds,
  failing_days: ATTEMPT_LIMITS.failingDays,
});
