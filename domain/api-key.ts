/** When an API key may be used, and what its owner reads when it may not: contract 5. */
import { ServiceError } from './errors.ts';
import type { PicoUsd } from './money.ts';

/** The facts that decide whether a key may be used. */
export interface KeyState {
  readonly deletedAt: Date | null;
  readonly disabledAt: Date | null;
  readonly expiresAt: Date | null;
  /** The most that the key may spend in total; null for no limit of its own. */
  readonly usageLimit: PicoUsd | null;
  /** The amount that the key has been charged and holds. */
  readonly used: PicoUsd;
  /** The part of `used` that is only reserved. */
  readonly reserved: PicoUsd;
}

/** Why a key may not be used. PostgreSQL uses the same names where money is held (`task_refusal`, `write_text`). */
export type KeyRefusal = keyof typeof SENTENCES;

const SENTENCES = {
  key_missing: 'No API key was sent. Send "Authorization: Bearer <API_KEY>".',
  key_unknown: 'The API key is wrong. Check it, or create a new one.',
  key_deleted: 'The API key was deleted. Use another.',
  key_disabled: 'The API key is disabled. Enable it, or use another.',
  key_expired: 'The API key has expired. Create a new one.',
  account_suspended:
    'The account of the API key is suspended, and none of its keys work. Ask the operator to reopen it.',
  key_exhausted:
    'The API key is exhausted: its usage limit is spent. Raise the limit; what the key paid for remains readable.',
};

/** 401 `missing_api_key` or `invalid_api_key`, with a message that says what is wrong. */
export function refusedKey(refusal: KeyRefusal): ServiceError {
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
  if (deletedAt) throw refusedKey('key_deleted');
  if (suspendedAt) throw refusedKey('account_suspended');
  if (disabledAt) throw refusedKey('key_disabled');
  if (expiresAt && expiresAt <= now) throw refusedKey('key_expired');
}

/**
 * Requires that something is left of the key's usage limit. Every call that creates or changes something needs this; an
 * exhausted key can still read what it paid for. Money that is only reserved may come back, so it does not exhaust a key.
 *
 * @throws ServiceError 401 `invalid_api_key`
 */
export function assertNotExhausted({ usageLimit, used, reserved }: KeyState): void {
  if (usageLimit !== null && used - reserved >= usageLimit) throw refusedKey('key_exhausted');
}

/** The models in a key's group; null means all. */
export interface KeyGroup {
  readonly models: readonly string[] | null;
}

/** Whether the model is in the key's group. */
export function isAllowedModel({ models }: KeyGroup, model: string): boolean {
  return models === null || models.includes(model);
}

/** @throws ServiceError 403 `forbidden` */
export function assertAllowedModel(key: KeyGroup, model: string): void {
  if (!isAllowedModel(key, model)) throw new ServiceError('forbidden', modelRefusal(model));
}

/** The message for a model outside the key's group, whatever the code. */
export function modelRefusal(model: string): string {
  return `The API key may not call the model ${model}. Use a key of another group.`;
}
