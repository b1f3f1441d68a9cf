/** Price lists: what customers pay instead of the catalogue's prices. */
import type Joi from 'joi';
import {
  listPriceLists as findPriceLists,
  listPriceListVersions as findVersions,
  type NewPriceListVersion,
} from '../../../db/queries/price-lists.ts';
import { arrayOf, integer } from '../../../domain/json-schema.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, page, pageOf } from '../../endpoint/page.ts';
import { type Administrator, authorshipOf } from '../../../services/people/administrator.ts';
import {
  changePriceList as change,
  createPriceList as create,
  setPriceList as assign,
  showPriceList,
} from '../../../services/money/price-lists.ts';
import { type BodyOf, textOf } from '../../../services/input/validation.ts';
import { ACCOUNT } from '../../../services/resources/admin.ts';
import { changePriceListSchema, createPriceListSchema, setPriceListSchema } from '../../../services/input/admin.ts';
import { showAccount } from './show-account.ts';
import { PRICE_LIST, PRICE_LIST_VERSION, SHOWN } from '../../../services/resources/price-lists.ts';

const aVersion: Joi.AnySchema<number | undefined> = textOf(
  integer(undefined, { minimum: 1 }),
  'must be a whole number from 1',
  (given) => (/^[1-9]\d{0,8}$/.test(given) ? Number(given) : null),
).description('The version of the list. By default, the current one, or the latest before any takes effect');

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
  const { factor = '1', batch_factor: batchFactor = null, rules = [], valid_from: validFrom } = body;
  return {
    factor,
    batchFactor,
    rules,
    validFrom,
    ...authorshipOf(caller, body),
  };
}
