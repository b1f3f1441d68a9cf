/** Request bodies of the admin calls. */
import ipaddr from 'ipaddr.js';
import Joi from 'joi';
import { LIMIT_PERIODS } from '../../domain/api-key.ts';
import type { PriceRule } from '../../domain/price-list.ts';
import { ACCOUNT_BUDGETS, END_USERS, RESPONSES } from '../../domain/policy.ts';
import { BLOCK_KINDS } from '../../domain/registration.ts';
import { ADMIN_ROLES } from '../../domain/roles.ts';
import { isListFactor, MAX_RULES } from '../money/price-lists.ts';
import { isoTime } from './times.ts';
import { nonNegativeUsd, positiveUsd, signedUsd } from './usd.ts';
import { type BodyOf, bodySchema, choice, freeText, idText, list, orNull, requiredField } from './validation.ts';

export const author = freeText({ min: 1, max: 200 }).description(
  'The author. By default, the name of the admin token, or `admin` for GENWAY_ADMIN_TOKEN, which alone may name another author.',
);
export const reason = freeText({ min: 1, max: 1000 });

const MAX_CONCURRENT_TASKS = 1_000_000;
const MAX_CONTENT_DAYS = 36_500;
/** The maximum number of models, or of addresses, that a key names. */
export const MAX_KEY_ENTRIES = 500;

const accountName = freeText({ min: 1, max: 200 }).description('A label for your own use').example('Acme');
const billingDetails = {
  billing_name: orNull(
    freeText({ min: 1, max: 200 })
      .description('The name on receipts and invoices. Null for the name of the account')
      .example('Acme GmbH'),
  ),
  billing_address: orNull(
    freeText({ min: 1, max: 500 })
      .description('The address on receipts and invoices')
      .example('Hauptstrasse 1\n10115 Berlin'),
  ),
  tax_id: orNull(freeText({ min: 1, max: 100 }).description('The tax number on documents').example('DE123456789')),
};

export const billingDetailsSchema = bodySchema(billingDetails);

const accountDetails = {
  email: orNull(
    freeText({ min: 3, max: 320 })
      .pattern(/^[^\s@]+@[^\s@]+$/, 'email')

      .messages({ 'string.pattern.name': '{{#label}} must be an e-mail address' })
      .description('The e-mail address of the account, for your own use')
      .example('ada@acme.example'),
  ),
  external_id: orNull(
    freeText({ min: 1, max: 200 })
      .description('The customer’s id in another system. Unique among accounts')
      .example('crm-1742'),
  ),
  max_concurrent_tasks: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(MAX_CONCURRENT_TASKS)
      .description('The maximum of running tasks. Null for the default'),
  ),
  content_days: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(MAX_CONTENT_DAYS)
      .description('The days after which prompts, inputs and results are erased. Null for never'),
  ),
  response_minutes: orNull(
    Joi.number()
      .integer()
      .min(0)
      .max(RESPONSES.maxMinutes)
      .description(
        `The minutes for which responses are stored, for requests that continue them. 0 for never, null for the default of ${RESPONSES.defaultMinutes}`,
      ),
  ),
  ...billingDetails,
};

export const createAccountSchema = bodySchema({
  name: requiredField(accountName),
  ...accountDetails,
  signup_credit_usd: nonNegativeUsd.description('The signup credit. Until a top-up it pays only for free-list models'),
});

export const updateAccountSchema = bodySchema({
  name: accountName,
  ...accountDetails,
  author,
});
export type AccountDetailsBody = BodyOf<typeof updateAccountSchema>;

export const reopenAccountSchema = bodySchema({
  reason: reason.description('The reason, kept in the log of operator actions'),
  author,
});

export const closeMonthSchema = bodySchema({ author });

const columnTitle = freeText({ min: 1, max: 200 });

export const importBillSchema = bodySchema({
  vendor: requiredField(
    freeText({ min: 1, max: 100 }).invalid('.', '..').description('Your name for the vendor').example('fal'),
  ),
  csv: requiredField(
    freeText({ min: 1 }).description('The file: the titles of the columns, then a line for each job or sum'),
  ),
  upstreams: list<string>(freeText({ min: 1, max: 200 }), { min: 1, max: 50 }).description(
    'The upstreams on the bill, by name in the configuration',
  ),
  columns: bodySchema({
    job: columnTitle.description('The column of job ids. Absent if the lines are sums'),
    model: requiredField(columnTitle.description('The column of models')),
    amount: requiredField(columnTitle.description('The column of amounts')),
  }).description('The titles of the columns to read, in any case'),
  usd_per_unit: positiveUsd
    .description('The value of 1 unit of the bill’s currency. Absent for US dollars')
    .example('0.14'),
  author,
});

export const acknowledgeSchema = bodySchema({
  findings: requiredField(
    list<number>(Joi.number().integer().min(1).max(100_000), { min: 1, max: 1000 })
      .description('The numbers of the findings in the report, from 1')
      .example([1]),
  ),
  reason: requiredField(reason.description('Why the findings cannot be remedied, kept with the month')),
  author,
});

