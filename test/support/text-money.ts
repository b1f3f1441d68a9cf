/** Text requests as the ledger sees them; what a test does not care about has a default. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import {
  createTextLedger,
  type NewTextHold,
  type TextLedger,
  type TextSettlement,
} from '../../db/text-money/ledger.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';

export const CATALOGUE_VERSION = 'test';

/** A ledger as a process of its own has it. */
export function openTextLedger(url: string, { processId = randomUUID(), poolSize = 4 } = {}): TextLedger {
  return createTextLedger({
    url,
    poolSize,
    processId,
    freeRequestsPerMinute: { neverToppedUp: 1, toppedUp: 10 },
  });
}

export interface HoldSettings extends Partial<NewTextHold> {
  /** For all three. */
  readonly amount?: bigint;
}

/** A hold of 1,000 pico-USD for a model that everybody with money may call. */
export function newHold(
  key: Pick<ApiKey, 'id' | 'accountId'>,
  { amount = 1_000n, ...settings }: HoldSettings = {},
): NewTextHold {
  const id = settings.id ?? newId('textRequest');
  return {
    id,
    reservationId: newId('transfer'),
    accountId: key.accountId,
    apiKeyId: key.id,
    leastAmount: amount,
    usualAmount: amount,
    mostAmount: amount,
    free: false,
    fundedOnly: false,
    needsTopUp: true,
    requestLimit: null,
    createdAt: new Date(createdAtMsOf('textRequest', id)),
    requestId: newId('request'),
    model: 'textc-M3',
    format: 'chat-completions',
    streamed: false,
    catalogueVersion: CATALOGUE_VERSION,
    ...settings,
  };
}

/** A request to a free model. */
export function newFreeHold(key: Pick<ApiKey, 'id' | 'accountId'>, settings: HoldSettings = {}): NewTextHold {
  return newHold(key, { amount: 0n, free: true, needsTopUp: false, model: 'textk-5.3-free', ...settings });
}

/** The end of a request that used 600 pico-USD. */
export function settlementOf(hold: NewTextHold, settings: Partial<TextSettlement> = {}): TextSettlement {
  return {
    hold,
    resolutionId: newId('transfer'),
    excessId: newId('transfer'),
    absorbedId: newId('transfer'),
    outcome: 'succeeded',
    errorCode: null,
    charge: 600n,
    modifiers: [],
    inputTokens: 10,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 20,
    reasoningTokens: null,
    calls: 1,
    estimated: false,
    upstream: { provider: 'simulator', format: 'chat-completions', model: 'textc-M3' },
    latencyMs: 12,
    firstByteMs: 3,
    givesSlotBack: false,
    ...settings,
  };
}

/** The end of a request that cost nothing. */
export function failureOf(hold: NewTextHold): TextSettlement {
  return settlementOf(hold, { outcome: 'failed', errorCode: 'processing_failed', charge: 0n, givesSlotBack: true });
}

/** A row of the usage, money as integers. */
export interface UsageRow {
  readonly outcome: string;
  readonly held: bigint;
  readonly charge: bigint;
  readonly excess: bigint;
  readonly absorbed: bigint;
}

/** The usage of a request; null when it has not ended. */
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

/** The kinds and amounts of a request's transfers, in the order in which they were made. */
export async function transfersOf(database: Database, { id }: Pick<NewTextHold, 'id'>): Promise<[string, number][]> {
  const rows = await database<{ kind: string; amount: string }>('transfers')
    .where('text_request_id', id)
    .orderByRaw(
      `created_at, array_position(ARRAY['reservation', 'settlement', 'refund', 'excess', 'absorbed_loss'], kind)`,
    )
    .select('kind', 'amount');
  return rows.map(({ kind, amount }) => [kind, Number(amount)]);
}
