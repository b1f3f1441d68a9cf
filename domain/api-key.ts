/** Decides whether an API key may be used, and writes the refusals: contract 5. */
import { daysAfter } from './day.ts';
import { ServiceError } from './errors.ts';
import { matchesModels } from './model-patterns.ts';
import { formatUsd, type PicoUsd } from './money.ts';

/** The periods, in UTC, after which the limit of a key can renew. A week starts on Monday (ISO 8601). */
export const LIMIT_PERIODS = ['day', 'week', 'month'] as const;

export type LimitPeriod = (typeof LIMIT_PERIODS)[number];

/** The start of the period that contains a moment. */
export function startOfPeriod(period: LimitPeriod, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const sinceMonday = (at.getUTCDay() + 6) % 7;
  return new Date(
    { day: Date.UTC(year, month, day), week: Date.UTC(year, month, day - sinceMonday), month: Date.UTC(year, month) }[
      period
    ],
  );
}

/** When a limit renews next. */
export function renewalOf(period: LimitPeriod, now: Date): Date {
  const { [period]: days } = { day: 1, week: 7, month: 31 };
  return startOfPeriod(period, daysAfter(startOfPeriod(period, now), days));
}

/** The facts that decide whether a key can be used. */
export interface KeyState {
  readonly deletedAt: Date | null;
  readonly disabledAt: Date | null;
  readonly expiresAt: Date | null;
  /** The most that the key may spend, in total or in each period; null for no limit. */
  readonly usageLimit: PicoUsd | null;
  /** The period after which the limit renews; null for never. */
  readonly limitPeriod: LimitPeriod | null;
  /** The amount that the key has been charged and holds, in this period if its limit renews. */
  readonly usedOfLimit: PicoUsd;
  /** The amount that is only reserved, in this period or before it. */
  readonly reserved: PicoUsd;
}

/** Why a key may not be used. PostgreSQL uses the same names where money is held (`task_refusal`, `write_text`). */
export type KeyRefusal = keyof typeof SENTENCES;

const SENTENCES = {
  key_missing: 'No API key was sent. Send "Authorization: Bearer <API_KEY>".',
  key_unknown: 'The API key is wrong. Check it, or create a new one.',
  key_deleted: 'The API key was deleted. Use another key.',
  key_disabled: 'The API key is disabled. Enable it, or use another key.',
  key_expired: 'The API key has expired. Create a new key.',
  account_suspended:
    'The account of the API key is suspended, and none of its keys work. Ask the operator to reopen it.',
  key_exhausted:
    'The API key is exhausted: its usage limit is spent. Raise the limit. The key can still read its tasks and files.',
};

/** 401 `missing_api_key` or `invalid_api_key`, with a message that says what is wrong. */
export function keyRefusalError(refusal: KeyRefusal): ServiceError {
  return new ServiceError(refusal === 'key_missing' ? 'missing_api_key' : 'invalid_api_key', SENTENCES[refusal]);
}

/**
 * @throws ServiceError 401 `invalid_api_key` when the key is deleted or disabled or has expired, or its account is
 *   suspended
 */
export function assertUsable(
  { deletedAt, disabledAt, expiresAt }: KeyState,
  { suspendedAt }: { readonly suspendedAt: Date | null },
  now: Date,
): void {
  if (deletedAt) throw keyRefusalError('key_deleted');
  if (suspendedAt) throw keyRefusalError('account_suspended');
  if (disabledAt) throw keyRefusalError('key_disabled');
  if (expiresAt && expiresAt <= now) throw keyRefusalError('key_expired');
}

/**
 * Requires that the key's usage limit is not spent. Every call that creates or changes something needs this; an
 * exhausted key can still read what it paid for. Reserved money may be refunded, so it does not exhaust a key.
 *
 * @throws ServiceError 401 `invalid_api_key`; 402 `insufficient_credits` if the limit renews
 */
export function assertNotExhausted(key: KeyState, now = new Date()): void {
  const { usageLimit, usedOfLimit, reserved } = key;
  if (usageLimit !== null && usedOfLimit - reserved >= usageLimit) throw exhaustedKey(key, now);
}

/** The limit of a key, with the period after which it renews. */
export type KeyLimit = Pick<KeyState, 'usageLimit' | 'limitPeriod'>;

/** Returns the error for a spent limit: 401 if it never renews, 402 if it renews. */
export function exhaustedKey(key: KeyLimit, now: Date): ServiceError {
  if (key.limitPeriod === null) return keyRefusalError('key_exhausted');
  const message = `Nothing is left of ${describeLimit(key, now)}. Wait until then, or raise the limit.`;
  return new ServiceError('insufficient_credits', message);
}

/** Names the limit for an error message: a budget with the time at which it renews. */
export function describeLimit({ usageLimit, limitPeriod }: KeyLimit, now: Date): string {
  if (usageLimit === null || limitPeriod === null) return "the key's usage limit";
  return `the key's ${describeBudget({ usageLimit, limitPeriod }, now)}`;
}

/** An amount that can be spent again in each period. */
export interface Budget {
  readonly usageLimit: PicoUsd;
  readonly limitPeriod: LimitPeriod;
}

/**
 * A budget as refusals name it, such as `budget of 5 USD a day, which renews at 2026-11-27T00:00:00Z`.
 *
 * @param scope what counts towards it, such as ` for texth-*`; empty if the owner of the budget says so
 */
export function describeBudget({ usageLimit, limitPeriod }: Budget, now: Date, scope = ''): string {
  const renewal = renewalOf(limitPeriod, now).toISOString().replace('.000', '');
  return `budget of ${formatUsd(usageLimit)} USD a ${limitPeriod}${scope}, which renews at ${renewal}`;
}

/** The models in a key's group: ids or, of a plan, their beginnings with a final `*`; null means all. */
export interface KeyGroup {
  readonly models: readonly string[] | null;
}

/** Whether the model is in the key's group. */
export function isAllowedModel({ models }: KeyGroup, model: string): boolean {
  return models === null || matchesModels(models, model);
}

/** @throws ServiceError 403 `forbidden` */
export function assertAllowedModel(key: KeyGroup, model: string): void {
  if (!isAllowedModel(key, model)) throw new ServiceError('forbidden', modelRefusal(model));
}

/** The message for a model outside the key's group. */
export function modelRefusal(model: string): string {
  return `The API key may not call the model ${model}. Use a key that allows the model.`;
}
