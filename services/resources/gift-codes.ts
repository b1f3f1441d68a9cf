/** The shapes of gift codes and of the batches in which they are issued. */
import type { GiftBatch, RedeemedGiftCode } from '../../db/queries/gift-codes.ts';
import {
  GIFT_KINDS,
  GIFT_LIMITS,
  GIFT_STATUSES,
  giftStatusOf,
  type GiftSums,
  sumGifts,
} from '../../domain/gift-code.ts';
import { text } from '../../domain/json-schema.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import type { GiftRedemption, IssuedGiftBatch } from '../money/gift-codes.ts';

export const GIFT_REDEMPTION = resource<GiftRedemption>('GiftRedemption', {
  id: field.id('giftCode')('id', 'The id of the code: the `reference` of the entry in the balance'),
  object: field.constant('gift_redemption'),
  kind: field.oneOf(GIFT_KINDS)('kind', '`funds`, or `promo_credit`, which expires'),
  amount_usd: field.usd('amount', 'The amount credited'),
  redeemed_at: field.unixSeconds('redeemedAt', 'When the account redeemed the code'),
  expires_at: field.unixSeconds.orNull('creditExpiresAt', 'When the credit expires. Null for never'),
});

const sumOf = (part: keyof GiftSums) => (batch: GiftBatch) => sumGifts(batch, new Date())[part];

const BATCH = {
  id: field.id('giftBatch')<'id'>('id'),
  object: field.constant('gift_batch'),
  label: field.text<'label'>('label', 'The purpose of the codes'),
  status: field.oneOf(GIFT_STATUSES)(
    (batch: GiftBatch) => giftStatusOf(batch, new Date()),
    'Codes can be redeemed only while the batch is `open`',
  ),
  kind: field.oneOf(GIFT_KINDS)<'kind'>('kind', '`funds`, or `promo_credit`, which expires'),
  amount_usd: field.usd<'amount'>('amount', 'The amount of each code'),
  count: field.count<'codes'>('codes', 'The number of codes'),
  redeemed_count: field.count<'redeemedCodes'>('redeemedCodes', 'The number of redeemed codes'),
  issued_usd: field.usd(sumOf('issued'), 'The amount of all codes: the sum of the next four'),
  redeemed_usd: field.usd(sumOf('redeemed'), 'The amount of redeemed codes'),
  open_usd: field.usd(sumOf('open'), 'The amount of codes that can still be redeemed'),
  expired_usd: field.usd(sumOf('expired'), 'The amount of codes that expired'),
  withdrawn_usd: field.usd(sumOf('withdrawn'), 'The amount of codes that were withdrawn'),
  expires_at: field.unixSeconds<'expiresAt'>('expiresAt', 'When codes that nobody redeemed expire'),
  credit_days: field.integer.orNull<'creditDays'>(
    'creditDays',
    'The days after which promo credit expires, from its redemption. Null for funds',
  ),
  once_per: field
    .oneOf(GIFT_LIMITS)
    .orNull<'oncePer'>('oncePer', 'Who can redeem only one code of the batch. Null for no limit'),
  author: field.text<'author'>('author', 'Who issued the codes'),
  approved_by: field.text.orNull<'approvedBy'>('approvedBy', 'Who approved the batch. Null if nobody did'),
  withdrawn_by: field.text.orNull<'withdrawnBy'>('withdrawnBy', 'Who withdrew the batch. Null if nobody did'),
  withdrawal_reason: field.text.orNull<'withdrawalReason'>('withdrawalReason', 'Why the batch was withdrawn'),
  created_at: field.unixSeconds<'createdAt'>('createdAt', 'When the codes were issued'),
};

export const GIFT_BATCH = resource<GiftBatch>('GiftBatch', BATCH);

export const ISSUED_GIFT_BATCH = resource<IssuedGiftBatch>('IssuedGiftBatch', {
  ...BATCH,
  codes: field.texts(text())('giftCodes', 'The codes. Present only in this answer'),
});

/** A code with the terms that its holder needs, for the file of codes. */
export const ISSUED_GIFT_CODE = nested<GiftBatch & { readonly code: string }>({
  code: field.text('code'),
  amount_usd: field.usd('amount'),
  kind: BATCH.kind,
  expires_at: field.isoTime('expiresAt'),
  label: BATCH.label,
});

export const REDEEMED_GIFT_CODE = resource<RedeemedGiftCode>('RedeemedGiftCode', {
  redeemed_at: field.unixSeconds('redeemedAt', 'When the account redeemed the code'),
  id: field.id('giftCode')('id'),
  object: field.constant('redeemed_gift_code'),
  batch_id: field.id('giftBatch')('batchId'),
  account_id: field.id('account')('accountId'),
  credit_id: field.text('creditId', 'The transfer of funds, or the grant of promo credit'),
});
