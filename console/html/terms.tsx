/** The prices and terms of a model, under their names in the catalogue file. */
import type { Terms } from '../../catalogue/offer.ts';
import { formatDollars, parseUsd } from '../../domain/money.ts';
import { Facts } from './components.tsx';
import { useTexts } from './page-context.ts';
import type { Texts } from '../texts/texts.ts';

export function TermFacts({ terms }: { terms: Terms }) {
  return <Facts facts={Object.entries(terms).map(([name, value]) => [name.replaceAll('_', ' '), value])} />;
}

export function PriceFacts({ prices }: { prices: Terms }) {
  const texts = useTexts();
  return (
    <Facts facts={Object.entries(prices).map(([name, price]) => [priceName(name, texts), priceText(name, price)])} />
  );
}

export function InlinePrices({ prices }: { prices: Terms }) {
  const texts = useTexts();
  return (
    <ul class="inline">
      {Object.entries(prices).map(([name, price]) => (
        <li>
          <span class="soft">{priceName(name, texts)}</span> <span class="money">{priceText(name, price)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The name of a price in the reader's language. Words without a translation, such as a resolution, stay unchanged. */
export function priceName(name: string, { prices }: Texts): string {
  const words: Readonly<Record<string, string>> = prices;
  const known = Object.keys(words).sort((one, other) => other.length - one.length);
  return name
    .replaceAll(new RegExp(`\\b(?:${known.join('|')})\\b`, 'g'), (word) => words[word] ?? word)
    .replaceAll('_', ' ');
}

/** An amount in US dollars, or the factor of a condition. */
export function priceText(name: string, price: string): string {
  if (name.startsWith('factor ')) return `× ${price}`;
  return /^[\d.]+$/.test(price) ? formatDollars(parseUsd(price)) : price;
}
