/**
 * The money of text requests, many requests per statement: see `db/functions/write-text.ts`. It has its own connections and uses them
 * without a query builder, because every text request passes through here twice.
 */
import { Pool } from 'pg';
import type { PicoUsd } from '../../domain/money.ts';
import type { AppliedModifier } from '../../domain/pricing.ts';
import type { ConsumptionPrice, HoldAmounts } from '../../domain/text-price.ts';
import type { HoldRefusal, RefusedHold } from '../../domain/text-refusal.ts';
import { connectionConfig, SERVING_LIMITS, watchConnection } from '../connections.ts';
import { placesOf, type RequestWindow } from '../queries/request-windows.ts';

/** The facts about a request that are known when it starts. */
export interface TextRequestRow {
  /** The text request's id. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Signup credit cannot pay for it. */
  readonly fundedOnly: boolean;
  /** When the request began. */
  readonly createdAt: Date;
  readonly requestId: string;
  readonly model: string;
  readonly format: string;
  readonly streamed: boolean;
  /** Names the prices, and is kept with the request. */
  readonly catalogueVersion: string;
}

/** A hold to be made before a model is called. */
export interface NewTextHold extends TextRequestRow, HoldAmounts {
  readonly reservationId: string;
  /** Uses one of the account's slots for free models. */
  readonly free: boolean;
  /** Requires that the account has topped up. */
  readonly needsTopUp: boolean;
  /** The requests per minute that the key may make, if this one has yet to be counted among them; otherwise null. */
  readonly requestLimit: number | null;
}

/** The hold of a request. */
export interface HeldText {
  readonly refusal: null;
  readonly amount: PicoUsd;
}

/** The outcome and cost of a request. */
export interface TextSettlement extends Omit<ConsumptionPrice, 'clamped'> {
  readonly hold: TextRequestRow;
  /** The id of the settlement or refund. */
  readonly resolutionId: string;
  /** The id of the transfers for a charge above the hold. */
  readonly excessId: string;
  readonly absorbedId: string;
  readonly outcome: 'succeeded' | 'disconnected' | 'failed' | 'abandoned';
  /** If `failed`. */
  readonly errorCode: string | null;
  /** The route of the upstream that answered or failed, if any. */
  readonly upstream: { readonly provider: string; readonly format: string; readonly model: string } | null;
  readonly latencyMs: number | null;
  readonly firstByteMs: number | null;
  /** Whether to return the slot that a free model's request used. */
  readonly givesSlotBack: boolean;
}

/** What one statement writes. */
export interface TextTurn {
  readonly holds: readonly NewTextHold[];
  /** Of other requests. Holds of the next turn can use what these give back. */
  readonly settlements: readonly TextSettlement[];
  /** Whether the same turn was written before and its answer lost: then requests are not counted again. */
  readonly isRepeated?: boolean;
}

/** The outcome of a turn. */
export interface WrittenTurn {
  /** For each hold, in order, the hold or the reason why there is none. */
  readonly decisions: readonly (HeldText | RefusedHold)[];
  /** For each hold, in order, the place of its request among those of the key; null if it was not to be counted. */
  readonly windows: readonly (RequestWindow | null)[];
  /** The ids of the settlements that had no hold. */
  readonly withoutHold: ReadonlySet<string>;
}

export interface TextLedger {
  /** Holds, and ends requests, each once, however often it is called. */
  write(turn: TextTurn): Promise<WrittenTurn>;
  /** Only holds. */
  hold(holds: readonly NewTextHold[]): Promise<WrittenTurn['decisions']>;
  /** Only ends requests. */
  settle(settlements: readonly TextSettlement[]): Promise<WrittenTurn['withoutHold']>;
  /** Ends a request whose hold is gone; does nothing if it has already ended. */
  settleWithoutHold(settlement: TextSettlement): Promise<void>;
  /** Checks the connection with a round trip. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

export interface TextLedgerOptions {
  /** A PostgreSQL connection URL. */
  readonly url: string;
  readonly poolSize: number;
  /** The id of this process: see `db/text-money/processes.ts`. */
  readonly processId: string;
  /** An account's requests to free models per minute, before and after its first top-up. */
  readonly freeRequestsPerMinute: { readonly neverToppedUp: number; readonly toppedUp: number };
}

type ColumnValue = string | number | bigint | boolean | null | undefined;

