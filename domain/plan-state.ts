/** The states of accounts that subscribe to a plan. */

/**
 * - `active`: renews with the next period
 * - `ending`: ends with the paid period
 * - `overdue`: a payment failed; the terms apply until the end of the grace
 * - `ended`
 */
export const PLAN_STATES = ['active', 'ending', 'overdue', 'ended'] as const;
export type PlanState = (typeof PLAN_STATES)[number];
