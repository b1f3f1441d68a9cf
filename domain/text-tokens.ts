/**
 * The token counts of a text request, defined once: the API, the exports, the sums by day and the console derive their
 * columns from the list. How to add a count: `docs/changing-it.md`.
 */

/** A count with `ofDay` is summed by day and exported by month. A count without is null if it was not reported. */
export const TOKEN_COUNTS = [
  {
    name: 'inputTokens',
    column: 'input_tokens',
    ofRequest: 'The input tokens, cached or not',
    ofDay: 'The input tokens, cached or not',
  },
  {
    name: 'cacheReadTokens',
    column: 'cache_read_tokens',
    ofRequest: 'The input tokens read from a cache',
    ofDay: 'The input tokens read from a cache',
  },
  {
    name: 'cacheWriteTokens',
    column: 'cache_write_tokens',
    ofRequest: 'The input tokens written to a cache',
    ofDay: 'The input tokens written to a cache',
  },
  {
    name: 'cacheWrite1hTokens',
    column: 'cache_write_1h_tokens',
    ofRequest: 'The part of `cache_write_tokens` kept for an hour',
    ofDay: 'The part of `cache_write_tokens` kept for an hour',
  },
  {
    name: 'outputTokens',
    column: 'output_tokens',
    ofRequest: 'The output tokens, reasoning included',
    ofDay: 'The output tokens, reasoning included',
  },
  {
    name: 'reasoningTokens',
    column: 'reasoning_tokens',
    ofRequest: 'The reasoning tokens. Null if the upstream does not report them',
  },
] as const;

type TokenCount = (typeof TOKEN_COUNTS)[number];
type SummedCount = Extract<TokenCount, { readonly ofDay: string }>;
type OptionalCount = Exclude<TokenCount, SummedCount>;

export const SUMMED_TOKEN_COUNTS = TOKEN_COUNTS.filter((count) => 'ofDay' in count);

export type SummedTokens<Count> = { readonly [Summed in SummedCount as Summed['name']]: Count };

type OptionalTokens = { readonly [Optional in OptionalCount as Optional['name']]: number | null };

/** The tokens that a request is charged for. */
export type TextTokens = SummedTokens<number> & OptionalTokens;

/** @param read returns the value of a column, or of the count with the name */
export function readSummedTokens<Count>(
  read: (column: SummedCount['column'], name: SummedCount['name']) => Count,
): SummedTokens<Count> {
  return {
    inputTokens: read('input_tokens', 'inputTokens'),
    cacheReadTokens: read('cache_read_tokens', 'cacheReadTokens'),
    cacheWriteTokens: read('cache_write_tokens', 'cacheWriteTokens'),
    cacheWrite1hTokens: read('cache_write_1h_tokens', 'cacheWrite1hTokens'),
    outputTokens: read('output_tokens', 'outputTokens'),
  };
}

/** The same for the counts that may be null. */
function readOptionalTokens(
  read: (column: OptionalCount['column'], name: OptionalCount['name']) => number | null,
): OptionalTokens {
  return {
    reasoningTokens: read('reasoning_tokens', 'reasoningTokens'),
  };
}

/** The columns of the counts in a row of sums, and of `text_requests`. */
export type SummedTokensRow = Readonly<Record<SummedCount['column'], string>>;
export type TokensRow = Readonly<Record<TokenCount['column'], string | null>>;

export function readTokens(row: TokensRow): TextTokens {
  return {
    ...readSummedTokens((column) => Number(row[column])),
    ...readOptionalTokens((column) => (row[column] === null ? null : Number(row[column]))),
  };
}

/**
 * A count that upstreams report. `inputTotal` includes `cacheRead` and `cacheWrite`, which includes `cacheWrite1h`;
 * `outputTotal` includes `reasoning`.
 */
type ReportedCount = 'inputTotal' | 'cacheRead' | 'cacheWrite' | 'cacheWrite1h' | 'outputTotal' | 'reasoning';

/** Token counts as an upstream reported them; null if not reported. Formats that count differently convert them. */
export type ReportedUsage = { readonly [Name in ReportedCount]: number | null };

/** Makes a usage count by count. */
export function usageOf(read: (name: ReportedCount) => number | null): ReportedUsage {
  return {
    inputTotal: read('inputTotal'),
    cacheRead: read('cacheRead'),
    cacheWrite: read('cacheWrite'),
    cacheWrite1h: read('cacheWrite1h'),
    outputTotal: read('outputTotal'),
    reasoning: read('reasoning'),
  };
}

/** The token counts that a client gets: always the totals, and the cached tokens only if the upstream reported them. */
export function reportedUsage(tokens: TextTokens, reported: ReportedUsage | null): ReportedUsage {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, reasoningTokens } = tokens;
  return {
    inputTotal: inputTokens,
    cacheRead: (reported?.cacheRead ?? null) === null ? null : cacheReadTokens,
    cacheWrite: (reported?.cacheWrite ?? null) === null ? null : cacheWriteTokens,
    cacheWrite1h: (reported?.cacheWrite1h ?? null) === null ? null : cacheWrite1hTokens,
    outputTotal: outputTokens,
    reasoning: reasoningTokens,
  };
}

/** Returns the totals with their reported parts. A part is cut to its total. */
export function tokensOf(usage: ReportedUsage | null, inputTokens: number, outputTokens: number): TextTokens {
  const cacheReadTokens = clampCount(usage?.cacheRead, inputTokens) ?? 0;
  const cacheWriteTokens = clampCount(usage?.cacheWrite, inputTokens - cacheReadTokens) ?? 0;
  const cacheWrite1hTokens = clampCount(usage?.cacheWrite1h, cacheWriteTokens) ?? 0;
  const reasoningTokens = clampCount(usage?.reasoning, outputTokens);
  return { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, reasoningTokens };
}

export function sumTokens(calls: readonly TextTokens[]): TextTokens {
  return calls.reduce((sum, call) => ({
    ...readSummedTokens((_column, name) => sum[name] + call[name]),
    ...readOptionalTokens((_column, name) => addCounts(sum[name], call[name])),
  }));
}

/** A count that only one has is the sum. */
export function addCounts(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}

/** Returns a reported count, at most `max`; null for any other value. */
export function clampCount(count: number | null | undefined, max: number): number | null {
  const isCount = count !== null && count !== undefined && Number.isSafeInteger(count) && count >= 0;
  return isCount ? Math.min(count, max) : null;
}