/** The parameters of `write_text` for holds, each an array over them. */
const HOLD_COLUMNS: readonly ((hold: NewTextHold) => ColumnValue)[] = [
  ({ id }) => id,
  ({ reservationId }) => reservationId,
  ({ accountId }) => accountId,
  ({ apiKeyId }) => apiKeyId,
  ({ leastAmount }) => leastAmount,
  ({ usualAmount }) => usualAmount,
  ({ mostAmount }) => mostAmount,
  ({ free }) => free,
  ({ fundedOnly }) => fundedOnly,
  ({ needsTopUp }) => needsTopUp,
  ({ createdAt }) => createdAt.toISOString(),
  ({ requestId }) => requestId,
  ({ model }) => model,
  ({ format }) => format,
  ({ streamed }) => streamed,
  ({ requestLimit }) => requestLimit,
];

/** The parameters of `write_text` for settlements, each an array over them. */
const SETTLEMENT_COLUMNS: readonly ((settlement: TextSettlement) => ColumnValue)[] = [
  ({ hold }) => hold.id,
  ({ hold }) => hold.accountId,
  ({ resolutionId }) => resolutionId,
  ({ excessId }) => excessId,
  ({ absorbedId }) => absorbedId,
  ({ outcome }) => outcome,
  ({ errorCode }) => errorCode,
  ({ charge }) => charge,
  ({ modifiers }) => modifiersColumn(modifiers),
  ({ inputTokens }) => inputTokens,
  ({ cacheReadTokens }) => cacheReadTokens,
  ({ cacheWriteTokens }) => cacheWriteTokens,
  ({ outputTokens }) => outputTokens,
  ({ reasoningTokens }) => reasoningTokens,
  ({ calls }) => calls,
  ({ estimated }) => estimated,
  ({ upstream }) => upstream?.provider,
  ({ upstream }) => upstream?.format,
  ({ upstream }) => upstream?.model,
  ({ latencyMs }) => wholeMs(latencyMs),
  ({ firstByteMs }) => wholeMs(firstByteMs),
  ({ givesSlotBack }) => givesSlotBack,
];

/** The parameters that come first, which all holds have in common. */
const COMMON_PARAMETERS = 4;
/** Refusals that say how much was left. */
const SHORTAGES: ReadonlySet<HoldRefusal> = new Set(['key_limit', 'insufficient_credits', 'insufficient_funds']);

const WRITE = {
  name: 'write_text',
  // With the parameter that comes last.
  text: `SELECT * FROM write_text(${parameters(COMMON_PARAMETERS + HOLD_COLUMNS.length + SETTLEMENT_COLUMNS.length + 1)})`,
};

/** A hold of less than its maximum, or of nothing; a settlement that had no hold; or a key whose requests were counted. */
interface WrittenRow {
  position: number | null;
  refusal: HoldRefusal | null;
  amount: string | null;
  retry_after_seconds: number | null;
  without_hold: string | null;
  counted_key_id: string | null;
  requests: string | null;
}

/** Connects on demand. */
export function createTextLedger(options: TextLedgerOptions): TextLedger {
  const { url, poolSize, processId, freeRequestsPerMinute } = options;
  // The name shows other processes that this one is alive, even while it cannot say so itself.
  const pool = new Pool({
    ...connectionConfig(url, connectionName(processId), SERVING_LIMITS),
    max: poolSize,
    min: 1,
  });
  pool.on('connect', (client) => watchConnection(client, SERVING_LIMITS.silenceMs));
  // A broken idle connection is replaced when one is next needed.
  pool.on('error', () => {});
  const { neverToppedUp, toppedUp } = freeRequestsPerMinute;

  async function writeAt(version: string, turn: TextTurn): Promise<WrittenTurn> {
    const { holds, settlements, isRepeated = false } = turn;
    const { rows } = await pool.query<WrittenRow>({
      ...WRITE,
      values: [
        processId,
        version,
        neverToppedUp,
        toppedUp,
        ...columns(HOLD_COLUMNS, holds),
        ...columns(SETTLEMENT_COLUMNS, settlements),
        isRepeated,
      ],
    });
    const decided = new Map(rows.map((row) => [row.position, decisionOf(row)]));
    return {
      decisions: holds.map(({ mostAmount }, index) => decided.get(index + 1) ?? { refusal: null, amount: mostAmount }),
      windows: windowsOf(holds, rows),
      withoutHold: new Set(rows.flatMap((row) => row.without_hold ?? [])),
    };
  }

  async function write(turn: TextTurn): Promise<WrittenTurn> {
    const [version = '', ...others] = new Set(turn.holds.map(({ catalogueVersion }) => catalogueVersion));
    if (others.length === 0) return writeAt(version, turn);
    // The catalogue has just changed: requests admitted under the previous version keep its prices.
    const first = turn.holds.filter(({ catalogueVersion }) => catalogueVersion === version);
    const rest = turn.holds.filter(({ catalogueVersion }) => catalogueVersion !== version);
    const written = await writeAt(version, { ...turn, holds: first });
    const later = await write({ ...turn, holds: rest, settlements: [] });
    const inOrder = <Result>(ofFirst: readonly Result[], ofRest: readonly Result[]): Result[] => {
      const [nextOfFirst, nextOfRest] = [ofFirst.values(), ofRest.values()];
      return turn.holds.flatMap(({ catalogueVersion }) => {
        const { value, done } = (catalogueVersion === version ? nextOfFirst : nextOfRest).next();
        return done ? [] : [value];
      });
    };
    return {
      decisions: inOrder(written.decisions, later.decisions),
      windows: inOrder(written.windows, later.windows),
      withoutHold: written.withoutHold,
    };
  }

  return {
    write,
    hold: async (holds) => (await write({ holds, settlements: [] })).decisions,
    settle: async (settlements) => (await write({ holds: [], settlements })).withoutHold,

    async settleWithoutHold(settlement) {
      await pool.query('SELECT settle_text_without_hold($1)', [withoutHold(settlement)]);
    },

    ping: () => pool.query('SELECT 1'),
    close: () => pool.end(),
  };
}

