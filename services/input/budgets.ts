/** Budgets in the bodies of requests. */
import type { NewAccountBudget } from '../../db/queries/account-budgets.ts';
import { type NewBudget } from '../../db/queries/end-user-budgets.ts';
import { parseUsd } from '../../domain/money.ts';
import type { AccountBudgetBody, EndUserBudgetBody } from './admin.ts';

/** Converts a body to the budget of an end user. */
export function toBudget(
  accountId: string,
  { end_user: endUser, usage_limit_usd: usageLimitUsd, limit_period: limitPeriod }: EndUserBudgetBody,
): NewBudget {
  return { accountId, endUser, usageLimit: parseUsd(usageLimitUsd), limitPeriod };
}

/** Converts a body to the budget of an account or of a group of its models. */
export function toAccountBudget(
  accountId: string,
  {
    models = null,
    usage_limit_usd: usageLimitUsd,
    limit_period: limitPeriod,
    is_ceiling: isCeiling = false,
  }: AccountBudgetBody,
): NewAccountBudget {
  return { accountId, models, isCeiling, usageLimit: parseUsd(usageLimitUsd), limitPeriod };
}