export const topUpSchema = bodySchema({
  amount_usd: requiredField(positiveUsd.description('The amount to credit').example(25)),
  reference: requiredField(
    freeText({ min: 1, max: 255 })
      .description('The id of the payment. Each reference is credited once')
      .example('invoice-2031'),
  ),
});

export const adjustmentSchema = bodySchema({
  amount_usd: requiredField(signedUsd.description('The amount to add, or to deduct if negative').example(-1.5)),
  reason: requiredField(reason.description('The reason, kept in the ledger')),
  author,
});

export const mergeAccountSchema = bodySchema({
  target_account_id: requiredField(idText('account').description('The account that gets the money')),
  reason: requiredField(reason.description('The reason, kept in the log of operator actions')),
  author,
});

export const operatorActionSchema = bodySchema({
  reason: requiredField(reason.description('The reason, kept in the log of operator actions')),
  author,
});

export const rejectRegistrationSchema = bodySchema({
  reason: requiredField(reason.description('The reason, kept in the log of operator actions')),
  message: freeText({ min: 0, max: 500 })
    .allow('')
    .description('A sentence to the person, for the e-mail about the rejection. By default, none')
    .example('Register with the address of your company.'),
  author,
});

export const blockRegistrationSchema = bodySchema({
  block_kind: requiredField(choice(BLOCK_KINDS).description('The kind of the value').example('domain')),
  value: requiredField(
    freeText({ min: 1, max: 254 })
      .description('An e-mail address in any spelling, a domain with its subdomains, or a network in CIDR notation')
      .example('example.com'),
  ),
  reason: requiredField(reason.description('The reason, kept in the log of operator actions')),
  author,
});

const A_MONTH_SECONDS = 30 * 86_400;

const upstreamModel = Joi.string().max(300).description('Only this model, by the upstream’s name. By default, all');

export const restUpstreamSchema = bodySchema({
  model: upstreamModel,
  seconds: requiredField(
    Joi.number().integer().min(1).max(A_MONTH_SECONDS).description('How long the upstream stays out of service'),
  ),
  reason: requiredField(reason.description('The reason, kept with the order')),
  author,
});

export const resumeUpstreamSchema = bodySchema({
  model: upstreamModel,
  reason: reason.description('The reason, kept with the order'),
  author,
});

export const optionalReasonSchema = bodySchema({
  reason: reason.description('The reason, kept with the order'),
  author,
});

export const promoGrantSchema = bodySchema({
  amount_usd: requiredField(positiveUsd.description('The amount to grant').example(5)),
  expires_at: requiredField(isoTime.description('When the credit expires')),
  reference: requiredField(
    freeText({ min: 1, max: 255 })
      .description('The id of the grant. Each reference is granted once per account')
      .example('launch-2026'),
  ),
  reason: requiredField(reason.description('The reason, kept with the grant')),
  author,
});

const factor = Joi.string()
  .custom((text: string, helpers) => (isListFactor(text) ? text : helpers.error('factor.refused')))
  .messages({ '*': '{{#label}} must be a decimal above 0 and below 1000, with at most 6 decimals, as a string' })
  .meta({ openapi: { pattern: String.raw`^\d{1,3}(\.\d{1,6})?$` } });

const priceListVersion = {
  factor: factor
    .description('The factor on the prices of the catalogue that no rule covers. By default, `1`')
    .example('0.9'),
  batch_factor: orNull(
    factor.description(
      'The factor on these prices for requests of batches, such as `0.6`. By default and for null, that of the catalogue',
    ),
  ),
  rules: list<PriceRule>(
    Joi.object<PriceRule>({
      model: freeText({ min: 1, max: 200 }).description('A model. Its rule precedes the rule of its family'),
      family: freeText({ min: 1, max: 200 }).description('A family of text models, instead of `model`'),
      factor: factor.description('The factor on prices that `prices` does not name. By default, that of the list'),
      prices: Joi.object()
        .unknown()
        .description(
          'The prices in USD, as strings: of 1M tokens by `input`, `output`, `cached_input`, `cache_write`, `cache_write_1h`, `audio_input`, `cached_audio_input` and `audio_output`, of 1M characters by `character`, of a second of audio by `audio_second`, of a search of the web by `web_search`, of a search of documents by `search_unit`, of a second, video or image by resolution',
        ),
    }),
    { max: MAX_RULES },
  )
    .description('The prices of models and families')
    .example([{ model: 'vidone-3.0', prices: { '720p': '0.08' } }]),
  valid_from: isoTime.description(
    'When the version takes effect. Requests that started before keep their prices. By default, in a few seconds',
  ),
  reason: requiredField(reason.description('The reason, kept with the version')),
  author,
};

