/** Reads and writes the rules of a price list as text: `model vidone-3.0 720p=0.08` or `family textg factor=0.8`. */
import type { PriceRule } from '../../../../domain/price-list.ts';
import { FormError } from '../../../form-problem.ts';
import type { Texts } from '../../../texts/texts.ts';

export function writeRules(rules: readonly PriceRule[]): string {
  return rules.map(writeRule).join('\n');
}

function writeRule({ model, family, factor, prices = {} }: PriceRule): string {
  const target = model === undefined ? ['family', family] : ['model', model];
  const settings = Object.entries({ ...(factor !== undefined && { factor }), ...prices });
  return [...target, ...settings.map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** @throws FormError naming the first line that is not a rule */
export function readRules(text: string, texts: Texts): PriceRule[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) => (line === '' ? [] : [readRule(line, index + 1, texts)]));
}

function readRule(line: string, number: number, { priceLists: words }: Texts): PriceRule {
  const [kind, name, ...settings] = line.split(/\s+/);
  const pairs = settings.map((setting) => setting.split('='));
  if ((kind !== 'model' && kind !== 'family') || name === undefined || pairs.some((pair) => pair.length !== 2)) {
    throw new FormError(words.noRule(number), { field: 'rules' });
  }
  const { factor, ...prices } = Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value]));
  return {
    [kind]: name,
    ...(factor !== undefined && { factor }),
    ...(Object.keys(prices).length > 0 && { prices }),
  };
}
