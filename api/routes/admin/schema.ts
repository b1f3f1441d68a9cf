/** Request bodies of the admin calls. */
import ipaddr from 'ipaddr.js';
import Joi from 'joi';
import { LIMIT_PERIODS, type LimitPeriod } from '../../../domain/api-key.ts';
import type { PriceRule } from '../../../domain/price-list.ts';
import { END_USERS } from '../../../domain/policy.ts';
import { ADMIN_ROLES, type AdminRole } from '../../../domain/roles.ts';
import { isListFactor, MAX_RULES } from '../../services/price-lists.ts';
import { nonNegativeUsd, positiveUsd, signedUsd } from '../../usd.ts';
import { choice, freeText } from '../../validation.ts';

const author = freeText({ min: 1, max: 200 }).description(
  'Who. Left out, it is the name of the admin token, or `admin` for GENWAY_ADMIN_TOKEN; only with that it may be another.',
);
const reason = freeText({ min: 1, max: 1000 });

interface AuthoredBody {
  readonly author?: string;
}

interface ReasonedBody extends AuthoredBody {
  readonly reason: string;
}

export interface AccountDetailsBody {
  readonly name?: string;
  readonly email?: string | null;
  readonly external_id?: string | null;
  readonly max_concurrent_tasks?: number | null;
  readonly content_days?: number | null;
  readonly billing_name?: string | null;
  readonly billing_address?: string | null;
  readonly tax_id?: string | null;
}

export interface CreateAccountBody extends AccountDetailsBody {
  readonly name: string;
  readonly signup_credit_usd?: string | number;
}

const MAX_CONCURRENT_TASKS = 1_000_000;
const MAX_CONTENT_DAYS = 36_500;
/** Models or addresses that a key names. */
export const MAX_KEY_ENTRIES = 500;

const accountName = freeText({ min: 1, max: 200 }).description('A label').example('Acme');
const billingDetails = {
  billing_name: freeText({ min: 1, max: 200 })
    .allow(null)
    .description('The name on receipts and invoices; null for the name of the account')
    .example('Acme GmbH'),
  billing_address: freeText({ min: 1, max: 500 })
    .allow(null)
    .description('The address there, in several lines')
    .example('Hauptstrasse 1\n10115 Berlin'),
  tax_id: freeText({ min: 1, max: 100 }).allow(null).description('The tax number there').example('DE123456789'),
};

export const billingDetailsSchema = Joi.object<Pick<AccountDetailsBody, keyof typeof billingDetails>>(billingDetails);

const accountDetails = {
  email: freeText({ min: 3, max: 320 })
    .pattern(/^[^\s@]+@[^\s@]+$/, 'email')
    .allow(null)
    .messages({ 'string.pattern.name': '{{#label}} must be an e-mail address' })
    .description('Where people of the account are written to; nothing is sent there')
    .example('ada@acme.example'),
  external_id: freeText({ min: 1, max: 200 })
    .allow(null)
    .description('What another system calls the customer; no two accounts have the same')
    .example('crm-1742'),
  max_concurrent_tasks: Joi.number()
    .integer()
    .min(1)
    .max(MAX_CONCURRENT_TASKS)
    .allow(null)
    .description('Tasks that may run at once; null for the default'),
  content_days: Joi.number()
    .integer()
    .min(1)
    .max(MAX_CONTENT_DAYS)
    .allow(null)
    .description('Days after which prompts, inputs and results are erased; null for never'),
  ...billingDetails,
};

export const createAccountSchema = Joi.object<CreateAccountBody>({
  name: accountName.required(),
  ...accountDetails,
  signup_credit_usd: nonNegativeUsd.description('Signup credit; until a top-up it pays only for free-list models'),
});

export const updateAccountSchema = Joi.object<AccountDetailsBody & AuthoredBody>({
  name: accountName,
  ...accountDetails,
  author,
});

export const reopenAccountSchema = Joi.object<Partial<ReasonedBody>>({
  reason: reason.description('Why; kept in the log of operator actions'),
  author,
});

export const closeMonthSchema = Joi.object<AuthoredBody>({ author });

interface ImportBillBody extends AuthoredBody {
  readonly vendor: string;
  readonly csv: string;
  readonly upstreams?: readonly string[];
  readonly columns?: { readonly job?: string; readonly model: string; readonly amount: string };
  readonly usd_per_unit?: string | number;
}

const columnTitle = freeText({ min: 1, max: 200 });

