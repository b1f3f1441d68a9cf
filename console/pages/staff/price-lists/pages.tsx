/** Price lists: what customers pay instead of the prices of the catalogue. */
import { BELOW_COST, PRICE_LIST, PRICE_LIST_VERSION } from '../../../../services/resources/price-lists.ts';
import { changePriceListSchema, createPriceListSchema } from '../../../../services/input/admin.ts';
import {
  changePriceList,
  createPriceList,
  type PricedModel,
  type ShownPriceList,
  showPriceList,
} from '../../../../services/money/price-lists.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import { lockRow } from '../../../../db/lock-row.ts';
import { listPriceLists, listPriceListVersions, type NewPriceListVersion } from '../../../../db/queries/price-lists.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, Card, ExactMoney, Facts, Field, Form, Time } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { priceName, priceText, soldWhat } from '../../../html/terms.tsx';
import { hasPermission, openPage, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { saveIfUnchanged, type StoredFields } from '../../../stored-fields.ts';
import { atItsLine, readRules, writeRules } from './rules.ts';

const PATH = '/staff/price-lists';
const SHOWN_VERSIONS = 50;

const validateNew = createValidator(createPriceListSchema);
const validateChange = createValidator(changePriceListSchema);

const listsPage = staff.page(PATH, 'read', showLists);
const listPage = staff.page(`${PATH}/{price_list}`, 'read', showList);

export const staffPriceListPages = [
  listsPage,
  listsPage.form(
    '',
    'moveMoney',
    async (visit, services) => {
      const { name, ...version } = validateNew({ name: visit.form.text('name'), ...bodyOf(visit) });
      await createPriceList(services, name, toVersion(visit, version)).catch((error: unknown) => refuse(error, visit));
      return name;
    },
    (_visit, name) => openPage(`${PATH}/${name}`, 'priceListCreated'),
  ),
  listPage,
  listPage.form('', 'moveMoney', addVersion, 'versionCreated'),
];

function addVersion(visit: UserVisit, { database, catalogue }: ApiServices): Promise<unknown> {
  const { price_list: name = '' } = visit.params;
  return saveIfUnchanged(visit, database, {
    find: async (transaction) => {
      await lockRow(transaction, 'price_lists', { name });
      return showPriceList({ database: transaction, catalogue }, name);
    },
    fieldsOf: latestFields,
    save: (transaction) =>
      changePriceList(
        { database: transaction, catalogue },
        name,
        toVersion(visit, validateChange(bodyOf(visit))),
      ).catch((error: unknown) => refuse(error, visit)),
  });
}

function refuse(error: unknown, { form, texts }: UserVisit): never {
  throw atItsLine(error, form.text('rules'), texts);
}

/** A new version replaces the latest version. */
function latestFields({ summary }: ShownPriceList): StoredFields {
  return { price_list_version: summary.latest };
}

async function showLists(visit: UserVisit, { reports }: ApiServices): Promise<PageResult> {
  const lists = await listPriceLists(reports);
  const { priceLists: messages, titles } = visit.texts;
  return showPage(
    titles.priceLists,
    <p class="soft">{messages.hint}</p>,
    <TableCard
      of={PRICE_LIST}
      rows={lists}
      none={messages.none}
      pageOf={({ name }) => `/console${PATH}/${name}`}
      columns={[
        'name',
        [messages.accounts, ({ accounts }) => accounts, 'number'],
        [messages.inForce, ({ inForce }) => inForce ?? messages.notYet, 'number'],
        [messages.latest, ({ latest }) => latest, 'number'],
        'created_at',
      ]}
    />,
    hasPermission(visit, 'moveMoney') ? (
      <Card title={messages.create}>
        <Form action={`/console${PATH}`} submit={messages.create}>
          <Field name="name" hint={messages.nameHint} required />
          <VersionFields factor="1" batchFactor="" rules="" />
        </Form>
      </Card>
    ) : null,
  );
}

async function showList(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const name = visit.params['price_list'] ?? '';
  const asked = visit.query.get('version') ?? '';
  const [shown, versions] = await Promise.all([
    showPriceList(services, name, /^[1-9]\d{0,8}$/.test(asked) ? Number(asked) : undefined),
    listPriceListVersions(services.reports, { list: name, before: undefined, limit: SHOWN_VERSIONS }),
  ]);
  const { priceLists: messages, common, fields } = visit.texts;
  const { summary, version, models, belowCost } = shown;
  return showPage(
    name,
    <Card title={messages.version(version)}>
      <Facts
        facts={[
          [fields.status, <Status shown={shown} />],
          [fields.valid_from, <Time at={shown.validFrom} />],
          [fields.factor, `× ${shown.factor}`],
          [fields.batch_factor, shown.batchFactor === null ? messages.catalogue : `× ${shown.batchFactor}`],
          [messages.accounts, summary.accounts],
          [fields.author, shown.author],
          [fields.reason, shown.reason],
        ]}
      />
    </Card>,
    belowCost.length === 0 ? null : (
      <TableCard
        title={messages.belowCost}
        of={BELOW_COST}
        rows={belowCost}
        columns={[
          'model',
          'upstream',
          [messages.what, (loss) => soldWhat(loss, visit.texts)],
          [common.price, ({ price }) => <ExactMoney amount={price} />, 'number'],
          'cost_usd',
        ]}
      />
    ),
    hasPermission(visit, 'moveMoney') ? (
      <Card title={messages.change}>
        <p class="soft">{messages.changeHint}</p>
        <Form action={`/console${PATH}/${shown.list}`} submit={messages.change} stored={latestFields(shown)}>
          <VersionFields factor={shown.factor} batchFactor={shown.batchFactor ?? ''} rules={writeRules(shown.rules)} />
        </Form>
      </Card>
    ) : null,
    <TableCard
      title={messages.changed}
      of={MODEL}
      rows={models.map(onlyChanged).filter(({ prices }) => prices.length > 0)}
      none={messages.nothingChanged}
      columns={[[fields.model, 'id'], 'kind', [common.prices, ({ prices }) => <Prices prices={prices} />]]}
    />,
    <TableCard
      title={messages.versions}
      of={PRICE_LIST_VERSION}
      rows={versions}
      pageOf={(one) => `/console${PATH}/${one.list}?version=${one.version}`}
      columns={[
        [messages.latest, (one) => one.version],
        [fields.valid_from, ({ validFrom }) => <Time at={validFrom} />],
        [fields.factor, ({ factor }) => `× ${factor}`],
        [fields.batch_factor, ({ batchFactor }) => (batchFactor === null ? messages.catalogue : `× ${batchFactor}`)],
        'author',
        'reason',
      ]}
    />,
  );
}

function bodyOf({ form, texts }: UserVisit) {
  const from = form.text('valid_from');
  return {
    factor: form.text('factor'),
    batch_factor: form.text('batch_factor') || null,
    rules: readRules(form.text('rules'), texts),
    ...(from !== '' && { valid_from: from }),
    reason: form.text('reason'),
  };
}

function toVersion(
  { user }: UserVisit,
  {
    factor = '1',
    batch_factor: batchFactor = null,
    rules = [],
    valid_from: validFrom,
    reason,
  }: ReturnType<typeof validateChange>,
): NewPriceListVersion {
  return { factor, batchFactor, rules, validFrom, reason, author: user.email };
}

const RULE_LINES = 8;

const MODEL = nested<PricedModel>({ id: field.text('id'), kind: field.oneOf(['video', 'image', 'text'])('kind') });

function Status({ shown: { summary, version, validFrom } }: { shown: ShownPriceList }) {
  const { priceLists: messages } = useTexts();
  if (summary.inForce === version) return <Badge tone="good">{messages.inForce}</Badge>;
  return summary.inForce !== null && version < summary.inForce ? (
    <Badge tone="calm">{messages.isReplaced}</Badge>
  ) : (
    <>
      <Badge tone="busy">{messages.isPlanned}</Badge> <Time at={validFrom} />
    </>
  );
}

/** Keeps only changed prices: the page of the models shows the others. */
function onlyChanged({ prices, ...model }: PricedModel): PricedModel {
  return { ...model, prices: prices.filter(({ catalogue, price }) => catalogue !== price) };
}

function Prices({ prices }: Pick<PricedModel, 'prices'>) {
  const texts = useTexts();
  return (
    <ul class="inline">
      {prices.map(({ name, catalogue, price }) => (
        <li>
          <span class="soft">{priceName(name, texts)}</span>{' '}
          {catalogue === undefined ? null : <s class="soft">{priceText(name, catalogue, texts)}</s>}{' '}
          <span class="money">{priceText(name, price, texts)}</span>
        </li>
      ))}
    </ul>
  );
}

function VersionFields({ factor, batchFactor, rules }: { factor: string; batchFactor: string; rules: string }) {
  const { priceLists: messages } = useTexts();
  return (
    <>
      <Field name="factor" hint={messages.factorHint} inputMode="decimal" value={factor} required />
      <Field name="batch_factor" hint={messages.batchFactorHint} inputMode="decimal" value={batchFactor} />
      <Field name="rules" hint={messages.rulesHint} lines={RULE_LINES} value={rules} />
      <Field name="valid_from" hint={messages.validFromHint} type="datetime-local" />
      <Field name="reason" required />
    </>
  );
}
