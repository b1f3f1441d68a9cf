/** The budget of an end user in the body of a request. */
import { type NewBudget } from '../../db/queries/end-user-budgets.ts';
import { parseUsd } from '../../domain/money.ts';
import { type EndUserBudgetBody } from './admin.ts';

/** Converts a body to a budget. */
export function toBudget(
  accountId: string,
  { end_user: endUser, usage_limit_usd: usageLimitUsd, limit_period: limitPeriod }: EndUserBudgetBody,
): NewBudget {
  return { accountId, endUser, usageLimit: parseUsd(usageLimitUsd), limitPeriod };
}
