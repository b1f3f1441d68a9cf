/** Price lists, and one of them: its versions, what each model costs by it, and the form that changes it. */
import { BELOW_COST, PRICE_LIST, PRICE_LIST_VERSION } from '../../../../api/routes/admin/price-lists.ts';
import type { PricedModel, ShownPriceList } from '../../../../api/services/price-lists.ts';
import type { PriceListSummary, PriceListVersion } from '../../../../db/queries/price-lists.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, Card, ExactMoney, Field, Form, Time } from '../../../html/components.tsx';
import { Facts } from '../../../html/facts.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { priceName, priceText } from '../../../html/terms.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { writeRules } from './rules.ts';

const PATH = '/console/staff/price-lists';
const RULE_LINES = 8;

const MODEL = nested<PricedModel>({ id: field.text('id'), kind: field.oneOf(['video', 'image', 'text'])('kind') });

export function ListsContent({
  lists,
  visit,
}: {
  readonly lists: readonly PriceListSummary[];
  readonly visit: UserVisit;
}) {
  const { priceLists: words, fields } = visit.texts;
  return (
    <>
      <p class="soft">{words.hint}</p>
      <TableCard
        of={PRICE_LIST}
        label={words.title}
        rows={lists}
        none={words.none}
        pageOf={({ name }) => `${PATH}/${name}`}
        columns={[
          [fields.name, 'name'],
          [words.accounts, ({ accounts }) => accounts, 'number'],
          [words.inForce, ({ inForce }) => inForce ?? words.notYet, 'number'],
          [words.latest, ({ latest }) => latest, 'number'],
          'created_at',
        ]}
      />
      {may(visit, 'moveMoney') ? (
        <Card title={words.create}>
          <Form action={PATH}>
            <Field name="name" hint={words.nameHint} required />
            <VersionFields factor="1" rules="" />
            <button type="submit">{words.create}</button>
          </Form>
        </Card>
      ) : null}
    </>
  );
}

interface ListProps {
  readonly shown: ShownPriceList;
  readonly versions: readonly PriceListVersion[];
  readonly visit: UserVisit;
}

export function ListContent({ shown, versions, visit }: ListProps) {
  const { priceLists: words, common, fields, staff, staffModels } = visit.texts;
  const { summary, version, models, belowCost } = shown;
  return (
    <>
      <Card title={words.version(version)}>
        <Facts
          facts={[
            [fields.status, <Status shown={shown} />],
            [fields.valid_from, <Time at={shown.validFrom} />],
            [fields.factor, `× ${shown.factor}`],
            [words.accounts, summary.accounts],
            [fields.author, shown.author],
            [fields.reason, shown.reason],
          ]}
        />
      </Card>
      {belowCost.length === 0 ? null : (
        <TableCard
          title={words.belowCost}
          of={BELOW_COST}
          rows={belowCost}
          columns={[
            [fields.model, 'model'],
            [fields.upstream, 'upstream'],
            [words.what, ({ what }) => priceName(what, visit.texts)],
            [common.price, ({ price }) => <ExactMoney amount={price} />, 'number'],
            'cost_usd',
          ]}
        />
      )}
      {may(visit, 'moveMoney') ? (
        <Card title={words.change}>
          <p class="soft">{words.changeHint}</p>
          <Form action={`${PATH}/${shown.list}`}>
            <VersionFields factor={shown.factor} rules={writeRules(shown.rules)} />
            <button type="submit">{words.change}</button>
          </Form>
        </Card>
      ) : null}
      <TableCard
        title={words.changed}
        of={MODEL}
        rows={models.map(onlyChanged).filter(({ prices }) => prices.length > 0)}
        none={words.nothingChanged}
        columns={[[fields.model, 'id'], 'kind', [staffModels.prices, ({ prices }) => <Prices prices={prices} />]]}
      />
      <TableCard
        title={words.versions}
        of={PRICE_LIST_VERSION}
        rows={versions}
        pageOf={(one) => `${PATH}/${one.list}?version=${one.version}`}
        columns={[
          [words.latest, (one) => one.version],
          [fields.valid_from, ({ validFrom }) => <Time at={validFrom} />],
          [fields.factor, ({ factor }) => `× ${factor}`],
          'author',
          [staff.reason, 'reason'],
        ]}
      />
    </>
  );
}

function Status({ shown: { summary, version, validFrom } }: { readonly shown: ShownPriceList }) {
  const { priceLists: words } = useTexts();
  if (summary.inForce === version) return <Badge tone="good">{words.isInForce}</Badge>;
  return summary.inForce !== null && version < summary.inForce ? (
    <Badge tone="calm">{words.isReplaced}</Badge>
  ) : (
    <>
      <Badge tone="busy">{words.isPlanned}</Badge> <Time at={validFrom} />
    </>
  );
}

/** Prices that stay are on the page of the models, and would make this one large. */
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
          {catalogue === undefined ? null : <s class="soft">{priceText(name, catalogue)}</s>}{' '}
          <span class="money">{priceText(name, price)}</span>
        </li>
      ))}
    </ul>
  );
}

function VersionFields({ factor, rules }: { readonly factor: string; readonly rules: string }) {
  const { priceLists: words, staff } = useTexts();
  return (
    <>
      <Field name="factor" hint={words.factorHint} inputMode="decimal" value={factor} required />
      <Field name="rules" hint={words.rulesHint} lines={RULE_LINES} value={rules} />
      <Field name="valid_from" hint={words.validFromHint} type="datetime-local" />
      <Field name="reason" label={staff.reason} required />
    </>
  );
}
