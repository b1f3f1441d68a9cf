/** Creating price lists, changing them by new versions, and assigning them to accounts. */
import { type SoldBelowCost, soldBelowCost } from '../../catalogue/below-cost.ts';
import { mediaPrices, textPrices } from '../../catalogue/offer.ts';
import { allModels, type Catalogue, type MediaModel, type TextModel } from '../../catalogue/types.ts';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import {
  addPriceListVersion,
  assignPriceList,
  countPlannedVersions,
  countPriceLists,
  createPriceList as insertPriceList,
  findPriceListVersion,
  listCurrentVersions,
  listPriceLists,
  type NewPriceListVersion,
  PriceListExistsError,
  type PriceListSummary,
  type PriceListVersion,
  TooSoonError,
} from '../../db/queries/price-lists.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { parseUsd } from '../../domain/money.ts';
import { parseListFactor, PriceList, type PriceRule } from '../../domain/price-list.ts';
import { parsePricePerMillionTokens, TEXT_PRICE_NAMES, type TextPriceName } from '../../domain/pricing.ts';
import { withPrices } from './customer-prices.ts';
import type { Services } from '../services.ts';

const MAX_LISTS = 1_000;
const MAX_PLANNED = 20;
/** How many versions the operators' home page checks each time it is loaded. */
const MAX_JUDGED = 200;
export const MAX_RULES = 500;
/** Prices of text that may be zero, as in the catalogue. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set<TextPriceName>([
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'cached_audio_input',
  'web_search',
]);

type ListServices = Pick<Services, 'database' | 'catalogue'>;

/** A version with its prices in the current catalogue. */
export interface ShownPriceList extends PriceListVersion {
  readonly summary: PriceListSummary;
  readonly models: readonly PricedModel[];
  readonly belowCost: readonly SoldBelowCost[];
}

/** A model with the catalogue's prices and the customer's, as text. */
export interface PricedModel {
  readonly id: string;
  readonly kind: 'video' | 'image' | 'text';
  readonly prices: readonly {
    readonly name: string;
    readonly catalogue: string | undefined;
    readonly price: string;
  }[];
}

/** @throws ServiceError `bad_request` for wrong rules; `idempotency_conflict` for the name of another list */
export async function createPriceList(
  { database, catalogue }: ListServices,
  name: string,
  first: NewPriceListVersion,
): Promise<PriceListVersion> {
  assertRules(first.rules, catalogue);
  if ((await countPriceLists(database)) >= MAX_LISTS) {
    throw badRequest(`There are ${MAX_LISTS} price lists already: change an existing list instead.`);
  }
  return refusing(insertPriceList(database, name, first));
}

/** Adds a version. @throws ServiceError `bad_request` for wrong rules; `not_found` */
export async function changePriceList(
  { database, catalogue }: ListServices,
  name: string,
  version: NewPriceListVersion,
): Promise<PriceListVersion> {
  assertRules(version.rules, catalogue);
  if ((await countPlannedVersions(database, name)) >= MAX_PLANNED) {
    throw badRequest(
      `${name} already has ${MAX_PLANNED} versions that are not valid yet. Wait until one of them is valid.`,
    );
  }
  return (await refusing(addPriceListVersion(database, name, version))) ?? noSuchList(name);
}

/** A version of a list; by default the one in force, or else the latest. @throws ServiceError `not_found` */
export async function showPriceList(
  { database, catalogue }: ListServices,
  name: string,
  version?: number,
): Promise<ShownPriceList> {
  const summary = (await listPriceLists(database)).find((list) => list.name === name) ?? noSuchList(name);
  const number = version ?? summary.inForce ?? summary.latest;
  const found = await findPriceListVersion(database, `${name}@${number}`);
  if (!found) throw new ServiceError('not_found', `The price list ${name} has no version ${number}.`);
  const prices = new PriceList(found);
  return {
    ...found,
    summary,
    models: allModels(catalogue).map((model) => priced(model, prices)),
    belowCost: soldBelowCost(catalogue, prices),
  };
}

/** Assigns a list to an account, or the catalogue's prices for null. @throws ServiceError `not_found` */
export async function setPriceList(
  { database }: Pick<Services, 'database'>,
  { list, ...change }: Authorship & { readonly accountId: string; readonly list: string | null },
): Promise<void> {
  if (list !== null && (await findPriceListVersion(database, `${list}@1`)) === null) noSuchList(list);
  if (!(await assignPriceList(database, { list, ...change })))
    throw new ServiceError('not_found', 'There is no such account. Check the id.');
}

/** Sales below cost by the catalogue (`list` is null), and by versions of price lists that are in force or planned. */
export interface SalesBelowCost {
  readonly list: string | null;
  readonly count: number;
  readonly first: SoldBelowCost;
}

