/** The lease of a text process: without it, the process spends none of its allowances. */
/** A process may spend for so long after it last wrote. */
export const LEASE_SECONDS = 2;

/** A process whose heartbeats are further apart has not been heard in between. */
export const HEARD_WITHIN_SECONDS = 5;

/** SQL: whether the lease of a row of `processes` is valid. @param moment the SQL expression of the time */
export function isLeaseValid(moment: string): string {
  return `processes.heartbeat_at > ${moment} - interval '${LEASE_SECONDS} seconds'`;
}
