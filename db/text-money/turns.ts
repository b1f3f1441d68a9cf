/** Writes holds and settlements in turns: whatever arrives while one turn is written goes into the next. */
import type { RefusedHold } from '../../domain/text-refusal.ts';
import { createBatcher } from '../batcher.ts';
import type { HeldText, NewTextHold, TextLedger, TextSettlement } from './ledger.ts';

export interface TextTurns {
  /** @returns the hold, or the reason why there is none */
  hold(hold: NewTextHold): Promise<HeldText | RefusedHold>;
  /** @returns whether it had a hold */
  settle(settlement: TextSettlement): Promise<boolean>;
  /** Resolves when there is nothing left to write. */
  idle(): Promise<void>;
}

const MAX_WRITTEN_AT_ONCE = 500;

type Item = { readonly hold: NewTextHold } | { readonly settlement: TextSettlement };

interface Written {
  readonly decision: HeldText | RefusedHold | undefined;
  readonly wasHeld: boolean;
}

/**
 * Allows one turn at a time, for holds and settlements alike: they lock the same accounts, so two statements would wait for
 * each other, and one statement for both costs little more than either of them.
 */
export function createTextTurns(ledger: Pick<TextLedger, 'write'>): TextTurns {
  const batcher = createBatcher<Item, Written>(write, { maxItems: MAX_WRITTEN_AT_ONCE });

  async function write(items: readonly Item[]): Promise<readonly Written[]> {
    const holds = items.flatMap((item) => ('hold' in item ? [item.hold] : []));
    const settlements = items.flatMap((item) => ('settlement' in item ? [item.settlement] : []));
    const { decisions, withoutHold } = await ledger.write({ holds, settlements });
    const decided = decisions.values();
    return items.map((item) =>
      'hold' in item
        ? { decision: decided.next().value, wasHeld: false }
        : { decision: undefined, wasHeld: !withoutHold.has(item.settlement.hold.id) },
    );
  }

  return {
    hold: async (hold) => {
      const { decision } = await batcher.add({ hold });
      if (decision === undefined) throw new Error(`nothing was decided about ${hold.id}`);
      return decision;
    },
    settle: async (settlement) => (await batcher.add({ settlement })).wasHeld,
    idle: () => batcher.idle(),
  };
}
