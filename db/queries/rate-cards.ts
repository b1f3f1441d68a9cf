/** What each edition of the catalogue charged for text, kept for as long as the usage that was priced by it. */
import { parseRational } from '../../domain/rational.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { TextPricing } from '../../domain/pricing.ts';
import type { Database } from '../database.ts';

export interface RateCard {
  readonly version: string;
  readonly model: string;
  readonly pricing: TextPricing;
}

/** The prices as JSON: amounts as texts, factors as they were written. */
interface StoredPricing {
  readonly rates: Readonly<Record<keyof TextPricing['rates'], string>>;
  readonly tiers: readonly (Omit<TextPricing['tiers'][number], 'factor'> & { readonly factor: string })[];
  readonly peaks: readonly (Omit<TextPricing['peaks'][number], 'factor'> & { readonly factor: string })[];
}

interface RateCardRow {
  version: string;
  model: string;
  pricing: StoredPricing;
}

/** Prices were changed under a version that had charged others. */
export class RateCardChangedError extends OperatorError {
  override readonly name = 'RateCardChangedError';
}

/**
 * Keeps the prices of a version; nothing happens when they are kept already.
 *
 * @throws RateCardChangedError when a model of that version had other prices before
 */
export async function recordRateCards(database: Database, cards: readonly RateCard[]): Promise<void> {
  // A catalogue may sell media only.
  if (cards.length === 0) return;
  const rows = cards.map(({ version, model, pricing }) => ({
    version,
    model,
    pricing: JSON.stringify(toStored(pricing)),
  }));
  await database('rate_cards').insert(rows).onConflict(['version', 'model']).ignore();
  const { rows: changed } = await database.raw<{ rows: { version: string; model: string }[] }>(
    /* sql */ `
    SELECT kept.version, kept.model FROM rate_cards AS kept
    JOIN jsonb_to_recordset(?::jsonb) AS given(version text, model text, pricing text) USING (version, model)
    WHERE kept.pricing <> given.pricing::jsonb ORDER BY kept.model LIMIT 1`,
    [JSON.stringify(rows)],
  );
  if (changed[0]) {
    throw new RateCardChangedError(
      `the catalogue ${changed[0].version} has charged other prices for ${changed[0].model}: give it a new version`,
    );
  }
}

/** Every rate card. */
export async function listRateCards(database: Database): Promise<readonly RateCard[]> {
  const rows = await database<RateCardRow>('rate_cards').select('version', 'model', 'pricing');
  return rows.map(({ version, model, pricing }) => ({ version, model, pricing: fromStored(pricing) }));
}

function toStored({ rates, tiers, peaks }: TextPricing): StoredPricing {
  return {
    rates: {
      input: rates.input.toString(),
      cachedInput: rates.cachedInput.toString(),
      cacheWrite: rates.cacheWrite.toString(),
      output: rates.output.toString(),
    },
    tiers: tiers.map((tier) => ({ ...tier, factor: tier.factor.decimal })),
    peaks: peaks.map((peak) => ({ ...peak, factor: peak.factor.decimal })),
  };
}

function fromStored({ rates, tiers, peaks }: StoredPricing): TextPricing {
  return {
    rates: {
      input: BigInt(rates.input),
      cachedInput: BigInt(rates.cachedInput),
      cacheWrite: BigInt(rates.cacheWrite),
      output: BigInt(rates.output),
    },
    tiers: tiers.map((tier) => ({ ...tier, factor: parseRational(tier.factor) })),
    peaks: peaks.map((peak) => ({ ...peak, factor: parseRational(peak.factor) })),
  };
}
