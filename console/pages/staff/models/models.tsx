/** The models of the catalogue in force. */
import type { ConfigurationState } from '../../../../api/services/configuration-control.ts';
import type { SoldModel } from '../../../../api/services/sold-models.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, Card, Problem, Time } from '../../../html/components.tsx';
import { Facts } from '../../../html/facts.tsx';
import { InlinePrices, PriceFacts, TermFacts } from '../../../html/terms.tsx';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { useTexts } from '../../../html/page-context.ts';

const OFFERED = nested<SoldModel>({ id: field.text('id'), kind: field.oneOf(['video', 'image', 'text'])('kind') });

export function ModelTable({
  models,
  state: { catalogueVersion, refusal },
}: {
  readonly models: readonly SoldModel[];
  readonly state: ConfigurationState;
}) {
  const { staffModels: words, fields } = useTexts();
  return (
    <>
      <p>
        {words.inForce(catalogueVersion)} <a href="/console/staff/models/configuration">{words.files}</a>
      </p>
      {refusal === null ? null : <Problem of={words.refused} />}
      <TableCard
        of={OFFERED}
        label={words.title}
        rows={models}
        pageOf={({ id }) => `/console/staff/models/${encodeURIComponent(id)}`}
        columns={[
          [fields.model, 'id'],
          'kind',
          [fields.status, (model) => <ModelState model={model} />],
          [words.prices, ({ prices }) => <InlinePrices prices={prices} />],
        ]}
      />
    </>
  );
}

function ModelState({ model }: { readonly model: SoldModel }) {
  const { staffModels: words } = useTexts();
  return model.disabledBy === null ? (
    <Badge tone="good">{words.sold}</Badge>
  ) : (
    <Badge tone="bad">{words.disabled}</Badge>
  );
}

export function ModelContent({ model, visit }: { readonly model: SoldModel; readonly visit: UserVisit }) {
  const { texts } = visit;
  const { staffModels: words, fields } = texts;
  const { disabledBy } = model;
  const action = disabledBy === null ? 'disable' : 'enable';
  return (
    <>
      <Card title={words.details}>
        <Facts
          facts={[
            [
              fields.status,
              <>
                <ModelState model={model} />{' '}
                {disabledBy === null ? null : (
                  <>
                    <Time at={disabledBy.createdAt} /> {words.by(disabledBy.author, disabledBy.reason)}
                  </>
                )}
              </>,
            ],
            [texts.fields.kind, texts.values.kind[model.kind]],
          ]}
        />
      </Card>
      <Card title={words.prices}>
        <p class="soft">{model.kind === 'text' ? words.perMillion : words.inUsd}</p>
        <PriceFacts prices={model.prices} />
      </Card>
      <Card title={words.terms}>
        <TermFacts terms={model.terms} />
      </Card>
      {may(visit, 'operate') ? (
        <ReasonCard
          title={words.orders[action]}
          hint={words.orderHints[action]}
          action={`models/${encodeURIComponent(model.id)}/${action}`}
          look={action === 'disable' ? 'danger' : ''}
        />
      ) : null}
    </>
  );
}
