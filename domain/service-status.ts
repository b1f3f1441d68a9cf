/** The public status of the gateway's services: contract 4.12. */
import { MIN_CALLS } from './upstream-calls.ts';

export const SERVICE_STATUSES = ['operational', 'degraded', 'outage'] as const;
export type ServiceStatus = (typeof SERVICE_STATUSES)[number];

const OPERATIONAL_FROM = 0.99;
const OUTAGE_BELOW = 0.5;

/** @param availability the share of answered requests, from 0 to 1 */
export function statusOf(availability: number): ServiceStatus {
  if (availability >= OPERATIONAL_FROM) return 'operational';
  return availability < OUTAGE_BELOW ? 'outage' : 'degraded';
}

/** Returns the common status of all services, or `degraded` if their statuses differ. */
export function overallStatus(statuses: readonly ServiceStatus[]): ServiceStatus {
  const [first = 'operational'] = statuses;
  return statuses.every((status) => status === first) ? first : 'degraded';
}

/** A route to a model: its calls of the last five minutes, and whether its circuit is open. */
export interface RouteState {
  readonly isOpen: boolean;
  readonly requests: number;
  readonly failures: number;
}

/**
 * The share of answered requests to a model. A request that fails at one route takes the next, so it fails only if all
 * routes fail. `listAvailability` in `db/queries/availability.ts` has the same rule for past hours.
 */
export function availabilityOf(routes: readonly RouteState[]): number {
  const failing = routes.map(({ isOpen, requests, failures }) => {
    if (isOpen) return 1;
    return requests < MIN_CALLS ? 0 : failures / requests;
  });
  return 1 - failing.reduce((product, share) => product * share, 1);
}

/** @returns null for an empty list */
export function average(shares: readonly number[]): number | null {
  return shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
