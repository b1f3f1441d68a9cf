/** The prices of each version of the catalogue, stored as long as the usage that they priced. */
import { parseRational } from '../../domain/rational.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { mapRates, type MediaPricing, type TextPricing } from '../../domain/pricing.ts';
import type { Database } from '../database.ts';

interface RateCardKey {
  readonly version: string;
  readonly model: string;
}
export type TextRateCard = RateCardKey & {
  readonly kind: 'text';
  readonly family: string;
  readonly pricing: TextPricing;
};
export type MediaRateCard = RateCardKey & { readonly kind: 'video' | 'image'; readonly pricing: MediaPricing };
export type RateCard = TextRateCard | MediaRateCard;

/** Prices as JSON: amounts as strings, factors as written. */
export interface StoredPricing {
  readonly rates: Readonly<Record<keyof TextPricing['rates'], string>>;
  readonly tiers: readonly (Omit<TextPricing['tiers'][number], 'factor'> & { readonly factor: string })[];
  readonly peaks: readonly (Omit<TextPricing['peaks'][number], 'factor'> & { readonly factor: string })[];
  readonly batchFactor?: string | undefined;
}

interface StoredMediaPricing extends Omit<MediaPricing, 'byResolution'> {
  readonly byResolution: Readonly<Record<string, string>>;
}

type RateCardRow = { version: string; model: string } & (
  | { kind: 'text'; family: string; pricing: StoredPricing }
  | { kind: 'video' | 'image'; pricing: StoredMediaPricing }
);

/** The catalogue has other prices under the same version. */
export class RateCardChangedError extends OperatorError {
  override readonly name = 'RateCardChangedError';
}

/**
 * Stores the prices of a version, unless they are already stored.
 *
 * @throws RateCardChangedError if a model of this version has different stored prices
 */
export async function recordRateCards(database: Database, cards: readonly RateCard[]): Promise<void> {
  // A catalogue may have no models of this kind.
  if (cards.length === 0) return;
  const rows = cards.map((card) => ({
    version: card.version,
    model: card.model,
    kind: card.kind,
    family: card.kind === 'text' ? card.family : null,
    pricing: JSON.stringify(card.kind === 'text' ? toStored(card.pricing) : toStoredMedia(card.pricing)),
  }));
  await database('rate_cards').insert(rows).onConflict(['version', 'model']).ignore();
  const { rows: changed } = await database.raw<{ rows: { version: string; model: string }[] }>(
    /* sql */ `
    SELECT kept.version, kept.model FROM rate_cards AS kept
    JOIN jsonb_to_recordset(:rows::jsonb) AS given(version text, model text, family text, pricing text)
      USING (version, model)
    WHERE kept.pricing <> given.pricing::jsonb OR kept.family IS DISTINCT FROM given.family ORDER BY kept.model LIMIT 1`,
    { rows: JSON.stringify(rows) },
  );
  if (changed[0]) {
    throw new RateCardChangedError(
      `catalogue ${changed[0].version} was already used with different prices for ${changed[0].model}: give it a new version`,
    );
  }
}

/** All rate cards of text models. */
export async function listTextRateCards(database: Database): Promise<readonly TextRateCard[]> {
  const rows = await database<RateCardRow>('rate_cards').where({ kind: 'text' });
  return rows.map(toRateCard).filter((card) => card.kind === 'text');
}

/** Lists the stored prices of one version of the catalogue; empty if no process has started with it. */
export async function listRateCards(database: Database, version: string): Promise<readonly RateCard[]> {
  const rows = await database<RateCardRow>('rate_cards').where({ version });
  return rows.map(toRateCard);
}

function toRateCard(row: RateCardRow): RateCard {
  const { version, model } = row;
  if (row.kind === 'text')
    return { version, model, kind: row.kind, family: row.family, pricing: parseStoredPricing(row.pricing) };
  return { version, model, kind: row.kind, pricing: fromStoredMedia(row.pricing) };
}

function toStoredMedia({ byResolution, ...rest }: MediaPricing): StoredMediaPricing {
  const prices = Object.entries(byResolution).map(([name, price]) => [name, price.toString()]);
  return { ...rest, byResolution: Object.fromEntries(prices) };
}

function fromStoredMedia({ byResolution, ...rest }: StoredMediaPricing): MediaPricing {
  const prices = Object.entries(byResolution).map(([name, price]) => [name, BigInt(price)]);
  return { ...rest, byResolution: Object.fromEntries(prices) };
}

/** Converts prices to JSON for storage. */
export function toStored({ rates, tiers, peaks, batchFactor }: TextPricing): StoredPricing {
  return {
    rates: mapRates(rates, String),
    tiers: tiers.map((tier) => ({ ...tier, factor: tier.factor.decimal })),
    peaks: peaks.map((peak) => ({ ...peak, factor: peak.factor.decimal })),
    batchFactor: batchFactor?.decimal,
  };
}

export function parseStoredPricing({ rates, tiers, peaks, batchFactor }: StoredPricing): TextPricing {
  return {
    rates: mapRates(rates, BigInt),
    tiers: tiers.map((tier) => ({ ...tier, factor: parseRational(tier.factor) })),
    peaks: peaks.map((peak) => ({ ...peak, factor: parseRational(peak.factor) })),
    ...(batchFactor !== undefined && { batchFactor: parseRational(batchFactor) }),
  };
}
