/** Price lists: what customers pay instead of the prices of the catalogue. */
import { changePriceListSchema, createPriceListSchema } from '../../../../api/routes/admin/schema.ts';
import { changePriceList, createPriceList, showPriceList } from '../../../../api/services/price-lists.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { createValidator } from '../../../../api/validation.ts';
import { listPriceLists, listPriceListVersions, type NewPriceListVersion } from '../../../../db/queries/price-lists.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import { carryOut } from '../../../form-problem.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { ListContent, ListsContent } from './content.tsx';
import { readRules } from './rules.ts';

const PATH = '/staff/price-lists';
const SHOWN_VERSIONS = 50;

const validateNew = createValidator(createPriceListSchema);
const validateChange = createValidator(changePriceListSchema);

export const staffPriceListPages = [
  staff.page(PATH, 'read', (visit, services) => showLists(visit, services)),
  staff.form(PATH, 'moveMoney', (visit, services) =>
    carryOut(
      async () => {
        const { name, ...version } = validateNew({ name: visit.form.text('name'), ...bodyOf(visit) });
        await createPriceList(services, name, toVersion(visit, version));
      },
      `${PATH}/${encodeURIComponent(visit.form.text('name'))}`,
      (problem) => showLists(visit, services, problem),
    ),
  ),
  staff.page(`${PATH}/{price_list}`, 'read', (visit, services) => showList(visit, services)),
  staff.form(`${PATH}/{price_list}`, 'moveMoney', (visit, services) =>
    carryOut(
      async () => changePriceList(services, nameOf(visit), toVersion(visit, validateChange(bodyOf(visit)))),
      `${PATH}/${encodeURIComponent(nameOf(visit))}`,
      (problem) => showList(visit, services, problem),
    ),
  ),
];

function nameOf({ params }: UserVisit): string {
  return params['price_list'] ?? '';
}

async function showLists(
  visit: UserVisit,
  { reports }: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const lists = await listPriceLists(reports);
  return showPage('priceLists', visit.texts.priceLists.title, <ListsContent {...{ lists, visit }} />, problem);
}

async function showList(
  visit: UserVisit,
  services: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const name = nameOf(visit);
  const asked = visit.query.get('version') ?? '';
  const [shown, versions] = await Promise.all([
    showPriceList(services, name, /^[1-9]\d{0,8}$/.test(asked) ? Number(asked) : undefined),
    listPriceListVersions(services.reports, { list: name, before: undefined, limit: SHOWN_VERSIONS }),
  ]);
  return showPage('priceLists', name, <ListContent {...{ shown, versions, visit }} />, problem);
}

function bodyOf({ form, texts }: UserVisit) {
  const from = form.text('valid_from');
  return {
    factor: form.text('factor'),
    rules: readRules(form.text('rules'), texts),
    // Browsers leave out the time zone; the console shows all times in UTC.
    ...(from !== '' && { valid_from: /(?:Z|[+-]\d\d:\d\d)$/.test(from) ? from : `${from}Z` }),
    reason: form.text('reason'),
  };
}

function toVersion(
  { user }: UserVisit,
  { factor = '1', rules = [], valid_from: from, reason }: ReturnType<typeof validateChange>,
): NewPriceListVersion {
  return { factor, rules, validFrom: from === undefined ? undefined : new Date(from), reason, author: user.email };
}
