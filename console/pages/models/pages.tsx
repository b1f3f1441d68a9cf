/** The models that an account may use, at its own prices. */
import { describePrices } from '../../../services/money/customer-prices.ts';
import type { Terms } from '../../../catalogue/offer.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import { Badge } from '../../html/components.tsx';
import { ApiReference } from '../../html/api-reference.tsx';
import { ChoiceFilter, FieldFilter, Filters } from '../../html/filters.tsx';
import { RateNote } from '../../html/other-currency.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { InlinePrices } from '../../html/terms.tsx';
import { member, showPage } from '../../page.ts';
import { findOwnPriceList } from '../own-account.ts';
import { MODEL_KINDS, modelsByKind, type PlaygroundKind } from '../playground/models.ts';

interface PricedModel {
  readonly id: string;
  readonly kind: PlaygroundKind;
  readonly prices: Terms;
}

const PRICED_MODEL = nested<PricedModel>({ id: field.text('id'), kind: field.oneOf(MODEL_KINDS)('kind') });

export const modelPages = [
  member.page('/accounts/{account_id}/models', 'see', async (visit, services) => {
    const { account, query, texts } = visit;
    const { models: messages, fields, titles, common } = texts;
    const kind = query.get('kind') ?? '';
    const part = (query.get('model') ?? '').trim().toLowerCase();
    const prices = await findOwnPriceList(visit, services);
    const rows = modelsByKind(services.catalogue).flatMap(([ofKind, models]) =>
      models
        .filter(({ id }) => (kind === '' || kind === ofKind) && id.toLowerCase().includes(part))
        .map((model) => ({ id: model.id, kind: ofKind, prices: describePrices(model, prices) })),
    );
    const playground = `/console/accounts/${account.accountId}/playground?model=`;
    return showPage(
      titles.models,
      <Filters>
        <FieldFilter name="model" label={messages.part} />
        <ChoiceFilter name="kind" all={messages.allKinds} values={MODEL_KINDS} />
      </Filters>,
      <p class="soft">{messages.units}</p>,
      <RateNote />,
      <ApiReference tag="Models" />,
      <TableCard
        of={PRICED_MODEL}
        rows={rows}
        none={messages.none}
        columns={[
          [fields.model, 'id'],
          'kind',
          [common.prices, (model) => <InlinePrices prices={model.prices} withOtherCurrency />],
          hasMemberPermission(account.role, 'develop')
            ? [
                '',
                ({ id }) =>
                  services.operations.models.disabledBy(id) === null ? (
                    <a href={playground + encodeURIComponent(id)}>{messages.tryIt}</a>
                  ) : (
                    <Badge tone="bad">{texts.values.state.disabled}</Badge>
                  ),
              ]
            : null,
        ]}
      />,
    );
  }),
];