export const importBillSchema = Joi.object<ImportBillBody>({
  vendor: freeText({ min: 1, max: 100 })
    .invalid('.', '..')
    .required()
    .description('Your name for the vendor')
    .example('fal'),
  csv: freeText({ min: 1 })
    .required()
    .description('The file: the titles of its columns, then a line for each job or sum'),
  upstreams: Joi.array()
    .items(freeText({ min: 1, max: 200 }))
    .min(1)
    .max(50)
    .description('The upstreams that it bills, as the configuration calls them'),
  columns: Joi.object({
    job: columnTitle.description("That of the vendor's jobs; absent if lines are sums"),
    model: columnTitle.required().description('That of models, or of what else names them'),
    amount: columnTitle.required().description('That of amounts'),
  }).description('The titles of the columns that are read, in any case'),
  usd_per_unit: positiveUsd
    .description('What 1 of its currency is worth, if that is not the US dollar')
    .example('0.14'),
  author,
});

interface AcknowledgeBody extends ReasonedBody {
  readonly findings: number[];
}

export const acknowledgeSchema = Joi.object<AcknowledgeBody>({
  findings: Joi.array()
    .items(Joi.number().integer().min(1).max(100_000))
    .min(1)
    .max(1000)
    .required()
    .description('Which findings of the report, counted from 1')
    .example([1]),
  reason: reason.required().description('Why nobody can remedy them; kept with the month'),
  author,
});

export interface TopUpBody {
  readonly amount_usd: string | number;
  readonly reference: string;
}

export const topUpSchema = Joi.object<TopUpBody>({
  amount_usd: positiveUsd.required().description('Amount to credit').example(25),
  reference: freeText({ min: 1, max: 255 })
    .required()
    .description('Identifies the payment; each reference is credited once')
    .example('invoice-2031'),
});

interface AdjustmentBody extends ReasonedBody {
  readonly amount_usd: string | number;
}

export const adjustmentSchema = Joi.object<AdjustmentBody>({
  amount_usd: signedUsd.required().description('Amount to add, or to take if negative').example(-1.5),
  reason: reason.required().description('The reason; kept in the ledger'),
  author,
});

interface PromoGrantBody extends AdjustmentBody {
  readonly expires_at: string;
  readonly reference: string;
}

export const operatorActionSchema = Joi.object<ReasonedBody>({
  reason: reason.required().description('The reason; kept in the log of operator actions'),
  author,
});

interface RestUpstreamBody extends ReasonedBody {
  readonly seconds: number;
}

const A_MONTH_SECONDS = 30 * 86_400;

export const restUpstreamSchema = Joi.object<RestUpstreamBody>({
  seconds: Joi.number()
    .integer()
    .min(1)
    .max(A_MONTH_SECONDS)
    .required()
    .description('How long the upstream stays out of service'),
  reason: reason.required().description('The reason; kept with the order'),
  author,
});

export const optionalReasonSchema = Joi.object<Partial<ReasonedBody>>({
  reason: reason.description('The reason; kept with the order'),
  author,
});

export interface KeyBody {
  readonly name?: string;
  readonly usage_limit_usd?: string | number | null;
  readonly limit_period?: LimitPeriod | null;
  readonly models?: string[] | null;
  readonly ip_allowlist?: string[] | null;
  readonly expires_at?: string | null;
  readonly rate_limit_rpm?: number | null;
}

export interface UpdateKeyBody extends KeyBody {
  readonly disabled?: boolean;
}

export interface CreateAdminTokenBody {
  readonly name: string;
  readonly role: AdminRole;
  readonly expires_at?: string | null;
}

const expiresAt = Joi.string()
  .isoDate()
  .custom((text: string, helpers) => (isInUnixTime(text) ? text : helpers.error('date.refused')))
  .allow(null)
  .messages({ '*': '{{#label}} must be an ISO 8601 time from 1970 to 9999' });

export const promoGrantSchema = Joi.object<PromoGrantBody>({
  amount_usd: positiveUsd.required().description('Amount to give').example(5),
  expires_at: expiresAt.disallow(null).required().description('Until when it can be spent'),
  reference: freeText({ min: 1, max: 255 })
    .required()
    .description('Identifies the grant; each reference is granted once per account')
    .example('launch-2026'),
  reason: reason.required().description('The reason; kept with the grant'),
  author,
});

interface PriceListVersionBody extends ReasonedBody {
  readonly factor?: string;
  readonly rules?: readonly PriceRule[];
  readonly valid_from?: string;
}

interface PriceListBody extends PriceListVersionBody {
  readonly name: string;
}

const factor = Joi.string()
  .custom((text: string, helpers) => (isListFactor(text) ? text : helpers.error('factor.refused')))
  .messages({ '*': '{{#label}} must be a decimal above 0 and below 1000, with at most 6 decimals, as a string' })
  .meta({ openapi: { pattern: String.raw`^\d{1,3}(\.\d{1,6})?$` } });

