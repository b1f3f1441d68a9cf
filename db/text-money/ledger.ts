/**
 * Runs the statement that takes allowances, returns them and charges completed requests: see
 * `db/functions/write-text.sql`. The ledger has its own connections, whose name shows other processes that this process
 * is alive, even while it sends no heartbeats.
 */
import { type Credit, NO_CREDIT } from '../../domain/allowance.ts';
import type { AccountBudget } from '../../domain/budget.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { HoldAmounts } from '../../domain/text-price.ts';
import type { HoldRefusal } from '../../domain/text-refusal.ts';
import { SERVING_LIMITS } from '../connections.ts';
import { createDatabase, type Database, onlyRow } from '../database.ts';
import { settlementsLiteral, type TextRequestRow, type TextSettlement } from './settlement.ts';

/** A hold to make before a model is called. */
export interface NewTextHold extends TextRequestRow, HoldAmounts {
  /** Uses one of the account's slots for free models. */
  readonly free: boolean;
  /** The account must have topped up. */
  readonly isTopUpRequired: boolean;
  /** The key's limit of requests per minute; null if there is no limit or the request was counted before. */
  readonly requestLimit: number | null;
  /** The budgets towards which the request counts. */
  readonly budgets: readonly AccountBudget[];
}

/** A request that waits for the ledger's decision. */
export interface WaitingHold {
  readonly hold: NewTextHold;
  /** When money of other processes was first recalled for this request; null if it was not. */
  readonly recalledSince: string | null;
}

/** The change of one allowance: money to return, and text requests that need money. */
export interface AllowanceRequest {
  /** The allowance's id. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The budgets towards which the money counts; none for an allowance that the ledger knows. */
  readonly budgetIds: readonly string[];
  readonly returned: Credit;
  /** The free money that does not return, in pico-USD. */
  readonly kept: PicoUsd;
  /** The expected need of the next second beyond the holds, in pico-USD; includes `kept`. */
  readonly extra: PicoUsd;
  /** The largest recent hold, in pico-USD. An account with less than fifty times as much gets nothing extra. */
  readonly largest: PicoUsd;
  /** The key's limit of requests per minute; null if requests are not counted. */
  readonly requestLimit: number | null;
  /** The expected need of positions in the minute beyond the waiting requests. */
  readonly extraRequests: number;
  /** Whether this answers a recall: all free money returns. */
  readonly isAnswered: boolean;
  readonly holds: readonly WaitingHold[];
}

/** A request that changes nothing. */
export const UNCHANGED = {
  budgetIds: [],
  returned: NO_CREDIT,
  kept: 0n,
  extra: 0n,
  largest: 0n,
  requestLimit: null,
  extraRequests: 0,
  isAnswered: false,
  holds: [],
} as const satisfies Partial<AllowanceRequest>;

/** One statement. */
export interface TextWrite {
  /** Grows with each write of this process. A repeated write has the same number. */
  readonly number: number;
  readonly allowanceRequests: readonly AllowanceRequest[];
  readonly settlements: readonly TextSettlement[];
  /** Whether settlements may have been written under another number; recorded ones are skipped. */
  readonly mayBeRecorded?: boolean;
  /** Whether to return every allowance of this process. */
  readonly wantsAll?: boolean;
}

/** The decision on a request: a hold, or the reason of its refusal. */
export type TextDecision = {
  /** The position among the key's requests in this minute; null if the write did not count the request. */
  readonly position: number | null;
} & (
  | { readonly refusal: null; readonly held: Credit }
  | {
      readonly refusal: HoldRefusal;
      /** Whether money of other allowances is recalled, so that asking again may succeed. */
      readonly isRecalling: boolean;
      /** The rest of the limit, budget or balance that was too low; null for other refusals. */
      readonly remaining: PicoUsd | null;
      /** The budget that was too low; null for other refusals. */
      readonly budgetId: string | null;
      readonly retryAfterSeconds: number | null;
    }
);

