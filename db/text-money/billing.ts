/**
 * The interface between serving text and its payment. A text request holds the estimated price before its model is
 * called, and settles the actual usage afterwards, exactly once.
 */
import type { AccountBudget } from '../../domain/budget.ts';
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
import type { AnsweredLine, Measured } from './settlement.ts';

/** The properties of a text model that determine payment. */
export interface BilledModel extends TextTerms {
  readonly id: string;
  readonly family: string;
  /** Tokens are free of charge. Free models have a request limit per account (contract 8.3). */
  readonly free: boolean;
  /** Signup credit cannot pay for the model. */
  readonly fundedOnly: boolean;
  /** The account must have topped up. */
  readonly requiresTopUp: boolean;
}

/** A request that is not yet counted against its key's limit. */
export interface UncountedRequest {
  /** The requests per minute that the key may make. */
  readonly limit: number;
  /** Called when the request was counted, whether or not it is within the limit. */
  counted(window: RequestWindow): void;
  /** Counts the request without a hold. @throws ServiceError 429 if the request exceeds the limit */
  count(): Promise<void>;
}

export interface TextMoneyMetrics {
  /** @param upstream the upstream that reported more tokens than possible */
  usageClamped(upstream: string): void;
  /** @param upstream the upstream that did not answer in time, and may have generated an answer that nobody pays for */
  textPossiblyLost(upstream: string, listPrice: PicoUsd): void;
  /** @param amount the allowances of a dead process, including its uncharged requests */
  textUnsettled(amount: PicoUsd): void;
}

/** The facts about a request that are known before its model is called. */
export interface TextCharge extends TextEstimate {
  readonly caller: Caller;
  readonly model: BilledModel;
  /** The version of the catalogue that has the model. */
  readonly catalogueVersion: string;
  /** The version of the customer's price list that sets the prices; null for the catalogue's prices. */
  readonly priceList: string | null;
  /** The end user whom the request names, as cut by `endUserName`; null for none. */
  readonly endUser: string | null;
  /** The budgets towards which the request counts, in the order of their ids. */
  readonly budgets: readonly AccountBudget[];
  /** The batch that the request belongs to; null for a direct request. */
  readonly batchId: string | null;
  readonly format: RequestFormatName;
  readonly streamed: boolean;
  readonly requestId: string;
  /** The request to count with its hold; null if it was counted before. */
  readonly uncounted: UncountedRequest | null;
}

/** An attempt that failed after its upstream reported usage or sent output. */
export interface FailedAttempt extends CallConsumption {
  readonly upstream: { readonly provider: string; readonly model: string };
}

/** The outcome of a request. */
export interface TextOutcome extends TextConsumption, Measured {
  /** The client's error code, if `failed`. */
  readonly errorCode: string | null;
  readonly upstream: { readonly provider: string; readonly format: UpstreamFormatName; readonly model: string } | null;
  /** The usage of failed attempts, for which the vendor may bill the operator. The client does not pay for it. */
  readonly failedAttempts: readonly FailedAttempt[];
  /** The line of a batch that the request answers. */
  readonly batchLine?: AnsweredLine | undefined;
}

export interface TextHold {
  /** The id of the text request in usage and in the ledger. */
  readonly textRequestId: string;
  /** The output limit of each answer that the hold covers and the upstream must get; null if none is needed. */
  readonly maxOutputTokens: number | null;
  /**
   * Holds the highest price of another prompt of the request, before it is sent. The settlement of the request releases it.
   *
   * @returns whether the money is held; nothing is held otherwise
   */
  holdPrompt(inputTokens: number): Promise<boolean>;
  /** Returns the charged usage of a call's complete answer, which the client also gets. */
  readonly charged: (consumption: CallConsumption) => ReportedUsage;
  /**
   * Turns the hold into a charge, or releases it. Must be called exactly once, in a `finally`. Never throws. Resolves
   * when the charge is recorded; the answer does not wait for the promise.
   */
  settle(outcome: TextOutcome): Promise<void>;
  /** Releases the hold of a request that never started, of which nothing is recorded. Call it instead of `settle`. */
  release(): void;
}

export interface TextBilling {
  /**
   * Checks the key and the account again, and holds the highest price that the request can reach. A request without an
   * output limit gets a limit that leaves money for other requests.
   *
   * @throws ServiceError 401 `invalid_api_key`, 402 `insufficient_credits`, 403 `forbidden`, 429 `rate_limit_exceeded`,
   *   503 `processing_unavailable`
   */
  hold(charge: TextCharge): Promise<TextHold>;
}
