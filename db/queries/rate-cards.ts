/** The text prices of each edition of the catalogue, kept as long as the usage that they priced. */
import { parseRational } from '../../domain/rational.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { TextPricing } from '../../domain/pricing.ts';
import type { Database } from '../database.ts';

export interface RateCard {
  readonly version: string;
  readonly model: string;
  readonly pricing: TextPricing;
}

/** Prices as JSON: amounts as strings, factors as written. */
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

/** Prices were changed without changing the version. */
export class RateCardChangedError extends OperatorError {
  override readonly name = 'RateCardChangedError';
}

/**
 * Stores the prices of a version, unless they are already stored.
 *
 * @throws RateCardChangedError if a model of this version has different stored prices
 */
export async function recordRateCards(database: Database, cards: readonly RateCard[]): Promise<void> {
  // A catalogue may contain media models only.
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
      `catalogue ${changed[0].version} was already used with different prices for ${changed[0].model}: give it a new version`,
    );
  }
}

/** All rate cards. */
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
