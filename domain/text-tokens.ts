/**
 * The counts of a text request that its price depends on, defined once: tokens, the characters and seconds of voice, and
 * searches of the web and of documents.
 * The API, the exports, the sums by day and the console derive their columns from the list. How to add a count:
 * `docs/changing-it.md`.
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
    name: 'audioInputTokens',
    column: 'audio_input_tokens',
    ofRequest: 'The part of `input_tokens` that is audio, cached or not',
    ofDay: 'The part of `input_tokens` that is audio, cached or not',
  },
  {
    name: 'audioCacheReadTokens',
    column: 'audio_cache_read_tokens',
    ofRequest: 'The part of `cache_read_tokens` that is audio',
    ofDay: 'The part of `cache_read_tokens` that is audio',
  },
  {
    name: 'audioOutputTokens',
    column: 'audio_output_tokens',
    ofRequest: 'The part of `output_tokens` that is audio',
    ofDay: 'The part of `output_tokens` that is audio',
  },
  {
    name: 'characters',
    column: 'characters',
    ofRequest: 'The characters of the text to speak',
    ofDay: 'The characters of the text to speak',
  },
  {
    name: 'audioSeconds',
    column: 'audio_seconds',
    ofRequest: 'The seconds of audio that were spoken or transcribed, rounded up',
    ofDay: 'The seconds of audio that were spoken or transcribed, each request rounded up',
  },
  {
    name: 'webSearches',
    column: 'web_searches',
    ofRequest: 'The searches of the web that the answer needed',
    ofDay: 'The searches of the web that answers needed',
  },
  {
    name: 'searchUnits',
    column: 'search_units',
    ofRequest: 'The searches by which documents were ranked',
    ofDay: 'The searches by which documents were ranked',
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
    audioInputTokens: read('audio_input_tokens', 'audioInputTokens'),
    audioCacheReadTokens: read('audio_cache_read_tokens', 'audioCacheReadTokens'),
    audioOutputTokens: read('audio_output_tokens', 'audioOutputTokens'),
    characters: read('characters', 'characters'),
    audioSeconds: read('audio_seconds', 'audioSeconds'),
    webSearches: read('web_searches', 'webSearches'),
    searchUnits: read('search_units', 'searchUnits'),
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
 * `outputTotal` includes `reasoning`. `audioInput`, of which `audioCacheRead` is a part, and `audioOutput` are the audio
 * in `inputTotal`, `cacheRead` and `outputTotal`. `webSearches` are no tokens.
 */
type ReportedCount =
  | 'inputTotal'
  | 'cacheRead'
  | 'cacheWrite'
  | 'cacheWrite1h'
  | 'outputTotal'
  | 'reasoning'
  | 'audioInput'
  | 'audioCacheRead'
  | 'audioOutput'
  | 'webSearches';

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
    audioInput: read('audioInput'),
    audioCacheRead: read('audioCacheRead'),
    audioOutput: read('audioOutput'),
    webSearches: read('webSearches'),
  };
}

/**
 * The token counts that a client gets: always the totals, audio that the gateway counted, and other parts only if the
 * upstream reported them.
 */
export function reportedUsage(tokens: TextTokens, reported: ReportedUsage | null): ReportedUsage {
  const ifReported = (name: ReportedCount, count: number): number | null =>
    (reported?.[name] ?? null) === null ? null : count;
  return {
    inputTotal: tokens.inputTokens,
    cacheRead: ifReported('cacheRead', tokens.cacheReadTokens),
    cacheWrite: ifReported('cacheWrite', tokens.cacheWriteTokens),
    cacheWrite1h: ifReported('cacheWrite1h', tokens.cacheWrite1hTokens),
    outputTotal: tokens.outputTokens,
    reasoning: tokens.reasoningTokens,
    audioInput: ifReported('audioInput', tokens.audioInputTokens) ?? (tokens.audioInputTokens || null),
    audioCacheRead: ifReported('audioCacheRead', tokens.audioCacheReadTokens),
    audioOutput: ifReported('audioOutput', tokens.audioOutputTokens) ?? (tokens.audioOutputTokens || null),
    webSearches: ifReported('webSearches', tokens.webSearches),
  };
}

/** Returns the totals with their reported parts, without voice and searches. A part is cut to its total. */
export function tokensOf(usage: ReportedUsage | null, inputTokens: number, outputTokens: number): TextTokens {
  const cacheReadTokens = clampCount(usage?.cacheRead, inputTokens) ?? 0;
  const cacheWriteTokens = clampCount(usage?.cacheWrite, inputTokens - cacheReadTokens) ?? 0;
  const cacheWrite1hTokens = clampCount(usage?.cacheWrite1h, cacheWriteTokens) ?? 0;
  const uncached = inputTokens - cacheReadTokens - cacheWriteTokens;
  const audioInputTokens = clampCount(usage?.audioInput, uncached + cacheReadTokens) ?? 0;
  const maxCachedAudio = Math.min(audioInputTokens, cacheReadTokens);
  // More audio than uncached tokens: the rest was read from the cache, even if the upstream does not report it.
  const minCachedAudio = Math.max(audioInputTokens - uncached, 0);
  return {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    outputTokens,
    reasoningTokens: clampCount(usage?.reasoning, outputTokens),
    audioInputTokens,
    audioCacheReadTokens: Math.max(clampCount(usage?.audioCacheRead, maxCachedAudio) ?? 0, minCachedAudio),
    audioOutputTokens: clampCount(usage?.audioOutput, outputTokens) ?? 0,
    characters: 0,
    audioSeconds: 0,
    webSearches: 0,
    searchUnits: 0,
  };
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
