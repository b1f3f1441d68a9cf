/** What the file about the site says about money: how customers pay, and the currency beside USD. */
import Joi from 'joi';
import { parseUsd, type PicoUsd } from '../domain/money.ts';
import { CHECKOUT, GIFT_CODES } from '../domain/policy.ts';

/** The methods of Stripe's pages that take USD, by Stripe's names. Others, such as `sepa_debit`, take no USD. */
export const PAYMENT_METHODS = [
  'card',
  'link',
  'alipay',
  'wechat_pay',
  'us_bank_account',
  'cashapp',
  'amazon_pay',
] as const;
export type PaymentMethod = (typeof PAYMENT_METHODS)[number];

/** Promo credit for payments from an amount on. */
export interface BonusStep {
  readonly fromUsd: number;
  readonly percent: number;
  /** How long the promo credit lasts. */
  readonly days: number;
}

/** How customers pay on the pages of the payment provider. */
export interface PaymentRules {
  /** Null for the methods that are chosen at the payment provider. */
  readonly methods: readonly PaymentMethod[] | null;
  readonly minUsd: number;
  /** A payment gets the bonus of the highest step that it reaches. */
  readonly bonuses: readonly BonusStep[];
}

/** A currency that stands beside USD, at a rate of the operator's. The ledger has USD alone. */
export interface DisplayCurrency {
  /** ISO 4217. */
  readonly code: string;
  /** The units of the currency for one USD. */
  readonly usdRate: number;
  /** The day of the rate, such as `2026-11-29`. */
  readonly date: string;
}

export interface SiteMoney {
  readonly payments: PaymentRules;
  /** Null for USD alone. */
  readonly displayCurrency: DisplayCurrency | null;
}

export interface MoneyEntries {
  readonly payments?: {
    readonly methods?: readonly PaymentMethod[];
    readonly min_usd?: number;
    readonly bonuses?: readonly { readonly from_usd: number; readonly percent: number; readonly days: number }[];
  };
  readonly display_currency?: { readonly code: string; readonly usd_rate: number; readonly date: string };
}

const MAX_STEPS = 10;
const amount = Joi.number().integer().min(CHECKOUT.minUsd).max(CHECKOUT.maxUsd);

export const moneyKeys = {
  payments: Joi.object({
    methods: Joi.array()
      .items(Joi.string().valid(...PAYMENT_METHODS))
      .min(1)
      .max(PAYMENT_METHODS.length)
      .unique(),
    min_usd: amount,
    bonuses: Joi.array()
      .max(MAX_STEPS)
      .items(
        Joi.object({
          from_usd: amount.required(),
          percent: Joi.number().integer().min(1).max(100).required(),
          days: Joi.number().integer().min(1).max(GIFT_CODES.maxCreditDays).required(),
        }),
      )
      .unique('from_usd'),
  }),
  display_currency: Joi.object({
    code: Joi.string()
      .pattern(/^[A-Z]{3}$/)
      .invalid('USD')
      .required(),
    usd_rate: Joi.number().positive().max(1_000_000).required(),
    date: Joi.string()
      .pattern(/^\d{4}-\d{2}-\d{2}$/)
      .required(),
  }),
};

export function readSiteMoney({ payments, display_currency: currency }: MoneyEntries): SiteMoney {
  return {
    payments: {
      methods: payments?.methods ?? null,
      minUsd: payments?.min_usd ?? CHECKOUT.minUsd,
      bonuses: (payments?.bonuses ?? []).map(({ from_usd: fromUsd, percent, days }) => ({ fromUsd, percent, days })),
    },
    displayCurrency:
      currency === undefined ? null : { code: currency.code, usdRate: currency.usd_rate, date: currency.date },
  };
}

/** The rules without a file. */
export const NO_MONEY_RULES = readSiteMoney({});

/** The step whose bonus a payment gets; null if the payment reaches none. */
export function bonusStepOf({ bonuses }: Pick<PaymentRules, 'bonuses'>, paid: PicoUsd): BonusStep | null {
  const reached = bonuses.filter(({ fromUsd }) => paid >= parseUsd(fromUsd));
  return reached.toSorted((left, right) => right.fromUsd - left.fromUsd)[0] ?? null;
}