/** The answer to a request for an allowance, besides the decisions on its requests. */
export interface AllowanceAnswer {
  /** Whether the account has so much money that the allowance may keep what its requests do not use. */
  readonly hasPlenty: boolean;
  /** Whether the allowance is at most a hundredth of what its account, key and budgets could spend. */
  readonly isSmall: boolean;
  readonly hasToppedUp: boolean;
  /** Milliseconds for which the money can be spent, until the key expires or a limit renews; null for no end. */
  readonly validMs: number | null;
  /** The positions in this minute that this process may assign; null for none. */
  readonly places: { readonly first: number; readonly last: number } | null;
}

/** An allowance in the ledger. */
export interface StoredAllowance {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly total: Credit;
}

/** The outcome of a write. */
export interface WrittenText {
  /** Whether the number was written before. If so, there are no decisions and answers. */
  readonly isRepeated: boolean;
  /** The database's time. */
  readonly at: string;
  /** Milliseconds until the next minute. */
  readonly msLeft: number;
  /** One for each waiting request, in the order of the allowance requests. */
  readonly decisions: readonly TextDecision[];
  /** One for each allowance request, in order. */
  readonly answers: readonly AllowanceAnswer[];
  /** The allowances that the write touched and that still have money; all if `wantsAll`. */
  readonly allowances: readonly StoredAllowance[];
  /** The ids of the allowances to return. */
  readonly recalled: readonly string[];
  /** The sum of all allowances of the process; null unless the write only renewed the lease. */
  readonly sum: PicoUsd | null;
}

export interface TextLedger {
  /** Renews the lease of the process, and writes everything or nothing. */
  write(write: TextWrite): Promise<WrittenText>;
  /** Checks the connection with a round trip. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

export interface TextLedgerOptions {
  /** A PostgreSQL connection URL. */
  readonly url: string;
  readonly poolSize: number;
  /** The id of this process. */
  readonly processId: string;
  /** An account's requests to free models per minute, before and after its first top-up. */
  readonly freeRequestsPerMinute: { readonly neverToppedUp: number; readonly toppedUp: number };
}

/** Refusals that report the remaining amount. */
const SHORTAGES: ReadonlySet<HoldRefusal> = new Set([
  'key_limit',
  'budget_limit',
  'end_user_limit',
  'insufficient_credits',
  'insufficient_funds',
]);

const WRITE = /* sql */ `SELECT write_text(:processId, :number, :asks, :settlements, :mayBeRecorded, :wantsAll,
  :neverToppedUp, :toppedUp) AS written`;

/** The result of `write_text`. */
interface WrittenJson {
  is_repeated: boolean;
  at: string;
  ms_left: number | null;
  decisions: readonly DecisionJson[];
  answers: readonly AnswerJson[];
  allowances: readonly AllowanceJson[] | null;
  recalled: readonly string[] | null;
  sum: string | null;
}

interface DecisionJson {
  refusal: HoldRefusal | null;
  is_recalling: boolean;
  amount: string;
  signup: string;
  budget_id: string | null;
  retry_after_seconds: number | null;
  position: number | null;
}

interface AnswerJson {
  place: number;
  has_plenty: boolean;
  is_small: boolean | null;
  has_topped_up: boolean;
  valid_ms: number | null;
  first_place: number | null;
  last_place: number | null;
}

interface AllowanceJson {
  id: string;
  account_id: string;
  api_key_id: string;
  amount: string;
  signup: string;
}

/** Connects on demand. */
export function createTextLedger(options: TextLedgerOptions): TextLedger {
  const { url, poolSize, processId } = options;
  const database = createDatabase(url, poolSize, SERVING_LIMITS, { name: connectionName(processId), min: 1 });
  return {
    ...textLedgerOn(database, options),
    ping: async () => database.raw('SELECT 1'),
    close: () => database.destroy(),
  };
}