/** The name of a process's connections in PostgreSQL. */
export function connectionName(processId: string): string {
  return `genway-text ${processId}`;
}

function decisionOf({ refusal, amount, retry_after_seconds }: WrittenRow): HeldText | RefusedHold {
  if (refusal === null) return { refusal, amount: BigInt(amount ?? 0) };
  const remaining = SHORTAGES.has(refusal) ? BigInt(amount ?? 0) : null;
  return { refusal, remaining, retryAfterSeconds: retry_after_seconds };
}

function windowsOf(holds: readonly NewTextHold[], rows: readonly WrittenRow[]): (RequestWindow | null)[] {
  const counted = rows.flatMap(({ counted_key_id: api_key_id, requests, retry_after_seconds: seconds_left }) =>
    api_key_id === null
      ? []
      : [{ api_key_id, reads: false, requests: requests ?? '0', seconds_left: seconds_left ?? 1 }],
  );
  const uncounted = holds.filter(({ requestLimit }) => requestLimit !== null);
  const places = placesOf(
    uncounted.map(({ apiKeyId }) => ({ apiKeyId, reads: false })),
    counted,
  ).values();
  return holds.map(({ requestLimit }) => (requestLimit === null ? null : (places.next().value ?? null)));
}

/** The future row of the request, with the further input of `charge_beyond_hold`. */
function withoutHold(settlement: TextSettlement): string {
  const { hold } = settlement;
  return JSON.stringify({
    id: hold.id,
    created_at: hold.createdAt.toISOString(),
    account_id: hold.accountId,
    api_key_id: hold.apiKeyId,
    request_id: hold.requestId,
    model: hold.model,
    format: hold.format,
    streamed: hold.streamed,
    upstream: settlement.upstream?.provider,
    upstream_format: settlement.upstream?.format,
    upstream_model: settlement.upstream?.model,
    outcome: settlement.outcome,
    error_code: settlement.errorCode,
    catalogue_version: hold.catalogueVersion,
    modifiers: settlement.modifiers.length === 0 ? null : settlement.modifiers,
    input_tokens: settlement.inputTokens,
    cache_read_tokens: settlement.cacheReadTokens,
    cache_write_tokens: settlement.cacheWriteTokens,
    output_tokens: settlement.outputTokens,
    reasoning_tokens: settlement.reasoningTokens,
    calls: settlement.calls,
    estimated: settlement.estimated,
    charge: settlement.charge.toString(),
    latency_ms: wholeMs(settlement.latencyMs),
    first_byte_ms: wholeMs(settlement.firstByteMs),
    funded_only: hold.fundedOnly,
    excess_id: settlement.excessId,
    absorbed_id: settlement.absorbedId,
  });
}

/** Array literals, which are written here because the driver looks for quotes in every value twice. */
function columns<Item>(of: readonly ((item: Item) => ColumnValue)[], items: readonly Item[]): string[] {
  return of.map((column) => `{${items.map((item) => elementOf(column(item))).join(',')}}`);
}

/** What needs no quotes in an array literal; the empty string and NULL do. */
const PLAIN = /^(?!null$)[\w:.+-]+$/i;

/** https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function elementOf(value: ColumnValue): string {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return PLAIN.test(text) ? text : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function parameters(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
}

/** Most requests have no modifiers, and null takes the least space. */
function modifiersColumn(modifiers: readonly AppliedModifier[]): string | null {
  return modifiers.length === 0 ? null : JSON.stringify(modifiers);
}

function wholeMs(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.min(Math.round(milliseconds), 2 ** 31 - 1);
}
