/** The outcome and price of a completed request, and the type `text_settlement`, which `write_text` accepts. */
import type { Credit } from '../../domain/allowance.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { ConsumptionPrice } from '../../domain/text-price.ts';
import { TOKEN_COUNTS, type TextTokens } from '../../domain/text-tokens.ts';

/** The facts about a request that are known when it starts. */
export interface TextRequestRow {
  /** The text request's id. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Signup credit cannot pay for the request. */
  readonly fundedOnly: boolean;
  /** When the request started. */
  readonly createdAt: Date;
  readonly requestId: string;
  readonly model: string;
  readonly format: string;
  readonly streamed: boolean;
  /** The version of the catalogue that set the prices. */
  readonly catalogueVersion: string;
  /** The version of the customer's price list that changed the prices; null for none. */
  readonly priceList: string | null;
  /** The end user whom the request names; null for none. */
  readonly endUser: string | null;
  /** The batch that the request belongs to; null for a direct request. */
  readonly batchId: string | null;
}

/** The line of a batch that a request answers. */
export interface AnsweredLine {
  readonly number: number;
  /** The settlement counts only if this is still the line's attempt. */
  readonly attempt: number;
  readonly status: 'succeeded' | 'failed';
  /** The HTTP status of the answer. */
  readonly responseStatus: number;
}

/** The usage of a failed attempt. */
export interface FailedAttemptUsage extends TextTokens {
  readonly upstream: { readonly provider: string; readonly model: string };
  /** Whether the gateway counted any of the tokens itself. */
  readonly estimated: boolean;
}

/** Measurements of a request. Each has a column in `text_requests`, and an entry in `RECORDED`. */
export interface Measured {
  readonly latencyMs: number | null;
  /** Milliseconds until the first byte of the answer; null if there was no answer. */
  readonly firstByteMs: number | null;
}

/** The outcome and price of a request. */
export interface TextSettlement {
  readonly hold: TextRequestRow;
  readonly price: ConsumptionPrice;
  readonly allowanceId: string | null;
  /** The hold, in pico-USD. */
  readonly held: PicoUsd;
  /** The part of the charge that the allowance pays. */
  readonly paid: Credit;
  /** The id of the transfer that charges the allowance. */
  readonly chargeId: string;
  readonly outcome: 'succeeded' | 'disconnected' | 'failed';
  /** Null unless `failed`. */
  readonly errorCode: string | null;
  /** The route of the upstream that answered or failed, if any. */
  readonly upstream: { readonly provider: string; readonly format: string; readonly model: string } | null;
  readonly failedAttempts: readonly FailedAttemptUsage[];
  readonly measured: Measured;
  /** Whether to release the slot that a request to a free model used. */
  readonly releasesSlot: boolean;
  /** The line that gets its final status in the same statement; null for a direct request or a line to try again. */
  readonly batchLine: AnsweredLine | null;
  /** The part of the operator's cost that the vendor charges, as a decimal number; the whole cost by default. */
  readonly costFactor?: string | undefined;
}

type Value = string | number | bigint | boolean | Date | null;

type Field = readonly [name: string, type: string, read: (settlement: TextSettlement) => Value];

/** The columns of `text_requests` that `write_text` copies from the settlement. */
const RECORDED: readonly Field[] = [
  ['id', 'text', ({ hold }) => hold.id],
  ['created_at', 'timestamptz(3)', ({ hold }) => hold.createdAt],
  ['account_id', 'text', ({ hold }) => hold.accountId],
  ['api_key_id', 'text', ({ hold }) => hold.apiKeyId],
  ['request_id', 'text', ({ hold }) => hold.requestId],
  ['model', 'text', ({ hold }) => hold.model],
  ['format', 'text', ({ hold }) => hold.format],
  ['streamed', 'boolean', ({ hold }) => hold.streamed],
  ['upstream', 'text', ({ upstream }) => upstream?.provider ?? null],
  ['upstream_format', 'text', ({ upstream }) => upstream?.format ?? null],
  ['upstream_model', 'text', ({ upstream }) => upstream?.model ?? null],
  ['outcome', 'text', ({ outcome }) => outcome],
  ['error_code', 'text', ({ errorCode }) => errorCode],
  ['catalogue_version', 'text', ({ hold }) => hold.catalogueVersion],
  ['price_list', 'text', ({ hold }) => hold.priceList],
  ['end_user', 'text', ({ hold }) => hold.endUser],
  ['batch_id', 'text', ({ hold }) => hold.batchId],
  ['cost_factor', 'numeric', ({ costFactor }) => costFactor ?? null],
  // Most requests have no modifiers, and null takes the least space.
  ['modifiers', 'jsonb', ({ price: { modifiers } }) => (modifiers.length === 0 ? null : JSON.stringify(modifiers))],
  ...TOKEN_COUNTS.map(({ name, column }): Field => [column, 'bigint', ({ price }) => price.tokens[name]]),
  ['calls', 'smallint', ({ price }) => price.calls],
  ['estimated', 'boolean', ({ price }) => price.estimated],
  ['charge', 'numeric', ({ price }) => price.charge],
  ['latency_ms', 'integer', ({ measured }) => wholeMs(measured.latencyMs)],
  ['first_byte_ms', 'integer', ({ measured }) => wholeMs(measured.firstByteMs)],
];

const FIELDS: readonly Field[] = [
  ...RECORDED,
  ['held', 'numeric', ({ held }) => held],
  ['allowance_id', 'text', ({ allowanceId }) => allowanceId],
  // The amount that the allowance pays, and its part of signup credit.
  ['paid', 'numeric', ({ paid }) => paid.signup + paid.funded],
  ['paid_signup', 'numeric', ({ paid }) => paid.signup],
  ['charge_id', 'text', ({ chargeId }) => chargeId],
  ['funded_only', 'boolean', ({ hold }) => hold.fundedOnly],
  ['releases_slot', 'boolean', ({ releasesSlot }) => releasesSlot],
  ['failed_attempts', 'jsonb', ({ failedAttempts }) => failedAttemptsOf(failedAttempts)],
  ['batch_line', 'jsonb', ({ batchLine }) => batchLine && JSON.stringify(batchLine)],
];

function failedAttemptsOf(attempts: TextSettlement['failedAttempts']): string | null {
  if (attempts.length === 0) return null;
  return JSON.stringify(
    attempts.map((attempt) => ({
      upstream: attempt.upstream.provider,
      upstream_model: attempt.upstream.model,
      ...Object.fromEntries(TOKEN_COUNTS.map(({ name, column }) => [column, attempt[name]])),
      estimated: attempt.estimated,
    })),
  );
}

export const RECORDED_COLUMNS = RECORDED.map(([name]) => name).join(', ');

/** The fields in the definition of the type `text_settlement`. */
export const SETTLEMENT_FIELDS = FIELDS.map(([name, type]) => `${name} ${type}`).join(', ');

/**
 * Writes settlements as an array of `text_settlement`, which PostgreSQL reads three times as fast as JSON.
 * https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX
 */
export function settlementsLiteral(settlements: readonly TextSettlement[]): string {
  const rows = settlements.map((settlement) => {
    const values = FIELDS.map(([, , read]) => literalOf(read(settlement)));
    return quoted(`(${values.join(',')})`);
  });
  return `{${rows.join(',')}}`;
}

const NEEDS_NO_QUOTES = /^[\w.:-]+$/;

function literalOf(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string') return NEEDS_NO_QUOTES.test(value) ? value : quoted(value);
  return value instanceof Date ? value.toISOString() : String(value);
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function wholeMs(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.min(Math.round(milliseconds), 2 ** 31 - 1);
}
