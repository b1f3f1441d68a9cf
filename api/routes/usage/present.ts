import type { DailyUsage, TextUsage } from '../../../db/queries/usage.ts';
import { toUsdNumber } from '../../../domain/money.ts';

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

export function presentTextUsage(usage: TextUsage) {
  return {
    id: usage.id,
    object: 'text_request',
    created_at: Math.floor(usage.createdAt.getTime() / 1000),
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
