/** Amounts in the operator's other currency. They stand beside USD, in which all charges are. */
import type { DisplayCurrency } from '../../catalogue/site-money.ts';
import { formatUsd, type PicoUsd } from '../../domain/money.ts';
import { usePage } from './page-context.ts';

/** Formats an amount in USD in another currency, such as `CNY 71.00`: parts of a unit with three significant digits. */
export function inCurrency(amount: PicoUsd, { code, usdRate }: DisplayCurrency, language: string): string {
  const units = Number(formatUsd(amount)) * usdRate;
  return units.toLocaleString(language, {
    style: 'currency',
    currency: code,
    currencyDisplay: 'code',
    ...(units > 0 && units < 1 && { maximumSignificantDigits: 3 }),
  });
}

/** The amount in the other currency, with the day of the rate; nothing without another currency. */
export function InOtherCurrency({ amount }: { amount: PicoUsd }) {
  const { site, texts } = usePage();
  const { displayCurrency: currency } = site;
  if (currency === null) return null;
  return (
    <p class="hint">{texts.common.inOtherCurrency(inCurrency(amount, currency, texts.language), currency.date)}</p>
  );
}

/** The rate and its day, for a page with several amounts in the other currency; nothing without another currency. */
export function RateNote() {
  const { site, texts } = usePage();
  const { displayCurrency: currency } = site;
  if (currency === null) return null;
  const { code, usdRate, date } = currency;
  return (
    <p class="soft">
      {texts.common.rate(code, usdRate.toLocaleString(texts.language, { maximumFractionDigits: 10 }), date)}
    </p>
  );
}
