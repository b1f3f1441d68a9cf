/**
 * The money of a job at a vendor's batch API. The job has an allowance of its own in the ledger, so that the money is
 * held for as long as the job runs, whichever process starts or ends. `db/text-money/ledger.ts` writes all.
 */
import { allocateCredit, amountOf, type Credit } from '../../domain/allowance.ts';
import { newId } from '../../domain/ids.ts';
import { smaller } from '../../domain/money.ts';
import { FREE_REQUESTS_PER_MINUTE } from '../../domain/policy.ts';
import { createBatcher } from '../batcher.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import type { UnpaidSettlement } from './allowances.ts';
import { nameOf } from './entry.ts';
import {
  type AllowanceRequest,
  type NewTextHold,
  type TextDecision,
  type TextLedger,
  textLedgerOn,
  type TextWrite,
  UNCHANGED,
  type WrittenText,
} from './ledger.ts';
import type { TextSettlement } from './settlement.ts';

/** The money of one request. */
export interface JobCredit {
  readonly allowanceId: string;
  readonly held: Credit;
}

export type JobDecision = Extract<TextDecision, { refusal: null }> & { readonly allowanceId: string };

/** More than any account has: the ledger returns what there is. */
const ALL: Credit = { signup: 10n ** 30n, funded: 10n ** 30n };
const MAX_SETTLEMENTS = 64;
/** A write whose number another process has used is repeated with the next number. */
const MAX_NUMBERS = 10;

export class JobMoney {
  readonly #database: Database;
  readonly #jobId: string;
  readonly #ledger: Pick<TextLedger, 'write'>;
  readonly #settlements = createBatcher<TextSettlement, null>(
    async (items) => {
      await this.#write({ allowanceRequests: [], settlements: items, mayBeRecorded: true });
      return items.map(() => null);
    },
    { maxItems: MAX_SETTLEMENTS },
  );

  /** @param jobId the id of the job, which is the process in the ledger */
  constructor(database: Database, jobId: string) {
    this.#database = database;
    this.#jobId = jobId;
    this.#ledger = textLedgerOn(database, { processId: jobId, freeRequestsPerMinute: FREE_REQUESTS_PER_MINUTE });
  }

  /** Decides on all requests of the job in one statement. Call it once. @returns one decision for each */
  async hold(
    holds: readonly NewTextHold[],
  ): Promise<readonly (JobDecision | Exclude<TextDecision, { refusal: null }>)[]> {
    const names = [...new Set(holds.map(nameOf))];
    const asks = names.map((name) => allowanceRequestOf(holds.filter((hold) => nameOf(hold) === name)));
    const { decisions } = await this.#write({ allowanceRequests: asks, settlements: [] });
    const asked = asks.flatMap(({ id, holds: ofAsk }) => ofAsk.map(({ hold }) => ({ hold, allowanceId: id })));
    const decided = new Map(
      asked.map(({ hold, allowanceId }, index) => {
        const decision = decisions[index];
        if (decision === undefined) throw new Error('the ledger decides on every request');
        return [hold, decision.refusal === null ? { ...decision, allowanceId } : decision];
      }),
    );
    return holds.flatMap((hold) => decided.get(hold) ?? []);
  }

  /** Charges a request, exactly once however often it is called with the same id. */
  async settle(unpaid: UnpaidSettlement, { allowanceId, held }: JobCredit): Promise<void> {
    const amount = amountOf(held);
    const paid = allocateCredit(held, smaller(amount, unpaid.price.charge), { fundedOnly: false });
    await this.#settlements.add({
      ...unpaid,
      held: amount,
      paid,
      allowanceId: amountOf(paid) > 0n ? allowanceId : null,
    });
  }

  /** Returns all money that no charge took. May be repeated. */
  async release(): Promise<void> {
    const rows = await this.#database('text_allowances')
      .where({ process_id: this.#jobId })
      .select<{ id: string; account_id: string; api_key_id: string }[]>('id', 'account_id', 'api_key_id');
    if (rows.length === 0) return;
    const allowanceRequests = rows.map(({ id, account_id: accountId, api_key_id: apiKeyId }) => ({
      ...UNCHANGED,
      id,
      accountId,
      apiKeyId,
      returned: ALL,
    }));
    await this.#write({ allowanceRequests, settlements: [] });
  }

  async #write(one: Omit<TextWrite, 'number'>): Promise<WrittenText> {
    for (let tries = 1; tries <= MAX_NUMBERS; tries += 1) {
      const process = await this.#database('processes')
        .where({ id: this.#jobId })
        .first<{ last_write: string } | undefined>('last_write');
      const number = Number(process?.last_write ?? 0) + 1;
      const written = await withPartitions(this.#database, () => this.#ledger.write({ ...one, number }));
      if (!written.isRepeated) return written;
    }
    throw new Error(`the money of the job ${this.#jobId} is written by too many processes`);
  }
}

function allowanceRequestOf(holds: readonly NewTextHold[]): AllowanceRequest {
  const [first] = holds;
  if (first === undefined) throw new Error('an allowance without a request');
  return {
    ...UNCHANGED,
    id: newId('allowance'),
    accountId: first.accountId,
    apiKeyId: first.apiKeyId,
    budgetIds: first.budgets.map(({ id }) => id),
    holds: holds.map((hold) => ({ hold, recalledSince: null })),
  };
}
