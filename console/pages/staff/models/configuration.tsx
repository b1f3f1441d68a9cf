/** The configuration files: the version in force, the changes in the files, and the history of all processes. */
import { CONFIGURATION_RECORD } from '../../../../api/routes/admin/configuration.ts';
import type { ConfigurationPreview, ConfigurationState } from '../../../../api/services/configuration-control.ts';
import type { ConfigurationRecord } from '../../../../db/queries/configurations.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, Card, Empty, FormButton, Noted, Time } from '../../../html/components.tsx';
import { Facts } from '../../../html/facts.tsx';
import { ResourceTable, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { useTexts } from '../../../html/page-context.ts';

const OFFER_CHANGE = nested<ConfigurationPreview['changes'][number]>({
  model: field.text('model'),
  before: field.text.orNull('before'),
  after: field.text.orNull('after'),
});

export function ConfigurationContent({
  state,
  preview,
  records,
  visit,
}: {
  readonly state: ConfigurationState;
  readonly preview: ConfigurationPreview | null;
  readonly records: readonly ConfigurationRecord[];
  readonly visit: UserVisit;
}) {
  const { texts } = visit;
  const { staffModels: words } = texts;
  return (
    <>
      <Card title={words.now}>
        <Facts
          facts={[
            [texts.fields.catalogue_version, state.catalogueVersion],
            [words.since, <Time at={state.since} />],
            [texts.fields.process, state.process],
          ]}
        />
        {state.refusal === null ? null : (
          <>
            <p class="problem">{words.refused}</p>
            <pre>{state.refusal}</pre>
          </>
        )}
      </Card>
      <Card title={words.wouldChange}>
        <Changes preview={preview} state={state} />
        {may(visit, 'operate') && (preview !== null || state.refusal !== null) ? (
          <FormButton action="/console/staff/models/configuration" label={words.apply} look="" />
        ) : null}
      </Card>
      <History records={records} />
    </>
  );
}

function Changes({
  preview,
  state,
}: {
  readonly preview: ConfigurationPreview | null;
  readonly state: ConfigurationState;
}) {
  const { staffModels: words, common, staff } = useTexts();
  if (preview === null) return <Empty>{state.refusal === null ? words.sameFiles : words.wrongFiles}</Empty>;
  if (preview.changes.length === 0) return <Empty>{words.onlyUpstreams}</Empty>;
  return (
    <>
      <p>{words.fromTo(state.catalogueVersion, preview.catalogueVersion)}</p>
      <ResourceTable
        of={OFFER_CHANGE}
        label={words.wouldChange}
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

function History({ records }: { readonly records: readonly ConfigurationRecord[] }) {
  const { staffModels: words, staff, fields } = useTexts();
  return (
    <TableCard
      of={CONFIGURATION_RECORD}
      title={words.history}
      rows={records}
      none={words.noHistory}
      columns={[
        [staff.when, 'created_at'],
        'process',
        'catalogue_version',
        [
          fields.status,
          ({ refusal }) => (
            <Noted note={refusal}>
              <Badge tone={refusal === null ? 'good' : 'bad'}>
                {refusal === null ? words.tookUp : words.refusedOne}
              </Badge>
            </Noted>
          ),
        ],
      ]}
    />
  );
}
