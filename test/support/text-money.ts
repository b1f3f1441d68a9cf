/** Text requests as the ledger sees them; values without meaning for a test have defaults. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import type { UnpaidSettlement } from '../../db/text-money/allowances.ts';
import {
  UNCHANGED,
  type AllowanceRequest,
  createTextLedger,
  type NewTextHold,
  type TextWrite,
  type WrittenText,
} from '../../db/text-money/ledger.ts';
import type { Measured, TextSettlement, FailedAttemptUsage } from '../../db/text-money/settlement.ts';
import { amountOf, type Credit, NO_CREDIT, subtract, allocateCredit } from '../../domain/allowance.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { ConsumptionPrice } from '../../domain/text-price.ts';
import type { RefusedHold } from '../../domain/text-refusal.ts';
import { type TextTokens, tokensOf } from '../../domain/text-tokens.ts';

export const CATALOGUE_VERSION = 'test';

/** The decision on a request, without the fields for processes. */
export type Decision = Omit<RefusedHold, 'budgetId'> | { readonly refusal: null; readonly amount: PicoUsd };

/** A text process that requests an allowance for every text request, and releases the unused rest at once. */
export interface TestLedger {
  readonly processId: string;
  hold(holds: readonly NewTextHold[]): Promise<readonly Decision[]>;
  settle(settlements: readonly UnpaidSettlement[]): Promise<void>;
  /** Holds and settles in one statement. */
  write(work: { holds: readonly NewTextHold[]; settlements: readonly UnpaidSettlement[] }): Promise<WrittenText>;
  /** Sends a write unchanged. @param write numbered, if it is sent again */
  send(write: Partial<TextWrite>): Promise<WrittenText>;
  close(): Promise<void>;
}

/** The owner of an allowance. In tests the row of a settlement is a hold, with its budgets, though its type omits them. */
type Owner = Pick<NewTextHold, 'accountId' | 'apiKeyId'> & Partial<Pick<NewTextHold, 'budgets'>>;

/** A ledger of a separate process. */
export function openTextLedger(url: string, { processId = randomUUID(), poolSize = 2 } = {}): TestLedger {
  const ledger = createTextLedger({
    url,
    poolSize,
    processId,
    freeRequestsPerMinute: { neverToppedUp: 1, toppedUp: 10 },
  });
  const allowanceIds = new Map<string, string>();
  const held = new Map<string, Credit>();
  let lastNumber = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** One write after the other, as the numbers require. */
  function send(write: Partial<TextWrite>): Promise<WrittenText> {
    lastNumber = Math.max(lastNumber + 1, write.number ?? 0);
    const numbered = { allowanceRequests: [], settlements: [], number: lastNumber, ...write };
    const next = last.then(() => ledger.write(numbered));
    last = next.catch(() => undefined);
    return next;
  }

  function allowanceRequestOf({ accountId, apiKeyId, budgets = [] }: Owner): AllowanceRequest {
    const budgetIds = budgets.map(({ id }) => id);
    const name = [accountId, apiKeyId, ...budgetIds].join(' ');
    const id = allowanceIds.get(name) ?? newId('allowance');
    allowanceIds.set(name, id);
    return newAllowanceRequest({ id, accountId, apiKeyId, budgetIds });
  }

  async function write({
    holds,
    settlements,
  }: {
    holds: readonly NewTextHold[];
    settlements: readonly UnpaidSettlement[];
  }): Promise<WrittenText> {
    const paid = settlements.map((settlement) => pay(settlement, allowanceRequestOf(settlement.hold).id, held));
    const allowanceRequests = [
      ...new Map(holds.map((hold) => [allowanceRequestOf(hold).id, allowanceRequestOf(hold)])).values(),
    ].map((request) => ({
      ...request,
      requestLimit: holds.find((hold) => allowanceRequestOf(hold).id === request.id)?.requestLimit ?? null,
      holds: holds
        .filter((hold) => allowanceRequestOf(hold).id === request.id)
        .map((hold) => ({ hold, recalledSince: null })),
    }));
    const returns = paid.flatMap(({ returned, settlement: { hold } }) =>
      amountOf(returned) === 0n ? [] : [{ ...allowanceRequestOf(hold), returned }],
    );
    // The next write is the first that can hold a released amount.
    const written = await send({ allowanceRequests, settlements: paid.map(({ settlement }) => settlement) });
    if (returns.length > 0) await send({ allowanceRequests: returns });
    const decided = new Map(
      allowanceRequests
        .flatMap(({ holds: requested }) => requested)
        .map(({ hold }, index) => [hold.id, written.decisions[index]]),
    );
    const decisions = holds.flatMap(({ id }) => decided.get(id) ?? []);
    decisions.forEach((decision, index) => {
      const hold = holds[index];
      if (decision.refusal === null && hold) held.set(hold.id, decision.held);
    });
    return { ...written, decisions };
  }

  return {
    processId,
    send,
    write,
    hold: async (holds) =>
      (await write({ holds, settlements: [] })).decisions.map((decision) =>
        decision.refusal === null
          ? { refusal: null, amount: amountOf(decision.held) }
          : {
              refusal: decision.refusal,
              remaining: decision.remaining,
              retryAfterSeconds: decision.retryAfterSeconds,
            },
      ),
    settle: async (settlements) => {
      await write({ holds: [], settlements });
    },
    close: () => ledger.close(),
  };
}