const priceListVersion = {
  factor: factor
    .description('Multiplies the prices of the catalogue for which there is no rule; `1` when absent')
    .example('0.9'),
  rules: Joi.array()
    .items(
      Joi.object<PriceRule>({
        model: freeText({ min: 1, max: 200 }).description('A model; its rule comes before that of its family'),
        family: freeText({ min: 1, max: 200 }).description('A family of text models, instead of `model`'),
        factor: factor.description('Multiplies the prices that `prices` does not name; that of the list when absent'),
        prices: Joi.object()
          .unknown()
          .description(
            'In USD, as strings: of 1M tokens by `input`, `output`, `cached_input`, `cache_write` and `cache_write_1h`, of a second, video or image by resolution',
          ),
      }),
    )
    .max(MAX_RULES)
    .description('The prices of models and families')
    .example([{ model: 'vidone-3.0', prices: { '720p': '0.08' } }]),
  valid_from: expiresAt
    .disallow(null)
    .description('From when on; requests that began before keep their prices. In a few seconds when absent'),
  reason: reason.required().description('The reason; kept with the version'),
  author,
};

export const createPriceListSchema = Joi.object<PriceListBody>({
  name: Joi.string()
    .pattern(/^[a-z0-9][a-z0-9-]{0,62}$/, 'listName')
    .required()
    .messages({ 'string.pattern.name': '{{#label}} must be of small letters, digits and hyphens, at most 63' })
    .description('Names the list in charges, as `partners@3` does for its third version')
    .example('partners'),
  ...priceListVersion,
});

export const changePriceListSchema = Joi.object<PriceListVersionBody>(priceListVersion);

export const setPriceListSchema = Joi.object<ReasonedBody & { readonly price_list: string | null }>({
  price_list: freeText({ min: 1, max: 63 })
    .allow(null)
    .required()
    .description('The name of a list; null for the prices of the catalogue'),
  reason: reason.required().description('The reason; kept in the log of operator actions'),
  author,
});

export const createAdminTokenSchema = Joi.object<CreateAdminTokenBody>({
  name: freeText({ min: 1, max: 200 }).required().description('Whose it is: the author of what is done with it'),
  role: choice(ADMIN_ROLES)
    .required()
    .description('`operator`: everything; `finance`: reads everything and moves money; `readonly`: reads everything'),
  expires_at: expiresAt.description('When the token stops working; null for never'),
});

const keyFields = {
  name: freeText({ min: 0, max: 200 }).allow('').description('A label'),
  usage_limit_usd: nonNegativeUsd.allow(null).description('The most that the key may spend; null for no limit'),
  limit_period: choice(LIMIT_PERIODS)
    .allow(null)
    .description('The limit renews each day, week (from Monday) or month, of UTC; null for a limit of all time'),
  models: Joi.array()
    .items(freeText({ min: 1, max: 200 }))
    .max(MAX_KEY_ENTRIES)
    .allow(null)
    .description('The models the key may call; null for all'),
  ip_allowlist: Joi.array()
    .items(
      Joi.string()
        .custom((text: string, helpers) =>
          ipaddr.isValid(text) || ipaddr.isValidCIDR(text) ? text : helpers.error('address.refused'),
        )
        .messages({ '*': '{{#label}} must be an IP address or a CIDR range' }),
    )
    .max(MAX_KEY_ENTRIES)
    .allow(null)
    .description('Addresses and CIDR ranges that may use the key; null for all'),
  expires_at: expiresAt.description('When the key expires; null for never'),
  rate_limit_rpm: Joi.number()
    .integer()
    .min(1)
    .max(1_000_000)
    .allow(null)
    .description('Requests per minute; null for the default'),
};

/** Times are shown in Unix seconds, and years beyond 9999 may exceed what the database can store. */
function isInUnixTime(text: string): boolean {
  return /^\d/.test(text) && new Date(text).getTime() >= 0;
}

export interface EndUserBudgetBody {
  readonly end_user: string;
  readonly usage_limit_usd: string | number;
  readonly limit_period: LimitPeriod;
}

export const endUserBudgetSchema = Joi.object<EndUserBudgetBody>({
  end_user: freeText({ min: 1, max: END_USERS.maxNameLength })
    .required()
    .description('The end user, as requests name them in `safety_identifier`, `user` or `metadata.user_id`')
    .example('user-1742'),
  usage_limit_usd: nonNegativeUsd.required().description('The most that the end user may spend in a period').example(5),
  limit_period: choice(LIMIT_PERIODS)
    .required()
    .description('The budget renews each day, week (from Monday) or month, of UTC')
    .example('day'),
});

export const createKeySchema = Joi.object<KeyBody>(keyFields);
export const updateKeySchema = Joi.object<UpdateKeyBody>({
  ...keyFields,
  disabled: Joi.boolean().description('Whether the key is disabled'),
});
