/** Usage as accounts see it. */
import type { DailyUsage } from '../../../db/queries/daily-usage.ts';
import type { TextUsage } from '../../../db/queries/usage.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import {
  arrayOf,
  boolean,
  component,
  count,
  exactly,
  fieldsOf,
  idOf,
  namedObject,
  object,
  oneOfTexts,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';

export const DailyUsageSchema = namedObject<ReturnType<typeof presentDailyUsage>>(
  'DailyUsage',
  {
    object: exactly('daily_usage'),
    date: text('The day, in UTC', { format: 'date' }),
    kind: oneOfTexts(['image', 'video', 'text']),
    model: text('The model'),
    api_key_id: idOf('apiKey'),
    requests: count('Requests and tasks that succeeded'),
    failed: count('Requests and tasks that failed, free of charge'),
    input_tokens: count('Whole prompts, cached or not'),
    cache_read_tokens: count('The part of the input read from a cache'),
    cache_write_tokens: count('The part of the input written to a cache'),
    output_tokens: count('All generated tokens, reasoning included'),
    billable_duration_seconds: count('Seconds of video'),
    charged_usd: usd('The amount charged'),
  },
  'The usage of one model by one key on one day.',
);

export function presentDailyUsage(usage: DailyUsage) {
  return {
    object: 'daily_usage',
    date: usage.date,
    kind: usage.kind,
    model: usage.model,
    api_key_id: usage.apiKeyId,
    requests: usage.requests,
    failed: usage.failed,
    input_tokens: Number(usage.inputTokens),
    cache_read_tokens: Number(usage.cacheReadTokens),
    cache_write_tokens: Number(usage.cacheWriteTokens),
    output_tokens: Number(usage.outputTokens),
    billable_duration_seconds: Number(usage.billableSeconds),
    charged_usd: toUsdNumber(usage.charged),
  };
}

export const TEXT_REQUEST_FIELDS = fieldsOf<ReturnType<typeof presentTextUsage>>({
  id: idOf('textRequest'),
  object: exactly('text_request'),
  created_at: unixSeconds('When it began'),
  request_id: text('The answer’s `x-request-id`'),
  api_key_id: idOf('apiKey'),
  model: text('The model'),
  format: text('The wire format'),
  stream: boolean('Whether it was answered as a stream'),
  outcome: oneOfTexts(
    ['succeeded', 'disconnected', 'failed', 'abandoned'],
    'A client that disconnects pays for what was produced; failed and abandoned requests are free',
  ),
  error_code: nullable(text('The error code of a failure')),
  rates_version: text('The catalogue edition that set the price'),
  input_tokens: count('The whole prompt, cached or not'),
  cache_read_tokens: count('The part read from a cache'),
  cache_write_tokens: count('The part written to a cache'),
  output_tokens: count('All generated tokens, reasoning included'),
  reasoning_tokens: nullable(count('The part that is reasoning, if reported')),
  estimated: boolean('Whether the gateway counted because the upstream did not'),
  price_modifiers: arrayOf(
    object({ kind: oneOfTexts(['tier', 'peak']), factor: text('The factors that multiplied every rate') }),
  ),
  charged_usd: usd('The amount charged'),
  latency_ms: nullable(count('Milliseconds until the end')),
  first_byte_ms: nullable(count('Milliseconds until the first byte of the answer')),
});

export const TextRequestSchema = component('TextRequest', object(TEXT_REQUEST_FIELDS, 'A finished text request.'));

export function presentTextUsage(usage: TextUsage) {
  return {
    id: usage.id,
    object: 'text_request',
    created_at: toUnixSeconds(usage.createdAt),
    request_id: usage.requestId,
    api_key_id: usage.apiKeyId,
    model: usage.model,
    format: usage.format,
    stream: usage.streamed,
    outcome: usage.outcome,
    error_code: usage.errorCode,
    rates_version: usage.catalogueVersion,
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    estimated: usage.estimated,
    price_modifiers: usage.modifiers.map(({ kind, factor }) => ({ kind, factor })),
    charged_usd: toUsdNumber(usage.charged),
    latency_ms: usage.latencyMs,
    first_byte_ms: usage.firstByteMs,
  };
}
