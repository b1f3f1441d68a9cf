/** Models and prices in force, pending changes in the files, and the history of the configuration. */
import { CONFIGURATION_RECORD } from '../../../../services/resources/configuration.ts';
import {
  type ConfigurationPreview,
  type ConfigurationState,
  readRefusal,
} from '../../../../services/operations/configuration-control.ts';
import { overrideModel } from '../../../../services/operations/override-model.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { listSoldModels, type SoldModel } from '../../../../services/operations/sold-models.ts';
import { listConfigurations } from '../../../../db/queries/configurations.ts';
import { badRequest } from '../../../../domain/errors.ts';
import { OperatorError } from '../../../../domain/operator-error.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, Card, Empty, Facts, FormButton, WithNote, Problem, Time } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { ResourceTable, TableCard } from '../../../html/resource-table.tsx';
import { InlinePrices, PriceFacts, TermFacts } from '../../../html/terms.tsx';
import { requireFound, hasPermission, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { authorshipOf } from '../reason.ts';

const LATEST_RECORDS = 20;

const configurationPage = staff.page('/staff/models/configuration', 'read', showConfiguration);
const modelPage = staff.page('/staff/models/{model_id}', 'read', showModel);

export const staffModelPages = [
  staff.page('/staff/models', 'read', showModels),
  configurationPage,
  configurationPage.form(
    '',
    'operate',
    (_visit, { operations: { configuration } }) => configuration.apply().catch(asBadRequest),
    'applied',
  ),
  modelPage,
  ...(['disable', 'enable'] as const).map((kind) =>
    modelPage.form(
      `/${kind}`,
      'operate',
      (visit, services) =>
        overrideModel(services, { model: visit.params['model_id'] ?? '', kind, ...authorshipOf(visit) }),
      `${kind}d`,
    ),
  ),
];

async function showModels({ texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { staffModels: messages, models, fields, titles, common } = texts;
  const { catalogueVersion } = services.operations.configuration.show();
  const refusal = await readRefusal(services);
  return showPage(
    titles.models,
    <p>
      {messages.inForce(catalogueVersion)} <a href="/console/staff/models/configuration">{messages.files}</a>
    </p>,
    refusal === null ? null : <Problem of={messages.refused} />,
    <p class="soft">{models.units}</p>,
    <TableCard
      of={OFFERED}
      rows={listSoldModels(services)}
      pageOf={({ id }) => `/console/staff/models/${encodeURIComponent(id)}`}
      columns={[
        [fields.model, 'id'],
        'kind',
        [fields.status, (model) => <ModelState model={model} />],
        [common.prices, ({ prices }) => <InlinePrices prices={prices} />],
      ]}
    />,
  );
}

function showModel(visit: UserVisit, services: ApiServices): PageResult {
  const model = requireFound(listSoldModels(services).find(({ id }) => id === visit.params['model_id']));
  const { staffModels: messages, staff: staffMessages, fields, values, common } = visit.texts;
  const { disabledBy } = model;
  const action = disabledBy === null ? 'disable' : 'enable';
  return showPage(
    model.id,
    <Card title={common.details}>
      <Facts
        facts={[
          [
            fields.status,
            <>
              <ModelState model={model} />{' '}
              {disabledBy === null ? null : (
                <>
                  <Time at={disabledBy.createdAt} /> {staffMessages.by(disabledBy.author, disabledBy.reason)}
                </>
              )}
            </>,
          ],
          [fields.kind, values.kind[model.kind]],
        ]}
      />
    </Card>,
    <Card title={common.prices}>
      <p class="soft">{model.kind === 'text' ? messages.perMillion : messages.inUsd}</p>
      <PriceFacts prices={model.prices} />
    </Card>,
    <Card title={messages.terms}>
      <TermFacts terms={model.terms} />
    </Card>,
    hasPermission(visit, 'operate') ? (
      <ReasonCard
        title={common[action]}
        hint={messages.orderHints[action]}
        action={`models/${encodeURIComponent(model.id)}/${action}`}
        look={action === 'disable' ? 'danger' : ''}
      />
    ) : null,
  );
}

async function showConfiguration(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database } = services;
  const { configuration } = services.operations;
  const [preview, records, refusal] = await Promise.all([
    configuration.preview(),
    listConfigurations(database, LATEST_RECORDS),
    readRefusal(services),
  ]);
  const { staffModels: messages, fields, common } = visit.texts;
  const state = configuration.show();
  return showPage(
    messages.files,
    <Card title={messages.now}>
      <Facts
        facts={[
          [fields.catalogue_version, state.catalogueVersion],
          [messages.since, <Time at={state.since} />],
          [fields.process, state.process],
        ]}
      />
      {refusal === null ? null : (
        <>
          <p class="problem">{messages.refused}</p>
          <pre>{refusal}</pre>
        </>
      )}
    </Card>,
    <Card title={messages.wouldChange}>
      <Changes preview={preview} state={state} />
      {hasPermission(visit, 'operate') && (preview !== null || refusal !== null) ? (
        <FormButton action="/console/staff/models/configuration" label={messages.apply} look="" />
      ) : null}
    </Card>,
    <TableCard
      of={CONFIGURATION_RECORD}
      title={messages.history}
      rows={records}
      none={messages.noHistory}
      columns={[
        [common.when, 'created_at'],
        'process',
        'catalogue_version',
        [
          fields.status,
          ({ refusal }) => (
            <WithNote note={refusal}>
              <Badge tone={refusal === null ? 'good' : 'bad'}>
                {refusal === null ? messages.tookUp : messages.refusedOne}
              </Badge>
            </WithNote>
          ),
        ],
      ]}
    />,
  );
}

function asBadRequest(error: unknown): never {
  throw error instanceof OperatorError ? badRequest(error.message) : error;
}

const OFFERED = nested<SoldModel>({ id: field.text('id'), kind: field.oneOf(['video', 'image', 'text'])('kind') });

function ModelState({ model }: { model: SoldModel }) {
  const { staffModels: messages, values } = useTexts();
  return model.disabledBy === null ? (
    <Badge tone="good">{messages.sold}</Badge>
  ) : (
    <Badge tone="bad">{values.state.disabled}</Badge>
  );
}

const OFFER_CHANGE = nested<ConfigurationPreview['changes'][number]>({
  model: field.text('model'),
  before: field.text.orNull('before'),
  after: field.text.orNull('after'),
});

function Changes({ preview, state }: { preview: ConfigurationPreview | null; state: ConfigurationState }) {
  const { staffModels: messages, common, staff } = useTexts();
  if (preview === null) return <Empty>{state.refusal === null ? messages.sameFiles : messages.wrongFiles}</Empty>;
  if (preview.changes.length === 0) return <Empty>{messages.onlyUpstreams}</Empty>;
  return (
    <>
      <p>{messages.fromTo(state.catalogueVersion, preview.catalogueVersion)}</p>
      <ResourceTable
        of={OFFER_CHANGE}
        label={messages.wouldChange}
        rows={preview.changes}
        columns={[
          'model',
          [
            staff.action,
            ({ what, amount }) => (
              <>
                {what.replaceAll('_', ' ')} {amount === 'price' ? <Badge tone="busy">{common.price}</Badge> : null}
              </>
            ),
          ],
          'before',
          'after',
        ]}
      />
    </>
  );
}