export const createPriceListSchema = bodySchema({
  name: requiredField(
    Joi.string()
      .pattern(/^[a-z0-9][a-z0-9-]{0,62}$/, 'listName')
      .messages({ 'string.pattern.name': '{{#label}} must be of small letters, digits and hyphens, at most 63' })
      .description('The name of the list. Charges name the list and the version, such as `partners@3`')
      .example('partners'),
  ),
  ...priceListVersion,
});

export const changePriceListSchema = bodySchema(priceListVersion);

export const setPriceListSchema = bodySchema({
  price_list: requiredField(
    orNull(freeText({ min: 1, max: 63 }).description('A price list. Null for the catalogue’s prices')),
  ),
  reason: requiredField(reason.description('The reason, kept in the log of operator actions')),
  author,
});

export const createAdminTokenSchema = bodySchema({
  name: requiredField(
    freeText({ min: 1, max: 200 }).description('The holder of the token: the author of each action with it'),
  ),
  role: requiredField(
    choice(ADMIN_ROLES).description(
      '`operator`: everything; `finance`: reads everything and moves money; `readonly`: reads everything',
    ),
  ),
  expires_at: orNull(isoTime.description('When the token expires. Null for never')),
});

const keyFields = {
  name: freeText({ min: 0, max: 200 }).allow('').description('A label for your own use'),
  usage_limit_usd: orNull(nonNegativeUsd.description('The maximum that the key may spend. Null for no limit')),
  limit_period: orNull(
    choice(LIMIT_PERIODS).description(
      'The limit renews each day, week (from Monday) or month, in UTC. Null for a limit of all time',
    ),
  ),
  models: orNull(
    list<string>(freeText({ min: 1, max: 200 }), { max: MAX_KEY_ENTRIES }).description(
      'The models that the key may call. Null for all',
    ),
  ),
  ip_allowlist: orNull(
    list<string>(
      Joi.string()
        .custom((text: string, helpers) =>
          ipaddr.isValid(text) || ipaddr.isValidCIDR(text) ? text : helpers.error('address.refused'),
        )
        .messages({ '*': '{{#label}} must be an IP address or a CIDR range' }),
      { max: MAX_KEY_ENTRIES },
    ).description('The addresses and CIDR ranges that may use the key. Null for all'),
  ),
  expires_at: orNull(isoTime.description('When the key expires. Null for never')),
  rate_limit_rpm: orNull(
    Joi.number()
      .integer()
      .min(1)
      .max(1_000_000)
      .description('The maximum of requests per minute. Null for the default'),
  ),
};

export const endUserBudgetSchema = bodySchema({
  end_user: requiredField(
    freeText({ min: 1 })
      .description(
        `The end user’s name in requests: \`safety_identifier\`, \`user\` or \`metadata.user_id\`. Its first ${END_USERS.maxNameLength} characters count`,
      )
      .example('user-1742'),
  ),
  usage_limit_usd: requiredField(
    nonNegativeUsd.description('The maximum that the end user may spend in a period').example(5),
  ),
  limit_period: requiredField(
    choice(LIMIT_PERIODS).description('The budget renews each day, week (from Monday) or month, in UTC').example('day'),
  ),
});
export type EndUserBudgetBody = BodyOf<typeof endUserBudgetSchema>;

export const accountBudgetSchema = bodySchema({
  models: orNull(
    list<string>(
      freeText({ min: 1, max: ACCOUNT_BUDGETS.maxModelLength })
        .pattern(/^[^*]*\*?$/)
        .messages({ 'string.pattern.base': '{{#label}} must be the id of a model, or its beginning with a final "*"' }),
      { min: 1, max: ACCOUNT_BUDGETS.maxModels },
    )
      .description('The models whose requests count: ids, or their beginnings with a final `*`. Null for all models')
      .example(['textg-*', 'vidone-3.0']),
  ),
  usage_limit_usd: requiredField(
    nonNegativeUsd.description('The maximum that the account may spend in a period').example(50),
  ),
  limit_period: requiredField(
    choice(LIMIT_PERIODS)
      .description('The budget renews each day, week (from Monday) or month, in UTC')
      .example('month'),
  ),
  is_ceiling: Joi.boolean().description(
    'Whether the account’s owner can neither change nor delete the budget. It applies beside a budget of the owner',
  ),
});
export type AccountBudgetBody = BodyOf<typeof accountBudgetSchema>;

export const createKeySchema = bodySchema(keyFields);
export const updateKeySchema = bodySchema({
  ...keyFields,
  disabled: Joi.boolean().description('Whether the key is disabled'),
});
export type UpdateKeyBody = BodyOf<typeof updateKeySchema>;

/** The longest time that a rotated key goes on working: 30 days. */
const MAX_ROTATION_HOURS = 720;
export const ROTATION_HOURS = 24;
export const rotateKeySchema = bodySchema({
  hours: Joi.number()
    .integer()
    .min(0)
    .max(MAX_ROTATION_HOURS)
    .default(ROTATION_HOURS)
    .description('How long the old key goes on working, in hours. 0 ends the old key at once')
    .example(24),
});
