/** Request bodies of the admin calls. */
import ipaddr from 'ipaddr.js';
import Joi from 'joi';
import { LIMIT_PERIODS } from '../../../domain/api-key.ts';
import type { PriceRule } from '../../../domain/price-list.ts';
import { END_USERS } from '../../../domain/policy.ts';
import { ADMIN_ROLES } from '../../../domain/roles.ts';
import { isListFactor, MAX_RULES } from '../../services/price-lists.ts';
import { nonNegativeUsd, positiveUsd, signedUsd } from '../../usd.ts';
import { type BodyOf, bodySchema, choice, freeText, orNull, sent } from '../../validation.ts';

const author = freeText({ min: 1, max: 200 }).description(
  'Who. Left out, it is the name of the admin token, or `admin` for GENWAY_ADMIN_TOKEN; only with that it may be another.',
);
const reason = freeText({ min: 1, max: 1000 });

const MAX_CONCURRENT_TASKS = 1_000_000;
const MAX_CONTENT_DAYS = 36_500;
/** The maximum number of models, or of addresses, that a key names. */
export const MAX_KEY_ENTRIES = 500;

const accountName = freeText({ min: 1, max: 200 }).description('A label').example('Acme');
const billingDetails = {
  billing_name: orNull(
    freeText({ min: 1, max: 200 })
      .description('The name on receipts and invoices; null for the name of the account')
      .example('Acme GmbH'),
  ),
  billing_address: orNull(
    freeText({ min: 1, max: 500 })
      .description('The address there, in several lines')
      .example('Hauptstrasse 1\n10115 Berlin'),
  ),
  tax_id: orNull(freeText({ min: 1, max: 100 }).description('The tax number there').example('DE123456789')),
};

export const billingDetailsSchema = bodySchema(billingDetails);

const accountDetails = {
  email: orNull(
    freeText({ min: 3, max: 320 })
      .pattern(/^[^\s@]+@[^\s@]+$/, 'email')

      .messages({ 'string.pattern.name': '{{#label}} must be an e-mail address' })
      .description('Where people of the account are written to; nothing is sent there')
      .example('ada@acme.example'),
  ),
  external_id: orNull(
    freeText({ min: 1, max: 200 })
      .description('What another system calls the customer; no two accounts have the same')
      .example('crm-1742'),
  ),
  max_concurrent_tasks: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(MAX_CONCURRENT_TASKS)

      .description('Tasks that may run at once; null for the default'),
  ),
  content_days: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(MAX_CONTENT_DAYS)

      .description('Days after which prompts, inputs and results are erased; null for never'),
  ),
  ...billingDetails,
};

export const createAccountSchema = bodySchema({
  name: sent(accountName),
  ...accountDetails,
  signup_credit_usd: nonNegativeUsd.description('Signup credit; until a top-up it pays only for free-list models'),
});

export const updateAccountSchema = bodySchema({
  name: accountName,
  ...accountDetails,
  author,
});
export type AccountDetailsBody = BodyOf<typeof updateAccountSchema>;

export const reopenAccountSchema = bodySchema({
  reason: reason.description('Why; kept in the log of operator actions'),
  author,
});

export const closeMonthSchema = bodySchema({ author });

const columnTitle = freeText({ min: 1, max: 200 });

export const importBillSchema = bodySchema({
  vendor: sent(
    freeText({ min: 1, max: 100 }).invalid('.', '..').description('Your name for the vendor').example('fal'),
  ),
  csv: sent(freeText({ min: 1 }).description('The file: the titles of its columns, then a line for each job or sum')),
  upstreams: Joi.array<string[]>()
    .items(freeText({ min: 1, max: 200 }))
    .min(1)
    .max(50)
    .description('The upstreams that it bills, as the configuration calls them'),
  columns: bodySchema({
    job: columnTitle.description("That of the vendor's jobs; absent if lines are sums"),
    model: sent(columnTitle.description('That of models, or of what else names them')),
    amount: sent(columnTitle.description('That of amounts')),
  }).description('The titles of the columns that are read, in any case'),
  usd_per_unit: positiveUsd
    .description('What 1 of its currency is worth, if that is not the US dollar')
    .example('0.14'),
  author,
});

export const acknowledgeSchema = bodySchema({
  findings: sent(
    Joi.array<number[]>()
      .items(Joi.number().integer().min(1).max(100_000))
      .min(1)
      .max(1000)
      .description('Which findings of the report, counted from 1')
      .example([1]),
  ),
  reason: sent(reason.description('Why nobody can remedy them; kept with the month')),
  author,
});

export const topUpSchema = bodySchema({
  amount_usd: sent(positiveUsd.description('Amount to credit').example(25)),
  reference: sent(
    freeText({ min: 1, max: 255 })
      .description('Identifies the payment; each reference is credited once')
      .example('invoice-2031'),
  ),
});

export const adjustmentSchema = bodySchema({
  amount_usd: sent(signedUsd.description('Amount to add, or to take if negative').example(-1.5)),
  reason: sent(reason.description('The reason; kept in the ledger')),
  author,
});

export const operatorActionSchema = bodySchema({
  reason: sent(reason.description('The reason; kept in the log of operator actions')),
  author,
});

const A_MONTH_SECONDS = 30 * 86_400;