/** The ledger over connections that serve other statements, too. */
export function textLedgerOn(
  database: Database,
  { processId, freeRequestsPerMinute }: Pick<TextLedgerOptions, 'processId' | 'freeRequestsPerMinute'>,
): Pick<TextLedger, 'write'> {
  return {
    async write({ number, allowanceRequests, settlements, mayBeRecorded = false, wantsAll = false }) {
      const statement = database.raw<{ rows: { written: WrittenJson }[] }>(WRITE, {
        processId,
        number,
        asks: allowanceRequestsJson(allowanceRequests),
        settlements: settlementsLiteral(settlements),
        mayBeRecorded,
        wantsAll,
        ...freeRequestsPerMinute,
      });
      // With a name, each connection prepares the statement once.
      const { rows } = await statement.options({ name: 'write_text' });
      return toWritten(onlyRow(rows).written);
    },
  };
}

/** The name of a process's connections in PostgreSQL. */
export function connectionName(processId: string): string {
  return `genway-text ${processId}`;
}

/** Numbers the allowance requests, and the text requests of all of them. */
function allowanceRequestsJson(allowanceRequests: readonly AllowanceRequest[]): string {
  let place = 0;
  return JSON.stringify(
    allowanceRequests.map((request, index) => {
      const { accountId, apiKeyId, returned, holds } = request;
      return {
        place: index + 1,
        id: request.id,
        taking_id: newId('transfer'),
        release_id: newId('transfer'),
        account_id: accountId,
        api_key_id: apiKeyId,
        budget_ids: request.budgetIds,
        returned_signup: returned.signup.toString(),
        returned_funded: returned.funded.toString(),
        kept: request.kept.toString(),
        extra: request.extra.toString(),
        largest: request.largest.toString(),
        is_answered: request.isAnswered,
        request_limit: request.requestLimit,
        requests: holds.filter(({ hold }) => hold.requestLimit !== null).length,
        extra_requests: request.extraRequests,
        holds: holds.map(({ hold, recalledSince }) => ({
          place: ++place,
          text_request_id: hold.id,
          min_amount: hold.minAmount.toString(),
          usual_amount: hold.usualAmount.toString(),
          max_amount: hold.maxAmount.toString(),
          free: hold.free,
          funded_only: hold.fundedOnly,
          is_top_up_required: hold.isTopUpRequired,
          request_limit: hold.requestLimit,
          recalled_since: recalledSince,
        })),
      };
    }),
  );
}

function toWritten(written: WrittenJson): WrittenText {
  return {
    isRepeated: written.is_repeated,
    at: written.at,
    msLeft: written.ms_left ?? 0,
    decisions: written.decisions.map(toDecision),
    answers: written.answers.toSorted((left, right) => left.place - right.place).map(toAnswer),
    allowances: (written.allowances ?? []).map(toAllowance),
    recalled: written.recalled ?? [],
    sum: written.sum === null ? null : BigInt(written.sum),
  };
}

function toDecision({
  refusal,
  is_recalling,
  amount,
  signup,
  budget_id: budgetId,
  retry_after_seconds,
  position,
}: DecisionJson): TextDecision {
  if (refusal === null) return { refusal, held: toCredit(amount, signup), position };
  const remaining = SHORTAGES.has(refusal) ? BigInt(amount) : null;
  return { refusal, isRecalling: is_recalling, remaining, budgetId, retryAfterSeconds: retry_after_seconds, position };
}

function toAnswer(answer: AnswerJson): AllowanceAnswer {
  const { has_plenty, is_small, has_topped_up, valid_ms, first_place, last_place } = answer;
  const hasPlaces = first_place !== null && last_place !== null && first_place <= last_place;
  const places = hasPlaces ? { first: first_place, last: last_place } : null;
  return {
    hasPlenty: has_plenty,
    isSmall: is_small === true,
    hasToppedUp: has_topped_up,
    validMs: valid_ms,
    places,
  };
}

function toAllowance({ id, account_id, api_key_id, amount, signup }: AllowanceJson): StoredAllowance {
  return { id, accountId: account_id, apiKeyId: api_key_id, total: toCredit(amount, signup) };
}

function toCredit(amount: string, signup: string): Credit {
  return { signup: BigInt(signup), funded: BigInt(amount) - BigInt(signup) };
}
