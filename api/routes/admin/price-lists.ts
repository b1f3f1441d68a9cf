/** Price lists: what customers pay instead of the catalogue's prices. */
import type { SoldBelowCost } from '../../../catalogue/below-cost.ts';
import {
  listPriceLists as findPriceLists,
  listPriceListVersions as findVersions,
  type NewPriceListVersion,
  type PriceListSummary,
  type PriceListVersion,
} from '../../../db/queries/price-lists.ts';
import { badRequest } from '../../../domain/errors.ts';
import { ANY_OBJECT, arrayOf } from '../../../domain/json-schema.ts';
import type { PriceRules } from '../../../domain/price-list.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, page, pageOf } from '../../endpoint/page.ts';
import type { QueryParameter } from '../../endpoint/query.ts';
import { type Administrator, authorshipOf } from '../../../services/people/administrator.ts';
import {
  changePriceList as change,
  createPriceList as create,
  type PricedModel,
  setPriceList as assign,
  type ShownPriceList,
  showPriceList,
} from '../../../services/money/price-lists.ts';
import type { BodyOf } from '../../../services/input/validation.ts';
import { ACCOUNT } from '../../../services/resources/admin.ts';
import { changePriceListSchema, createPriceListSchema, setPriceListSchema } from '../../../services/input/admin.ts';
import { showAccount } from './show-account.ts';

const SUMMARY = {
  name: field.text<'name'>('name', 'The name of the list'),
  accounts: field.count<'accounts'>('accounts', 'The number of accounts with this list'),
  version_in_force: field.integer.orNull<'inForce'>('inForce', 'The current version. Null before the first starts'),
  latest_version: field.integer<'latest'>('latest', 'The latest version, which may take effect later'),
};

export const PRICE_LIST = resource<PriceListSummary>('PriceList', {
  ...SUMMARY,
  object: field.constant('price_list'),
  created_at: field.unixSeconds('createdAt', 'When the list was created'),
});

const VERSION = {
  id: field.text<'id'>('id', 'The id of the version in charges: the list and the number'),
  object: field.constant('price_list_version'),
  price_list: field.text<'list'>('list', 'The name of the list'),
  version: field.integer<'version'>('version', 'The number of the version, from 1'),
  valid_from: field.isoTime<'validFrom'>('validFrom', 'When the version starts and replaces all earlier versions'),
  factor: field.text<'factor'>('factor', 'The factor on the prices of the catalogue that no rule covers'),
  rules: field.json(arrayOf(ANY_OBJECT, 'The prices of models and families, as sent'))(
    ({ rules }: PriceRules) => rules,
  ),
  author: field.text<'author'>('author', 'The author of the version'),
  reason: field.text<'reason'>('reason', 'The reason of the version'),
  created_at: field.isoTime<'createdAt'>('createdAt', 'When the version was created'),
};

export const PRICE_LIST_VERSION = resource<PriceListVersion>('PriceListVersion', VERSION);

const PRICED_MODEL = nested<PricedModel>({
  model: field.text('id'),
  kind: field.oneOf(['video', 'image', 'text'])('kind'),
  prices: field.list(
    nested<PricedModel['prices'][number]>({
      name: field.text('name'),
      catalogue: field.text.orAbsent('catalogue', 'The price in the catalogue'),
      price: field.text('price', 'The price in the list'),
    }),
  )('prices'),
});

export const BELOW_COST = nested<SoldBelowCost>({
  model: field.text('model'),
  upstream: field.text('upstream', 'The upstream of a route of the model'),
  what: field.text('what', 'The resolution, or the kind of tokens'),
  price_usd: field.exactUsd('price', 'The price of a video, an image or 1M tokens'),
  cost_usd: field.exactUsd('cost', 'The cost at the upstream'),
});

const SHOWN = resource<ShownPriceList>('ShownPriceList', {
  ...VERSION,
  accounts: field.count(({ summary }) => summary.accounts, 'The number of accounts with this list'),
  version_in_force: field.integer.orNull(
    ({ summary }) => summary.inForce,
    'The current version. Null before the first starts',
  ),
  models: field.list(PRICED_MODEL)('models', 'The models with their prices in the catalogue and in this version'),
  below_cost: field.list(BELOW_COST)('belowCost', 'The prices below the cost at an upstream'),
});

