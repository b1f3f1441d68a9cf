/** The prices and terms of a model, in the reader's language. */
import type { SoldBelowCost } from '../../catalogue/below-cost.ts';
import type { DisplayCurrency } from '../../catalogue/site-money.ts';
import type { Terms } from '../../catalogue/offer.ts';
import { formatDollars, parseUsd } from '../../domain/money.ts';
import { Facts } from './components.tsx';
import { inCurrency } from './other-currency.tsx';
import { usePage, useTexts } from './page-context.ts';
import type { Texts } from '../texts/texts.ts';

export function TermFacts({ terms }: { terms: Terms }) {
  const texts = useTexts();
  return (
    <Facts
      facts={Object.entries(terms).map(([name, value]) => [termName(name, texts.models.terms), termText(value, texts)])}
    />
  );
}

/** @param names the terms to show, as far as the model has them */
export function InlineTerms({ terms, names }: { terms: Terms; names: readonly string[] }) {
  const texts = useTexts();
  return (
    <ul class="inline">
      {names
        .filter((name) => terms[name] !== undefined && terms[name] !== 'none')
        .map((name) => (
          <li>
            <span class="soft">{`${termName(name, texts.models.terms)}:`}</span> {termText(terms[name] ?? '', texts)}
          </li>
        ))}
    </ul>
  );
}

/** The value of a term: whole numbers with separators, and the words of bounds in the reader's language. */
function termText(value: string, { models, language }: Texts): string {
  if (/^\d{4,}$/.test(value)) return Number(value).toLocaleString(language);
  const words: Readonly<Record<string, string>> = models.values;
  return (
    words[value] ??
    value
      .replace(/^(\d+) to (?=\d)/, (_, from: string) => `${from} ${models.values.to} `)
      .replace(/, default (?=[^,]+$)/, `, ${models.values.default} `)
  );
}

/** The name of a term; the name in the catalogue file if the texts have none, such as of a vendor's field. */
function termName(name: string, names: Readonly<Record<string, string>>): string {
  return names[name] ?? name.replaceAll('_', ' ');
}

interface PricesProps {
  readonly prices: Terms;
  /** Whether to show the operator's other currency beside USD. The page names the rate. */
  readonly withOtherCurrency?: boolean;
}

export function PriceFacts(props: PricesProps) {
  return <Facts facts={usePrices(props)} />;
}

export function InlinePrices(props: PricesProps) {
  return (
    <ul class="inline">
      {usePrices(props).map(([name, price]) => (
        <li>
          <span class="soft">{`${name}:`}</span> <span class="money">{price}</span>
        </li>
      ))}
    </ul>
  );
}

function usePrices({
  prices,
  withOtherCurrency = false,
}: PricesProps): readonly (readonly [name: string, price: string])[] {
  const { site, texts } = usePage();
  const currency = withOtherCurrency ? site.displayCurrency : null;
  return Object.entries(prices).map(([name, price]) => [
    priceName(name, texts),
    priceText(name, price, texts, currency),
  ]);
}

/** A price of media: its unit, and its condition, such as `audio = true`, or its resolution. */
const MEDIA_PRICE = /^usd_per_(second|video|image|render|unit)(?: with (.+)| (.+))?$/;

/** The name of a price in the reader's language. Words without a translation, such as a resolution, stay unchanged. */
export function priceName(name: string, { prices }: Texts): string {
  const [media, , conditions, resolution] = MEDIA_PRICE.exec(name) ?? [];
  if (conditions !== undefined) return prices.with(conditions.replaceAll(' = true', '').replaceAll('_', ' '));
  if (media !== undefined) return resolution ?? prices.any;
  const terms: Readonly<Record<string, string>> = prices.terms;
  const known = Object.keys(terms).sort((one, other) => other.length - one.length);
  return name
    .replaceAll(new RegExp(`\\b(?:${known.join('|')})\\b`, 'g'), (word) => terms[word] ?? word)
    .replaceAll('_', ' ');
}

/** Names a price below cost, with the length of a video, or with the word for batches if only they lose money. */
export function soldWhat({ what, seconds, isBatch }: SoldBelowCost, texts: Texts): string {
  const name = priceName(what, texts);
  if (seconds !== null) return `${name}, ${texts.tasks.seconds(seconds)}`;
  return isBatch ? texts.priceLists.inBatches(name) : name;
}

/**
 * An amount in US dollars, with its unit for media, or the factor of a condition.
 *
 * @param currency a currency that follows in parentheses; null for US dollars alone
 */
export function priceText(
  name: string,
  price: string,
  { prices, language }: Texts,
  currency: DisplayCurrency | null = null,
): string {
  if (name.startsWith('factor ')) return `× ${price}`;
  const units: Readonly<Record<string, string>> = prices.units;
  const unit = units[MEDIA_PRICE.exec(name)?.[1] ?? ''] ?? '';
  return price.replaceAll(/(\+ )?(× )?(\d+(?:\.\d+)?)/g, (_, plus: string, times: string, usd: string) => {
    if (times) return `× ${usd}`;
    const amount = parseUsd(usd);
    const other = currency === null ? '' : ` (${inCurrency(amount, currency, language)})`;
    return `${plus ? '+' : ''}${formatDollars(amount)}${unit}${other}`;
  });
}
