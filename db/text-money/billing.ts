/**
 * The seam between serving text and paying for it. A text request holds an estimate before its model is called and settles
 * the real usage after, exactly once, whatever happens in between.
 */
import type { TextConsumption, TextEstimate, TextTerms } from '../../domain/text-price.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import type { Caller } from '../queries/api-keys.ts';

/** What money has to know of a text model. */
export interface BilledModel extends TextTerms {
  readonly id: string;
  /** No cost per token; its own rate limit (contract 8.3). */
  readonly free: boolean;
  /** Signup credit does not pay for it. */
  readonly fundedOnly: boolean;
  /** Refused on an account that never topped up. */
  readonly requiresTopUp: boolean;
}

/** What is known before the model is called. */
export interface TextCharge extends TextEstimate {
  readonly caller: Caller;
  readonly model: BilledModel;
  readonly format: WireFormatName;
  readonly streamed: boolean;
  readonly requestId: string;
}

/** How a request ended. */
export interface TextOutcome extends TextConsumption {
  /** The code that the client got, on `failed`. */
  readonly errorCode: string | null;
  readonly upstream: { readonly provider: string; readonly format: WireFormatName; readonly model: string } | null;
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