export const restUpstreamSchema = bodySchema({
  seconds: sent(
    Joi.number().integer().min(1).max(A_MONTH_SECONDS).description('How long the upstream stays out of service'),
  ),
  reason: sent(reason.description('The reason; kept with the order')),
  author,
});

export const optionalReasonSchema = bodySchema({
  reason: reason.description('The reason; kept with the order'),
  author,
});

const expiresAt = Joi.string()
  .isoDate()
  .custom((text: string, helpers) => (isInUnixTime(text) ? text : helpers.error('date.refused')))
  .messages({ '*': '{{#label}} must be an ISO 8601 time from 1970 to 9999' });

export const promoGrantSchema = bodySchema({
  amount_usd: sent(positiveUsd.description('Amount to give').example(5)),
  expires_at: sent(expiresAt.description('Until when it can be spent')),
  reference: sent(
    freeText({ min: 1, max: 255 })
      .description('Identifies the grant; each reference is granted once per account')
      .example('launch-2026'),
  ),
  reason: sent(reason.description('The reason; kept with the grant')),
  author,
});

const factor = Joi.string()
  .custom((text: string, helpers) => (isListFactor(text) ? text : helpers.error('factor.refused')))
  .messages({ '*': '{{#label}} must be a decimal above 0 and below 1000, with at most 6 decimals, as a string' })
  .meta({ openapi: { pattern: String.raw`^\d{1,3}(\.\d{1,6})?$` } });

const priceListVersion = {
  factor: factor
    .description('Multiplies the prices of the catalogue for which there is no rule; `1` when absent')
    .example('0.9'),
  rules: Joi.array<PriceRule[]>()
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
  valid_from: expiresAt.description(
    'From when on; requests that began before keep their prices. In a few seconds when absent',
  ),
  reason: sent(reason.description('The reason; kept with the version')),
  author,
};

export const createPriceListSchema = bodySchema({
  name: sent(
    Joi.string()
      .pattern(/^[a-z0-9][a-z0-9-]{0,62}$/, 'listName')
      .messages({ 'string.pattern.name': '{{#label}} must be of small letters, digits and hyphens, at most 63' })
      .description('Names the list in charges, as `partners@3` does for its third version')
      .example('partners'),
  ),
  ...priceListVersion,
});

export const changePriceListSchema = bodySchema(priceListVersion);

export const setPriceListSchema = bodySchema({
  price_list: sent(
    orNull(freeText({ min: 1, max: 63 }).description('The name of a list; null for the prices of the catalogue')),
  ),
  reason: sent(reason.description('The reason; kept in the log of operator actions')),
  author,
});

export const createAdminTokenSchema = bodySchema({
  name: sent(freeText({ min: 1, max: 200 }).description('Whose it is: the author of what is done with it')),
  role: sent(
    choice(ADMIN_ROLES).description(
      '`operator`: everything; `finance`: reads everything and moves money; `readonly`: reads everything',
    ),
  ),
  expires_at: orNull(expiresAt.description('When the token stops working; null for never')),
});

const keyFields = {
  name: freeText({ min: 0, max: 200 }).allow('').description('A label'),
  usage_limit_usd: orNull(nonNegativeUsd.description('The most that the key may spend; null for no limit')),
  limit_period: orNull(
    choice(LIMIT_PERIODS).description(
      'The limit renews each day, week (from Monday) or month, of UTC; null for a limit of all time',
    ),
  ),
  models: orNull(
    Joi.array<string[]>()
      .items(freeText({ min: 1, max: 200 }))
      .max(MAX_KEY_ENTRIES)

      .description('The models the key may call; null for all'),
  ),
  ip_allowlist: orNull(
    Joi.array<string[]>()
      .items(
        Joi.string()
          .custom((text: string, helpers) =>
            ipaddr.isValid(text) || ipaddr.isValidCIDR(text) ? text : helpers.error('address.refused'),
          )
          .messages({ '*': '{{#label}} must be an IP address or a CIDR range' }),
      )
      .max(MAX_KEY_ENTRIES)

      .description('Addresses and CIDR ranges that may use the key; null for all'),
  ),
  expires_at: orNull(expiresAt.description('When the key expires; null for never')),
  rate_limit_rpm: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(1_000_000)

      .description('Requests per minute; null for the default'),
  ),
};

/** Times are shown in Unix seconds, and years beyond 9999 may exceed what the database can store. */
function isInUnixTime(text: string): boolean {
  return /^\d/.test(text) && new Date(text).getTime() >= 0;
}

export const endUserBudgetSchema = bodySchema({
  end_user: sent(
    freeText({ min: 1, max: END_USERS.maxNameLength })
      .description('The end user, as requests name them in `safety_identifier`, `user` or `metadata.user_id`')
      .example('user-1742'),
  ),
  usage_limit_usd: sent(nonNegativeUsd.description('The most that the end user may spend in a period').example(5)),
  limit_period: sent(
    choice(LIMIT_PERIODS).description('The budget renews each day, week (from Monday) or month, of UTC').example('day'),
  ),
});
export type EndUserBudgetBody = BodyOf<typeof endUserBudgetSchema>;

export const createKeySchema = bodySchema(keyFields);
export const updateKeySchema = bodySchema({
  ...keyFields,
  disabled: Joi.boolean().description('Whether the key is disabled'),
});
export type UpdateKeyBody = BodyOf<typeof updateKeySchema>;
