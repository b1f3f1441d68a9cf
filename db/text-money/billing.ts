/**
 * The interface between serving text and paying for it. A text request holds an estimate before its model is called,
 * and settles the actual usage afterwards, exactly once.
 */
import type { EndUserBudget } from '../../domain/end-user.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type {
  CallConsumption,
  ReportedUsage,
  TextConsumption,
  TextEstimate,
  TextTerms,
} from '../../domain/text-price.ts';
import type { RequestFormatName, UpstreamFormatName } from '../../domain/wire-format-name.ts';
import type { Caller } from '../queries/api-keys.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import type { Measured } from './settlement.ts';

/** The properties of a text model that determine payment. */
export interface BilledModel extends TextTerms {
  readonly id: string;
  readonly family: string;
  /** Tokens are free of charge; limited by its own rate (contract 8.3). */
  readonly free: boolean;
  /** Signup credit cannot pay for it. */
  readonly fundedOnly: boolean;
  /** Requires that the account has topped up. */
  readonly requiresTopUp: boolean;
}

/** A request that has yet to be counted against its key's limit. */
export interface UncountedRequest {
  /** The requests per minute that the key may make. */
  readonly limit: number;
  /** Called when it was counted, whether or not it is within the limit. */
  counted(window: RequestWindow): void;
  /** Counts it on its own. @throws ServiceError 429 if it is beyond the limit */
  count(): Promise<void>;
}

export interface TextMoneyMetrics {
  /** @param upstream that reported more tokens than it can have used */
  usageClamped(upstream: string): void;
  /** @param upstream that did not answer in time, and may have generated an answer that nobody pays for */
  textPossiblyLost(upstream: string, listPrice: PicoUsd): void;
  /** @param amount the allowances of a dead process, with all that it had not charged */
  textUnsettled(amount: PicoUsd): void;
}

/** Known before the model is called. */
export interface TextCharge extends TextEstimate {
  readonly caller: Caller;
  readonly model: BilledModel;
  /** The version of the catalogue that has the model. */
  readonly catalogueVersion: string;
  /** The version of the customer's price list, whose prices the model has; null for those of the catalogue. */
  readonly priceList: string | null;
  /** The end user whom the request names, as usage knows them; null for none. */
  readonly endUser: string | null;
  /** The budget of that end user; null for none. */
  readonly budget: EndUserBudget | null;
  readonly format: RequestFormatName;
  readonly streamed: boolean;
  readonly requestId: string;
  /** To be counted with its hold; null if it was counted before. */
  readonly uncounted: UncountedRequest | null;
}

/** An attempt that failed after its upstream had reported usage, or sent output. */
export interface FailedAttempt extends CallConsumption {
  readonly upstream: { readonly provider: string; readonly model: string };
}

/** The outcome of a request. */
export interface TextOutcome extends TextConsumption, Measured {
  /** The error code that the client got, if `failed`. */
  readonly errorCode: string | null;
  readonly upstream: { readonly provider: string; readonly format: UpstreamFormatName; readonly model: string } | null;
  /** What attempts used that failed: the operator may be billed for it, and the client is not. */
  readonly failedAttempts: readonly FailedAttempt[];
}

export interface TextHold {
  /** The text request's id in usage and ledger. */
  readonly textRequestId: string;
  /** The limit on each answer's output that the hold covers and the upstream must get. Null if it needs none. */
  readonly maxOutputTokens: number | null;
  /** The usage that the complete answer to a call is charged for, and that its client is told. */
  readonly charged: (consumption: CallConsumption) => ReportedUsage;
  /**
   * Turns the hold into a charge, or returns it. Must be called exactly once, in a `finally`. Never throws. Resolves when
   * the charge is recorded; an answer does not wait for that.
   */
  settle(outcome: TextOutcome): Promise<void>;
}

export interface TextBilling {
  /**
   * Checks the key and the account again, and holds the highest price that the request may reach. A request without an
   * output limit gets one that leaves room for others.
   *
   * @throws ServiceError 401 `invalid_api_key`, 402 `insufficient_credits`, 403 `forbidden`, 429 `rate_limit_exceeded`,
   *   503 `processing_unavailable`
   */
  hold(charge: TextCharge): Promise<TextHold>;
}