/** A request for more money that changes nothing. */
export function newAllowanceRequest(
  settings: Pick<AllowanceRequest, 'id' | 'accountId' | 'apiKeyId'> & Partial<AllowanceRequest>,
) {
  return { ...UNCHANGED, ...settings } satisfies AllowanceRequest;
}

function pay(unpaid: UnpaidSettlement, id: string, held: Map<string, Credit>) {
  const {
    hold,
    price: { charge },
  } = unpaid;
  const credit = held.get(hold.id) ?? NO_CREDIT;
  held.delete(hold.id);
  const amount = charge < amountOf(credit) ? charge : amountOf(credit);
  const paid = allocateCredit(credit, amount, { fundedOnly: false });
  const settlement: TextSettlement = { ...unpaid, allowanceId: amount > 0n ? id : null, held: amountOf(credit), paid };
  return { settlement, returned: subtract(credit, paid) };
}

export interface HoldSettings extends Partial<NewTextHold> {
  /** For all three. */
  readonly amount?: bigint;
}

/** A hold of 1,000 pico-USD for a model that every account with a balance may call. */
export function newHold(
  key: Pick<ApiKey, 'id' | 'accountId'>,
  { amount = 1_000n, ...settings }: HoldSettings = {},
): NewTextHold {
  const id = settings.id ?? newId('textRequest');
  return {
    id,
    accountId: key.accountId,
    apiKeyId: key.id,
    minAmount: amount,
    usualAmount: amount,
    maxAmount: amount,
    free: false,
    fundedOnly: false,
    isTopUpRequired: true,
    requestLimit: null,
    createdAt: new Date(createdAtMsOf('textRequest', id)),
    requestId: newId('request'),
    model: 'textc-M3',
    format: 'chat-completions',
    streamed: false,
    catalogueVersion: CATALOGUE_VERSION,
    priceList: null,
    endUser: null,
    batchId: null,
    budgets: [],
    ...settings,
  };
}

/** A request to a free model. */
export function newFreeHold(key: Pick<ApiKey, 'id' | 'accountId'>, settings: HoldSettings = {}): NewTextHold {
  return newHold(key, { amount: 0n, free: true, isTopUpRequired: false, model: 'textk-5.3-free', ...settings });
}

export const MEASURED: Measured = { latencyMs: 12, firstByteMs: 3 };

const TOKENS = tokensOf(null, 10, 20);

export interface SettlementSettings extends Partial<UnpaidSettlement> {
  readonly charge?: bigint;
  readonly modifiers?: ConsumptionPrice['modifiers'];
  readonly tokens?: Partial<TextTokens>;
}

/** The end of a request that used 600 pico-USD. */
export function settlementOf(
  hold: NewTextHold,
  { charge = 600n, modifiers = [], tokens, ...settings }: SettlementSettings = {},
): UnpaidSettlement {
  return {
    hold,
    price: { charge, modifiers, tokens: { ...TOKENS, ...tokens }, calls: 1, estimated: false, clamped: false },
    chargeId: newId('transfer'),
    outcome: 'succeeded',
    errorCode: null,
    upstream: { provider: 'simulator', format: 'chat-completions', model: 'textc-M3' },
    failedAttempts: [],
    measured: MEASURED,
    releasesSlot: false,
    batchLine: null,
    ...settings,
  };
}

/** An attempt that failed after this many tokens. */
export function usedInVain(settings: Partial<FailedAttemptUsage> = {}): FailedAttemptUsage {
  return {
    upstream: { provider: 'simulator', model: 'textc-M3' },
    ...TOKENS,
    estimated: false,
    ...settings,
  };
}

/** The end of a request that cost nothing. */
export function failureOf(hold: NewTextHold, settings: SettlementSettings = {}): UnpaidSettlement {
  const failed = { outcome: 'failed', errorCode: 'processing_failed', charge: 0n, releasesSlot: true } as const;
  return settlementOf(hold, { ...failed, ...settings });
}

/** A row of the usage, money as integers. */
export interface UsageRow {
  readonly outcome: string;
  readonly held: bigint;
  readonly charge: bigint;
  readonly excess: bigint;
  readonly absorbed: bigint;
}

/** The usage of a request; null if it has not ended. */
export async function usageOf(database: Database, { id }: Pick<NewTextHold, 'id'>): Promise<UsageRow | null> {
  const row = await database<Record<keyof UsageRow, string>>('text_requests')
    .where('id', id)
    .first('outcome', 'held', 'charge', 'excess', 'absorbed');
  if (!row) return null;
  return {
    outcome: row.outcome,
    held: BigInt(row.held),
    charge: BigInt(row.charge),
    excess: BigInt(row.excess),
    absorbed: BigInt(row.absorbed),
  };
}

/** The kinds and amounts of a request's transfers, in the order of creation. */
export async function transfersOf(database: Database, { id }: Pick<NewTextHold, 'id'>): Promise<[string, number][]> {
  const rows = await database<{ kind: string; amount: string }>('transfers')
    .where('text_request_id', id)
    .orderByRaw(`created_at, array_position(ARRAY['charge', 'excess', 'absorbed_loss'], kind)`)
    .select('kind', 'amount');
  return rows.map(({ kind, amount }) => [kind, Number(amount)]);
}
