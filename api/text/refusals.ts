/** What a client is told when nothing can be held for its text request: specification sections 5 and 7.2. */
import type { HoldRefusal, NewTextHold, RefusedHold } from '../../db/text-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatUsd } from '../../domain/money.ts';
import { exhaustedKey } from '../middlewares/authenticate.ts';

const SENTENCES: Readonly<Record<HoldRefusal, (hold: NewTextHold, refused: RefusedHold) => ServiceError>> = {
  key_deleted: () => new ServiceError('invalid_api_key', 'The API key was deleted. Use another.'),
  key_disabled: () => new ServiceError('invalid_api_key', 'The API key is disabled. Enable it, or use another.'),
  key_expired: () => new ServiceError('invalid_api_key', 'The API key has expired. Create a new one.'),
  key_exhausted: exhaustedKey,
  never_topped_up: ({ model }) =>
    new ServiceError(
      'forbidden',
      `Signup credit pays for the free models only. Top up the account once to unlock ${model}.`,
    ),
  key_limit: (hold, refused) => tooDear(hold, `the key's usage limit leaves ${left(refused)}`, 'raise the limit'),
  insufficient_credits: (hold, refused) => tooDear(hold, `the balance is ${left(refused)}`, 'top up'),
  insufficient_funds: (hold, refused) =>
    tooDear(hold, `the funded balance, which alone pays for ${hold.model}, is ${left(refused)}`, 'top up'),
  free_limit: (_hold, { retryAfterSeconds }) =>
    new ServiceError(
      'rate_limit_exceeded',
      `The account has made all its requests to free models in this minute. Wait ${retryAfterSeconds ?? 0} s, or call another model.`,
      { retryAfterSeconds: retryAfterSeconds ?? undefined },
    ),
};

export function toServiceError(hold: NewTextHold, refused: RefusedHold): ServiceError {
  return SENTENCES[refused.refusal](hold, refused);
}

function tooDear({ leastAmount, mostAmount }: NewTextHold, shortage: string, remedy: string): ServiceError {
  const usd = formatUsd(leastAmount);
  const message =
    leastAmount === mostAmount
      ? `This request may cost up to ${usd} USD, but ${shortage}. Ask for fewer output tokens, or ${remedy}.`
      : `This request needs at least ${usd} USD, but ${shortage}. Ask for fewer output tokens, send less, or ${remedy}.`;
  return new ServiceError('insufficient_credits', message);
}

function left({ remaining }: RefusedHold): string {
  return `${formatUsd(remaining ?? 0n)} USD`;
}
