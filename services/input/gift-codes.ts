/** Request bodies about gift codes. */
import Joi from 'joi';
import type { NewGiftBatch } from '../../db/queries/gift-codes.ts';
import { ServiceError } from '../../domain/errors.ts';
import { GIFT_KINDS, GIFT_LIMITS } from '../../domain/gift-code.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { GIFT_CODES } from '../../domain/policy.ts';
import { author, reason } from './admin.ts';
import { isoTime } from './times.ts';
import { positiveUsd } from './usd.ts';
import { type BodyOf, bodySchema, choice, freeText, orNull, requiredField } from './validation.ts';

/** A multiple of the length of a code, for hyphens and spaces. */
const MAX_TYPED_LENGTH = 100;

export const redeemSchema = bodySchema({
  code: requiredField(
    freeText({ min: 1, max: MAX_TYPED_LENGTH })
      .description('The code, in any case, with or without its hyphens')
      .example('7K3QF-0M2XB-9DWTC-H4R6N-S8VYE'),
  ),
});

export const issueGiftsSchema = bodySchema({
  label: requiredField(
    freeText({ min: 1, max: 200 }).description('The purpose of the codes, for your own use').example('Spring fair'),
  ),
  kind: requiredField(
    choice(GIFT_KINDS).description('`funds`, which do not expire, or `promo_credit`, which does').example('funds'),
  ),
  amount_usd: requiredField(positiveUsd.description('The amount of each code').example(10)),
  count: requiredField(
    Joi.number().integer().min(1).max(GIFT_CODES.maxCodes).description('The number of codes').example(100),
  ),
  expires_at: requiredField(isoTime.description('When codes that nobody redeemed expire')),
  credit_days: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(GIFT_CODES.maxCreditDays)
      .description('The days after which promo credit expires, from its redemption. Null for funds'),
  ),
  once_per: orNull(
    choice(GIFT_LIMITS).description(
      'Who can redeem only one code of the batch: each account, or each person, who then redeems it in the console. Null for no limit',
    ),
  ),
  author,
});
export type IssueGiftsBody = BodyOf<typeof issueGiftsSchema>;

export const withdrawGiftsSchema = bodySchema({
  reason: requiredField(reason.description('The reason, kept with the batch')),
  author,
});

/** @throws ServiceError `bad_request` unless promo credit, and only promo credit, has the days that it lasts */
export function toGiftBatch(body: IssueGiftsBody, author: string, id: string = newId('giftBatch')): NewGiftBatch {
  const { label, kind, count: codes, amount_usd: amountUsd, credit_days: creditDays = null } = body;
  if (kind === 'promo_credit' && creditDays === null) throw wrongDays('credit_days is required for promo credit');
  if (kind === 'funds' && creditDays !== null)
    throw wrongDays('credit_days must be null for funds, which do not expire');
  return {
    id,
    label,
    kind,
    amount: parseUsd(amountUsd),
    codes,
    creditDays,
    oncePer: body.once_per ?? null,
    expiresAt: body.expires_at,
    author,
  };
}

function wrongDays(message: string): ServiceError {
  return new ServiceError('bad_request', message, {
    fieldFault: { path: ['credit_days'], kind: 'creditDays.wrong', values: {} },
  });
}