const aVersion: QueryParameter<number | undefined> = {
  description: 'The version of the list. By default, the current one, or the latest before any takes effect',
  schema: { type: 'integer', minimum: 1 },
  read: (given) => {
    if (given === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(given)) throw badRequest('"version" must be a whole number from 1');
    return Number(given);
  },
};

export const priceListEndpoints = endpoints('Administration', {
  setPriceList: endpoint({
    request: 'PATCH /admin/v1/accounts/{account_id}/price-list',
    access: 'admin-finance',
    summary: 'Set or remove the price list of an account',
    description:
      'Applies to all processes within about three seconds. Tasks and requests that started before keep their prices.',
    body: jsonBody('SetPriceList', setPriceListSchema),
    answers: { 200: dataOf(ACCOUNT.schema, 'The account') },
    handle: async ({ params, body, caller }, services) => {
      const { account_id: accountId } = params;
      await assign(services, { accountId, list: body.price_list, ...authorshipOf(caller, body) });
      return { data: await showAccount(services, accountId) };
    },
  }),
  listPriceLists: endpoint({
    request: 'GET /admin/v1/price-lists',
    access: 'admin-read',
    summary: 'List the price lists by name',
    answers: { 200: dataOf(arrayOf(PRICE_LIST.schema), 'The lists') },
    handle: async (_call, { reports }) => ({ data: (await findPriceLists(reports)).map(PRICE_LIST.present) }),
  }),
  createPriceList: endpoint({
    request: 'POST /admin/v1/price-lists',
    access: 'admin-finance',
    summary: 'Create a price list',
    description: 'The list applies to no account until it is assigned.',
    body: jsonBody('CreatePriceList', createPriceListSchema),
    answers: { 201: dataOf(SHOWN.schema, 'The first version') },
    refusals: ['idempotency_conflict'],
    handle: async ({ body, caller }, services) => {
      const { list, version } = await create(services, body.name, toVersion(body, caller));
      return { data: SHOWN.present(await showPriceList(services, list, version)) };
    },
  }),
  getPriceList: endpoint({
    request: 'GET /admin/v1/price-lists/{price_list}',
    access: 'admin-read',
    summary: 'Get a version of a price list, with all prices and the prices below cost',
    query: { version: aVersion },
    answers: { 200: dataOf(SHOWN.schema, 'The version') },
    handle: async ({ params, query }, services) => ({
      data: SHOWN.present(await showPriceList(services, params.price_list, query.version)),
    }),
  }),
  changePriceList: endpoint({
    request: 'POST /admin/v1/price-lists/{price_list}/versions',
    access: 'admin-finance',
    summary: 'Create a new version of a price list',
    description:
      'From `valid_from` on, the version replaces all others, including those with a later start. A version never changes, and charges keep their version.',
    body: jsonBody('ChangePriceList', changePriceListSchema),
    answers: { 201: dataOf(SHOWN.schema, 'The new version') },
    handle: async ({ params, body, caller }, services) => {
      const { list, version } = await change(services, params.price_list, toVersion(body, caller));
      return { data: SHOWN.present(await showPriceList(services, list, version)) };
    },
  }),
  listPriceListVersions: endpoint({
    request: 'GET /admin/v1/price-lists/{price_list}/versions',
    access: 'admin-read',
    summary: 'List the versions of a price list, newest first',
    query: page(([version = '', ...others]) =>
      others.length === 0 && /^\d{1,9}$/.test(version) ? Number(version) : null,
    ),
    answers: { 200: pageOf(PRICE_LIST_VERSION.schema, 'A page of versions') },
    handle: ({ params, query }, { reports }) =>
      listPage(
        query,
        (slice) => findVersions(reports, { list: params.price_list, ...slice }),
        PRICE_LIST_VERSION.present,
        ({ version }) => [String(version)],
      ),
  }),
});

function toVersion(body: BodyOf<typeof changePriceListSchema>, caller: Administrator): NewPriceListVersion {
  const { factor = '1', rules = [], valid_from: validFrom } = body;
  return {
    factor,
    rules,
    validFrom: validFrom === undefined ? undefined : new Date(validFrom),
    ...authorshipOf(caller, body),
  };
}
