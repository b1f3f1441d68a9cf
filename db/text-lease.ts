/** The lease of a text process: without it, the process spends none of its allowances. */
/** A process may spend for so long after it last wrote. */
export const LEASE_SECONDS = 2;

/** SQL: whether the lease of a row of `processes` is valid. @param moment the SQL expression of the time */
export function isLeaseValid(moment: string): string {
  return `processes.heartbeat_at > ${moment} - interval '${LEASE_SECONDS} seconds'`;
}
