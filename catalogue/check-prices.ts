/** Finds prices and costs in a catalogue file that have no effect, and prices of zero. */
import { isObject } from '../domain/json.ts';
import { type FieldPath, writePath } from '../domain/substitute-variables.ts';
import { choose } from './schema-findings.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import type { UncheckedModel, UncheckedRoute } from './unchecked-models.ts';

/** The key for any other resolution. */
const ANY_RESOLUTION = '*';

export function findIdlePrices(file: OperatorFile, model: UncheckedModel): readonly Finding[] {
  const zeros = zeroPrices(file, model);
  if (model.kind === 'text') {
    return [...zeros, ...idleTiers(file, model), ...pricesOfFree(file, model), ...idleTools(file, model)];
  }
  return [...zeros, ...model.routes.flatMap((route) => idleCosts(file, model, route))];
}

/** The prices that should not be 0. Cache writes may be free, since some vendors do not charge for them. */
const PAID_PRICES: readonly FieldPath[] = [
  ['prices', 'input'],
  ['prices', 'output'],
  ['prices', 'cached_input'],
  ['usd_per_second'],
  ['usd_per_video'],
  ['usd_per_image'],
];
const ZERO = /^0*(\.0*)?$/;

function zeroPrices(file: OperatorFile, { kind, path, entry }: UncheckedModel): readonly Finding[] {
  return PAID_PRICES.flatMap((steps) => {
    const price = steps.reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), entry);
    const prices: [FieldPath, unknown][] = isObject(price)
      ? Object.entries(price).map(([name, one]) => [[...steps, name], one])
      : [[steps, price]];
    return prices
      .filter(([, one]) => typeof one === 'string' && one !== '' && ZERO.test(one))
      .map(([steps]) => {
        const at = [...path, ...steps];
        const message = `"${writePath(at)}" is 0: this costs customers nothing; write a price${kind === 'text' ? ', or `free: true` in place of prices' : ''}`;
        return file.finding(at, message, { severity: 'warning' });
      });
  });
}

function idleTiers(file: OperatorFile, { path, entry }: UncheckedModel): readonly Finding[] {
  const { context_tokens: context, tiers } = entry;
  if (typeof context !== 'number' || !Array.isArray(tiers)) return [];
  return tiers.flatMap((tier: unknown, index) => {
    if (!isObject(tier) || typeof tier['threshold_tokens'] !== 'number') return [];
    const maxThreshold = tier['applies'] === 'over' ? context - 1 : context;
    if (tier['threshold_tokens'] <= maxThreshold) return [];
    const at = [...path, 'tiers', index, 'threshold_tokens'];
    const message = `"${writePath(at)}" is never reached: the model takes ${context} tokens (context_tokens)`;
    return [file.finding(at, message, { severity: 'warning' })];
  });
}

function pricesOfFree(file: OperatorFile, { path, entry }: UncheckedModel): readonly Finding[] {
  if (entry['free'] !== true) return [];
  return ['tiers', 'peaks']
    .filter((name) => Array.isArray(entry[name]) && entry[name].length > 0)
    .map((name) => {
      const message = `"${writePath([...path, name])}" has no effect on a model that is free`;
      return file.finding([...path, name], message, { severity: 'warning' });
    });
}

function idleTools(file: OperatorFile, { path, entry, compatibility }: UncheckedModel): readonly Finding[] {
  if (entry['tools'] === undefined || compatibility === 'full') return [];
  const at = [...path, 'tools'];
  const message = `"${writePath(at)}" has no effect without \`compatibility: full\``;
  return [file.finding(at, message, { severity: 'warning', at: 'name' })];
}

function idleCosts(
  file: OperatorFile,
  model: UncheckedModel,
  { path, entry: { cost } }: UncheckedRoute,
): readonly Finding[] {
  if (!isObject(cost)) return [];
  const costPath = [...path, 'cost'];
  if (model.kind === 'image' && cost['usd_per_second'] !== undefined) {
    const at = [...costPath, 'usd_per_second'];
    const message = `"${writePath(at)}" cannot be the cost of an image: it may be usd_per_render or usd_per_unit`;
    return [file.finding(at, message, { at: 'name' })];
  }
  const sold = resolutionsOf(model);
  return ['usd_per_second', 'usd_per_render'].flatMap((name) => {
    const prices = cost[name];
    if (!isObject(prices) || sold.length === 0) return [];
    const at = [...costPath, name];
    const unsold = Object.keys(prices).filter((one) => one !== ANY_RESOLUTION && !sold.includes(one));
    const unpriced = prices[ANY_RESOLUTION] === undefined ? sold.filter((one) => prices[one] === undefined) : [];
    return [
      ...unsold.map((one) => {
        const message = `"${writePath([...at, one])}" has no effect, since the model has no such price${choose(one, sold)}`;
        return file.finding([...at, one], message, { severity: 'warning', at: 'name' });
      }),
      ...unpriced.map((one) =>
        file.finding(at, `"${writePath(at)}" does not say what ${one} costs`, { severity: 'warning', at: 'name' }),
      ),
    ];
  });
}

/** The resolutions with a price; empty if one price applies to all resolutions. */
function resolutionsOf({ entry }: UncheckedModel): readonly string[] {
  const prices = entry['usd_per_second'] ?? entry['usd_per_video'] ?? entry['usd_per_image'];
  return isObject(prices) ? Object.keys(prices) : [];
}
