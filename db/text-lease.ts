/** The lease of a text process: how long the process may spend its allowances after its last write. */
export const LEASE_SECONDS = 2;

/** A longer gap between heartbeats counts as silence. */
export const HEARTBEAT_TIMEOUT_SECONDS = 5;

/** SQL: whether the lease of a row of `processes` is valid. @param moment the SQL expression of the time */
export function isLeaseValid(moment: string): string {
  return `processes.heartbeat_at > ${moment} - interval '${LEASE_SECONDS} seconds'`;
}
