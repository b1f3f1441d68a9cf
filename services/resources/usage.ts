/** Usage as accounts see it. */
import type { DailyUsage } from '../../db/queries/daily-usage.ts';
import type { EndUserUsage } from '../../db/queries/end-user-usage.ts';
import type { TextUsage } from '../../db/queries/usage.ts';
import { MODIFIER_KINDS } from '../../domain/pricing.ts';
import * as field from '../../domain/resource/field.ts';
import { SUMMED_TOKEN_COUNTS, TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import { nested, resource } from '../../domain/resource/resource.ts';

/** The counts of a row of daily usage, and of sums of such rows. */
export type UsageCounts = Omit<DailyUsage, 'date' | 'kind' | 'model' | 'apiKeyId'>;

/** The counts of requests of every kind: videos have seconds, too. */
type RequestCounts = Omit<UsageCounts, 'billableSeconds'>;

const REQUEST_COUNTS = nested<RequestCounts>({
  requests: field.count('requests', 'The number of requests and tasks that succeeded'),
  failed: field.count('failed', 'The number of requests and tasks that failed, free of charge'),
  ...Object.fromEntries(SUMMED_TOKEN_COUNTS.map(({ name, column, ofDay }) => [column, field.count(name, ofDay)])),
});
const CHARGED = { charged_usd: field.usd('charged', 'The amount charged') };

export const USAGE_COUNTS = nested<UsageCounts>({
  ...REQUEST_COUNTS.fields,
  billable_duration_seconds: field.count('billableSeconds', 'The length of the videos, in seconds'),
  ...CHARGED,
});

export const DAILY_USAGE = resource<DailyUsage>(
  'DailyUsage',
  {
    object: field.constant('daily_usage'),
    date: field.day('date', 'The day, in UTC'),
    kind: field.oneOf(['image', 'video', 'text'])('kind'),
    model: field.text('model', 'The model'),
    api_key_id: field.id('apiKey')('apiKeyId'),
    ...USAGE_COUNTS.fields,
  },
  'The usage of one model by one key on one day.',
);

export const END_USER_USAGE = resource<EndUserUsage>(
  'EndUserUsage',
  {
    object: field.constant('end_user_usage'),
    end_user: field.text('endUser', 'The end user’s name in requests'),
    ...REQUEST_COUNTS.fields,
    ...CHARGED,
  },
  'The usage of one end user.',
);

/** The field by which a batch is added up, of text requests and of the transfers that charge them. */
export const BATCH_ID = field
  .id('batch')
  .orNull('batchId', 'The batch that the request belongs to. Null for a direct request');

const MODIFIER = nested<TextUsage['modifiers'][number]>({
  kind: field.oneOf(MODIFIER_KINDS)('kind'),
  factor: field.text('factor', 'The factor that multiplied every rate'),
});

export const TEXT_REQUEST = resource<TextUsage>(
  'TextRequest',
  {
    created_at: field.unixSeconds('createdAt', 'When the request started'),
    id: field.id('textRequest')('id'),
    object: field.constant('text_request'),
    request_id: field.text('requestId', 'The `x-request-id` of the answer'),
    api_key_id: field.id('apiKey')('apiKeyId'),
    model: field.text('model', 'The model'),
    format: field.text('format', 'The wire format'),
    stream: field.boolean('streamed', 'Whether the answer was a stream'),
    outcome: field.oneOf(['succeeded', 'disconnected', 'failed'])(
      'outcome',
      'The outcome. A client that disconnects pays for the produced tokens; a failed request is free',
    ),
    error_code: field.text.orNull('errorCode', 'The error code. Null if the request did not fail'),
    rates_version: field.text('catalogueVersion', 'The catalogue version that set the price'),
    price_list: field.text.orNull(
      'priceList',
      'The version of the account’s price list. Null if the catalogue’s prices applied',
    ),
    ...Object.fromEntries(
      TOKEN_COUNTS.map((count): readonly [string, field.Field<TextUsage>] => [
        count.column,
        'ofDay' in count ? field.count(count.name, count.ofRequest) : field.count.orNull(count.name, count.ofRequest),
      ]),
    ),
    end_user: field.text.orNull('endUser', 'The end user. Null if the request names none, or the name is erased'),
    batch_id: BATCH_ID,
    estimated: field.boolean('estimated', 'Whether Genway counted the tokens, because the upstream did not'),
    price_modifiers: field.list(MODIFIER, ({ kind, factor }) => `${kind} ${factor}`)('modifiers'),
    charged_usd: field.usd('charged', 'The amount charged'),
    latency_ms: field.count.orNull('latencyMs', 'The time until the end, in milliseconds'),
    first_byte_ms: field.count.orNull('firstByteMs', 'The time until the first byte of the answer, in milliseconds'),
  },
  'A finished text request.',
);
