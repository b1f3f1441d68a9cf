/** Gift codes: their form, and the state of the batches in which they are issued. */
import { randomBytes } from 'node:crypto';
import type { PicoUsd } from './money.ts';

/** A batch gives funds, or promo credit, which expires. */
export const GIFT_KINDS = ['funds', 'promo_credit'] as const;
export type GiftKind = (typeof GIFT_KINDS)[number];

/** Who may redeem only one code of a batch. */
export const GIFT_LIMITS = ['account', 'person'] as const;
export type GiftLimit = (typeof GIFT_LIMITS)[number];

export const GIFT_STATUSES = ['awaiting_approval', 'open', 'withdrawn', 'expired'] as const;
export type GiftStatus = (typeof GIFT_STATUSES)[number];

/** Crockford's Base32 (https://www.crockford.com/base32.html): without I, L, O and U, which people misread. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUPS = 5;
const GROUP_LENGTH = 5;
const GROUP = new RegExp(`.{${GROUP_LENGTH}}`, 'g');

/** The random bits of a code. */
export const GIFT_CODE_BITS = GROUPS * GROUP_LENGTH * Math.log2(ALPHABET.length);

/** Makes a code such as `7K3QF-…`. Shown once, never stored. */
export function newGiftCode(): string {
  // A byte modulo 32 has no bias.
  const letters = [...randomBytes(GROUPS * GROUP_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  return letters.join('').match(GROUP)?.join('-') ?? '';
}

/** The letters of a typed code, without hyphens and spaces, in any case, with misread letters corrected. */
export function lettersOfGiftCode(typed: string): string {
  return typed
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
}

interface BatchState {
  readonly requiresSecondApproval: boolean;
  readonly approvedAt: Date | null;
  readonly withdrawnAt: Date | null;
  readonly expiresAt: Date;
}

/** Only the codes of an open batch can be redeemed. */
export function giftStatusOf(
  { requiresSecondApproval, approvedAt, withdrawnAt, expiresAt }: BatchState,
  now: Date,
): GiftStatus {
  if (withdrawnAt !== null) return 'withdrawn';
  if (expiresAt <= now) return 'expired';
  return requiresSecondApproval && approvedAt === null ? 'awaiting_approval' : 'open';
}

/** The issued amount of a batch, by what became of it. The other four add up to `issued`. */
export interface GiftSums {
  readonly issued: PicoUsd;
  readonly redeemed: PicoUsd;
  /** The amount that can still be redeemed, or could once the batch is approved. */
  readonly open: PicoUsd;
  readonly expired: PicoUsd;
  readonly withdrawn: PicoUsd;
}

export function sumGifts({ amount, codes, redeemedCodes, ...state }: BatchState & GiftCount, now: Date): GiftSums {
  const status = giftStatusOf(state, now);
  const rest = amount * BigInt(codes - redeemedCodes);
  const isOpen = status === 'open' || status === 'awaiting_approval';
  return {
    issued: amount * BigInt(codes),
    redeemed: amount * BigInt(redeemedCodes),
    open: isOpen ? rest : 0n,
    expired: status === 'expired' ? rest : 0n,
    withdrawn: status === 'withdrawn' ? rest : 0n,
  };
}

interface GiftCount {
  /** The amount of each code. */
  readonly amount: PicoUsd;
  readonly codes: number;
  readonly redeemedCodes: number;
}
