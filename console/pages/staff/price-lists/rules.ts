/** Reads and writes the rules of a price list as text: `model vidone-3.0 720p=0.08` or `family textg factor=0.8`. */
import type { PriceRule } from '../../../../domain/price-list.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { filled, FormError } from '../../../form-problem.ts';
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

/** Names the line of a wrong rule, which the api names by its number. Returns other errors as they are. */
export function atItsLine(error: unknown, text: string, { faults, priceLists: messages, language }: Texts): unknown {
  const fault = error instanceof ServiceError ? error.fieldFault : null;
  const [field, index] = fault?.path ?? [];
  const kinds: Readonly<Record<string, string>> = faults.kinds;
  const template = kinds[fault?.kind ?? ''];
  if (!fault || field !== 'rules' || typeof index !== 'number' || template === undefined) return error;
  const lines = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [at + 1]));
  return new FormError(messages.wrongRule(lines[index] ?? index + 1, filled(template, fault.values, language)), {
    field: 'rules',
  });
}

function readRule(line: string, number: number, { priceLists: messages }: Texts): PriceRule {
  const [kind, name, ...settings] = line.split(/\s+/);
  const pairs = settings.map((setting) => setting.split('='));
  if ((kind !== 'model' && kind !== 'family') || name === undefined || pairs.some((pair) => pair.length !== 2)) {
    throw new FormError(messages.noRule(number), { field: 'rules' });
  }
  const { factor, ...prices } = Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value]));
  return {
    [kind]: name,
    ...(factor !== undefined && { factor }),
    ...(Object.keys(prices).length > 0 && { prices }),
  };
}
