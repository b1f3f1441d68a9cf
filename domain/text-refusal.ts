/** The refusals of a hold for a text request, and their messages: contract 5 and 7.2. */
import { describeLimit, exhaustedKey, type KeyLimit, type KeyRefusal, keyRefusalError } from './api-key.ts';
import { type AccountBudget, describeAccountBudget, isPartial } from './budget.ts';
import { ServiceError } from './errors.ts';
import { formatUsd, type PicoUsd } from './money.ts';
import { tooManyRequests } from './request-limit.ts';

/** The names used in PostgreSQL (`write_text`). */
export type HoldRefusal =
  | Exclude<KeyRefusal, 'key_missing' | 'key_unknown'>
  | 'key_limit'
  | 'budget_limit'
  | 'end_user_limit'
  | 'never_topped_up'
  | 'insufficient_credits'
  | 'insufficient_funds'
  | 'free_limit'
  | 'request_limit';

/** A refused hold. */
export interface RefusedHold {
  readonly refusal: HoldRefusal;
  /** The rest of the limit, budget or balance that was too low; null for other refusals. */
  readonly remaining: PicoUsd | null;
  /** The budget that was too low; null for other refusals. */
  readonly budgetId: string | null;
  /** Only for `free_limit` and `request_limit`. */
  readonly retryAfterSeconds: number | null;
}

/** The requested hold. */
interface RequestedHold {
  readonly model: string;
  /** The smallest hold to serve the request with, and the hold if the balance is ample. */
  readonly minAmount: PicoUsd;
  readonly maxAmount: PicoUsd;
  readonly requestLimit: number | null;
  readonly keyLimit: KeyLimit;
  /** The budgets towards which the request counts. */
  readonly budgets: readonly AccountBudget[];
}

/** Only the requests of one end user or to some models lack money. */
export class PartialBudgetError extends ServiceError {}

const ERRORS: Readonly<Record<HoldRefusal, (hold: RequestedHold, refused: RefusedHold) => ServiceError>> = {
  key_deleted: () => keyRefusalError('key_deleted'),
  key_disabled: () => keyRefusalError('key_disabled'),
  key_expired: () => keyRefusalError('key_expired'),
  key_exhausted: ({ keyLimit }) => exhaustedKey(keyLimit, new Date()),
  account_suspended: () => keyRefusalError('account_suspended'),
  never_topped_up: ({ model }) => topUpRequiredError(model),
  key_limit: (hold, refused) =>
    exceedsBudgetError(
      hold,
      `${usdLeft(refused)} is left of ${describeLimit(hold.keyLimit, new Date())}`,
      'raise the limit',
    ),
  budget_limit: spentBudgetError,
  end_user_limit: spentBudgetError,
  insufficient_credits: (hold, refused) => exceedsBudgetError(hold, `the balance is ${usdLeft(refused)}`, 'top up'),
  insufficient_funds: (hold, refused) =>
    exceedsBudgetError(
      hold,
      `the funded balance, which alone pays for ${hold.model}, is ${usdLeft(refused)}`,
      'top up',
    ),
  free_limit: (_hold, { retryAfterSeconds }) =>
    new ServiceError(
      'rate_limit_exceeded',
      `The account has used up its requests to free models for this minute. Wait ${retryAfterSeconds ?? 0} s, or call another model.`,
      { retryAfterSeconds: retryAfterSeconds ?? undefined },
    ),
  request_limit: ({ requestLimit }, { retryAfterSeconds }) =>
    tooManyRequests(requestLimit ?? 0, retryAfterSeconds ?? 1),
};

/** 401, 402, 403, 429 or 503, with a message that says what to change. */
export function holdRefusalError(hold: RequestedHold, refused: RefusedHold): ServiceError {
  return ERRORS[refused.refusal](hold, refused);
}

/** Whether only accounts that have topped up may call the model. */
export function isTopUpRequired({
  free,
  requiresTopUp,
}: {
  readonly free: boolean;
  readonly requiresTopUp: boolean;
}): boolean {
  return !free || requiresTopUp;
}

/** The error for an account that never topped up, for a model that signup credit cannot pay for. */
export function topUpRequiredError(model: string): ServiceError {
  const message = `Signup credit pays for the free models only. Top up the account once to unlock ${model}.`;
  return new ServiceError('forbidden', message);
}

function spentBudgetError(hold: RequestedHold, refused: RefusedHold): ServiceError {
  const budget = hold.budgets.find(({ id }) => id === refused.budgetId) ?? null;
  const shortage = `${usdLeft(refused)} is left of ${describeAccountBudget(budget, new Date())}`;
  return budgetError(budget, describeShortage(hold, shortage, 'raise the budget'));
}

/** 402 `insufficient_credits` for a request that costs more than a budget leaves. */
export function budgetError(budget: AccountBudget | null, message: string): ServiceError {
  const Kind = budget !== null && isPartial(budget) ? PartialBudgetError : ServiceError;
  return new Kind('insufficient_credits', message);
}

function exceedsBudgetError(hold: RequestedHold, shortage: string, remedy: string): ServiceError {
  return new ServiceError('insufficient_credits', describeShortage(hold, shortage, remedy));
}

function describeShortage({ minAmount, maxAmount }: RequestedHold, shortage: string, remedy: string): string {
  const usd = formatUsd(minAmount);
  return minAmount === maxAmount
    ? `This request may cost up to ${usd} USD, but ${shortage}. Ask for fewer output tokens, or ${remedy}.`
    : `This request needs at least ${usd} USD, but ${shortage}. Ask for fewer output tokens, send less, or ${remedy}.`;
}

function usdLeft({ remaining }: RefusedHold): string {
  return `${formatUsd(remaining ?? 0n)} USD`;
}
