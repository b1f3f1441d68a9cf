/**
 * The seam between serving text and paying for it. A text request holds an estimate before its model is called and settles
 * the real usage after, exactly once, whatever happens in between.
 */
import type { TextFormat, TextModel } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';

/** What is known before the model is called. */
export interface TextCharge {
  readonly caller: Caller;
  readonly model: TextModel;
  readonly format: TextFormat;
  readonly streamed: boolean;
  readonly requestId: string;
  /** The moment that decides about peaks: the start of the request, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Counted by the gateway, for where the upstream will not report the input. */
  readonly estimatedInputTokens: number;
  /** What the upstream may report at most. */
  readonly mostInputTokens: number;
  /** The request's own bound of each answer, or null where it sets none. */
  readonly maxOutputTokens: number | null;
  /** How many answers it asks for. */
  readonly choiceCount: number;
}

/** Token counts as the upstream reported them; inclusive, as in `text/canonical.ts`. Null where it reported none. */
export interface ReportedUsage {
  readonly inputTotal: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly outputTotal: number | null;
  readonly reasoning: number | null;
}

/** How a request ended. */
export interface TextOutcome {
  /**
   * `succeeded`: a whole answer; `disconnected`: the client left, what was produced is charged; `failed`: nothing is
   * charged.
   */
  readonly status: 'succeeded' | 'disconnected' | 'failed';
  /** The code that the client got, on `failed`. */
  readonly errorCode: string | null;
  readonly usage: ReportedUsage | null;
  /** What the gateway itself counted, for where the upstream reported nothing. */
  readonly countedOutputTokens: number;
  /** The upstream that answered, if any. */
  readonly upstream: { readonly provider: string; readonly format: TextFormat } | null;
  readonly latencyMs: number;
  /** Until the first byte of the answer; null when there was none. */
  readonly firstByteMs: number | null;
}

export interface TextHold {
  /** The text request's id in usage and ledger. */
  readonly textRequestId: string;
  /** What is held for: the bound of each answer that the upstream has to be given. Null where it need not have any. */
  readonly maxOutputTokens: number | null;
  /**
   * Turns the hold into the charge, or gives it back. Must be called exactly once, in a `finally`. Never throws: what cannot
   * be written now is kept and tried again, and what a dead process leaves behind is released by a sweep.
   */
  settle(outcome: TextOutcome): Promise<void>;
}

export interface TextBilling {
  /**
   * Checks the key and the account again and holds the price of all that the request may cost. One that sets no bound of its
   * own is given one, which leaves room for others.
   *
   * @throws ServiceError 401 `invalid_api_key`, 402 `insufficient_credits`, 403 `forbidden`, 429 `rate_limit_exceeded`
   */
  hold(charge: TextCharge): Promise<TextHold>;
}