export async function findSalesBelowCost({ database, catalogue }: ListServices): Promise<readonly SalesBelowCost[]> {
  const versions = await listCurrentVersions(database, MAX_JUDGED);
  return [null, ...versions.map((version) => new PriceList(version))].flatMap((list) => {
    const found = soldBelowCost(catalogue, list);
    const [first] = found;
    if (!first) return [];
    return [{ list: list?.id ?? null, count: found.length, first }];
  });
}

function priced(model: MediaModel | TextModel, prices: PriceList): PricedModel {
  const listed = pricesOf(model);
  return {
    id: model.id,
    kind: 'kind' in model ? model.kind : 'text',
    prices: Object.entries(pricesOf(withPrices(model, prices))).map(([name, price]) => {
      return { name, price, catalogue: listed[name] };
    }),
  };
}

function pricesOf(model: MediaModel | TextModel) {
  return 'kind' in model ? mediaPrices(model.pricing) : textPrices(model.pricing);
}

function noSuchList(name: string): never {
  throw new ServiceError(
    'not_found',
    `There is no price list ${name.slice(0, 100)}. GET /admin/v1/price-lists lists them.`,
  );
}

async function refusing<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof TooSoonError) {
      throw badRequest(
        `"valid_from" is too early: ${error.message}. Leave it out to make the version valid as soon as possible.`,
        { path: ['valid_from'], kind: 'moment.early', values: {} },
      );
    }
    if (!(error instanceof PriceListExistsError)) throw error;
    throw new ServiceError(
      'idempotency_conflict',
      'A price list with this name exists. Create a new version of it, or choose another name.',
    );
  }
}

/** Refuses a rule. @param kind the broken rule of rules, for the console's message */
type RuleFault = (kind: string, message: string, values?: Readonly<Record<string, unknown>>) => Error;

/** @throws ServiceError `bad_request` naming the first rule that fits nothing, or cannot be charged */
function assertRules(rules: readonly PriceRule[], catalogue: Catalogue): void {
  const models = new Map(allModels(catalogue).map((model) => [model.id, model]));
  const families = new Set([...catalogue.textModels.values()].map(({ family }) => family));
  const seen = new Set<string>();
  rules.forEach(({ model: id, family, factor, prices = {} }, index) => {
    const fault: RuleFault = (kind, message, values = {}) =>
      badRequest(`"rules[${index}]" ${message}`, { path: ['rules', index], kind: `rule.${kind}`, values });
    if ((id === undefined) === (family === undefined)) throw fault('target', 'must have either "model" or "family"');
    const target = JSON.stringify([id, family]);
    if (seen.has(target)) throw fault('second', 'is a second rule for the same model or family');
    seen.add(target);
    const model = id === undefined ? undefined : models.get(id);
    if (id !== undefined && !model) throw fault('unknownModel', 'names a model that is not in the catalogue');
    if (family !== undefined && !families.has(family))
      throw fault('unknownFamily', 'names a family that is not in the catalogue');
    if (factor === undefined && Object.keys(prices).length === 0)
      throw fault('empty', 'must have "factor" or "prices"');
    if (model && !('kind' in model) && model.free) throw fault('free', 'is for a free model, which stays free');
    assertPrices(prices, model, fault);
  });
}

function assertPrices(
  prices: NonNullable<PriceRule['prices']>,
  model: MediaModel | TextModel | undefined,
  fault: RuleFault,
): void {
  const isMedia = model !== undefined && 'kind' in model;
  const names: readonly string[] = isMedia ? Object.keys(model.pricing.byResolution) : TEXT_PRICE_NAMES;
  const given = Object.entries(prices);
  const unknown = given.find(([name]) => !names.includes(name));
  if (unknown) throw fault('names', `has prices for other names than [${names.join(' ')}]`, { names });
  for (const [name, usd] of given) {
    const amount = readPrice(usd, isMedia);
    if (amount === null) {
      throw fault(
        'amount',
        `must have amounts in USD such as "0.25", with at most ${isMedia ? 12 : 6} decimals: ${name}`,
        { name, decimals: isMedia ? 12 : 6 },
      );
    }
    if (amount === 0n && !MAY_BE_ZERO.has(name)) throw fault('zero', `must have a price above 0 for ${name}`, { name });
  }
}

const MAX_PRICE_CHARACTERS = 20;

/** Null for a value that is not a price. */
function readPrice(usd: unknown, isMedia: boolean): bigint | null {
  if (typeof usd !== 'string' || usd.length > MAX_PRICE_CHARACTERS) return null;
  try {
    const amount = isMedia ? parseUsd(usd) : parsePricePerMillionTokens(usd);
    return amount < 0n ? null : amount;
  } catch {
    return null;
  }
}

/** Whether a text is the factor of a list or rule. */
export function isListFactor(text: string): boolean {
  try {
    return parseListFactor(text) !== null;
  } catch {
    return false;
  }
}
