/** The prices and terms of a model, under their names in the catalogue file. */
import type { Terms } from '../../catalogue/offer.ts';
import { Facts } from './facts.tsx';

export function TermFacts({ terms }: { readonly terms: Terms }) {
  return <Facts facts={Object.entries(terms).map(([name, value]) => [name.replaceAll('_', ' '), value])} />;
}

export function InlinePrices({ prices }: { readonly prices: Terms }) {
  return (
    <ul class="inline">
      {Object.entries(prices).map(([name, price]) => (
        <li>
          <span class="soft">{name.replaceAll('_', ' ')}</span> <span class="money">{price}</span>
        </li>
      ))}
    </ul>
  );
}
