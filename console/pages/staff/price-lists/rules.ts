/** The rules of a price list as lines of text: `model vidone-3.0 720p=0.08` or `family textg factor=0.8`. */
import { badRequest } from '../../../../domain/errors.ts';
import type { PriceRule } from '../../../../domain/price-list.ts';

export function writeRules(rules: readonly PriceRule[]): string {
  return rules.map(writeRule).join('\n');
}

function writeRule({ model, family, factor, prices = {} }: PriceRule): string {
  const target = model === undefined ? ['family', family] : ['model', model];
  const settings = Object.entries({ ...(factor !== undefined && { factor }), ...prices });
  return [...target, ...settings.map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** @throws ServiceError `bad_request` naming the first line that is no rule */
export function readRules(text: string): PriceRule[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) => (line === '' ? [] : [readRule(line, index + 1)]));
}

function readRule(line: string, number: number): PriceRule {
  const [kind, name, ...settings] = line.split(/\s+/);
  const pairs = settings.map((setting) => setting.split('='));
  if ((kind !== 'model' && kind !== 'family') || name === undefined || pairs.some((pair) => pair.length !== 2)) {
    throw badRequest(
      `Line ${number} of the rules must be such as "model vidone-3.0 720p=0.08" or "family textg factor=0.8".`,
    );
  }
  const { factor, ...prices } = Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value]));
  return {
    [kind]: name,
    ...(factor !== undefined && { factor }),
    ...(Object.keys(prices).length > 0 && { prices }),
  };
}
