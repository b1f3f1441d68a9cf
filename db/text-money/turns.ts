/** Writes holds and settlements in turns: whatever arrives while one turn is written goes into the next. */
import type { RefusedHold } from '../../domain/text-refusal.ts';
import { createBatcher } from '../batcher.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import type { HeldText, NewTextHold, TextLedger, TextSettlement } from './ledger.ts';

/** What became of a hold. */
export interface DecidedHold {
  /** The hold, or the reason why there is none. */
  readonly decision: HeldText | RefusedHold;
  /** The place of the request among those of its key; null if it was counted before. */
  readonly window: RequestWindow | null;
}

export interface TextTurns {
  hold(hold: NewTextHold): Promise<DecidedHold>;
  /** @returns whether it had a hold */
  settle(settlement: TextSettlement): Promise<boolean>;
  /** Resolves when there is nothing left to write. */
  idle(): Promise<void>;
}

const MAX_WRITTEN_AT_ONCE = 500;
/** Far less than a turn takes. Most of what a turn costs, it costs once, so it pays to wait for those about to come. */
const GATHER_MS = 2;

type Item = { readonly hold: NewTextHold } | { readonly settlement: TextSettlement };

interface Written {
  readonly decided: DecidedHold | null;
  readonly wasHeld: boolean;
}

/**
 * Allows one turn at a time, for holds and settlements alike: they lock the same accounts, so two statements would wait for
 * each other, and one statement for both costs little more than either of them.
 */
export function createTextTurns(ledger: Pick<TextLedger, 'write'>): TextTurns {
  const batcher = createBatcher<Item, Written>((items) => write(items, false), {
    maxItems: MAX_WRITTEN_AT_ONCE,
    gatherMs: GATHER_MS,
    again: (items) => write(items, true),
  });

  async function write(items: readonly Item[], isRepeated: boolean): Promise<readonly Written[]> {
    const holds = items.flatMap((item) => ('hold' in item ? [item.hold] : []));
    const settlements = items.flatMap((item) => ('settlement' in item ? [item.settlement] : []));
    const { decisions, windows, withoutHold } = await ledger.write({ holds, settlements, isRepeated });
    const decided = decisions.map((decision, index) => ({ decision, window: windows[index] ?? null })).values();
    return items.map((item) =>
      'hold' in item
        ? { decided: decided.next().value ?? null, wasHeld: false }
        : { decided: null, wasHeld: !withoutHold.has(item.settlement.hold.id) },
    );
  }

  return {
    hold: async (hold) => {
      const { decided } = await batcher.add({ hold });
      if (decided === null) throw new Error(`nothing was decided about ${hold.id}`);
      return decided;
    },
    settle: async (settlement) => (await batcher.add({ settlement })).wasHeld,
    idle: () => batcher.idle(),
  };
}
