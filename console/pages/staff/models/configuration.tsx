/** The operator's files: what is in force, what lies there, and what processes took up. */
import type { ConfigurationPreview, ConfigurationState } from '../../../../api/services/configuration-control.ts';
import type { ConfigurationRecord } from '../../../../db/queries/configurations.ts';
import { Badge, Card, Empty, Form, Problem, Table, Time } from '../../../html/components.tsx';
import { OPERATORS, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { may } from '../may.ts';

export function ConfigurationContent({
  state,
  preview,
  records,
  visit,
  problem,
}: {
  readonly state: ConfigurationState;
  readonly preview: ConfigurationPreview | null;
  readonly records: readonly ConfigurationRecord[];
  readonly visit: UserVisit;
  readonly problem: string | null;
}) {
  const { texts, session } = visit;
  const { staffModels: words } = texts;
  return (
    <>
      <Problem message={problem} />
      <Card title={words.now}>
        <dl>
          <dt>{words.version}</dt>
          <dd>{state.catalogueVersion}</dd>
          <dt>{words.since}</dt>
          <dd>
            <Time at={state.since} />
          </dd>
          <dt>{words.process}</dt>
          <dd>{state.process}</dd>
        </dl>
        {state.refusal === null ? null : (
          <>
            <p class="problem">{words.refused}</p>
            <pre>{state.refusal}</pre>
          </>
        )}
      </Card>
      <Card title={words.wouldChange}>
        <Changes preview={preview} state={state} texts={texts} />
        {may(visit, OPERATORS) && (preview !== null || state.refusal !== null) ? (
          <Form token={session.formToken} action="/console/staff/models/configuration">
            <button type="submit">{words.apply}</button>
          </Form>
        ) : null}
      </Card>
      <Card title={words.history}>
        <History records={records} texts={texts} />
      </Card>
    </>
  );
}

function Changes({
  preview,
  state,
  texts,
}: {
  readonly preview: ConfigurationPreview | null;
  readonly state: ConfigurationState;
  readonly texts: Texts;
}) {
  const { staffModels: words, common, staff } = texts;
  if (preview === null) return <Empty>{state.refusal === null ? words.sameFiles : words.wrongFiles}</Empty>;
  if (preview.changes.length === 0) return <Empty>{words.onlyUpstreams}</Empty>;
  return (
    <>
      <p>{words.fromTo(state.catalogueVersion, preview.catalogueVersion)}</p>
      <Table label={words.wouldChange} columns={[common.model, staff.action, words.before, words.after]}>
        {preview.changes.map(({ model, what, before, after, amount }) => (
          <tr>
            <th scope="row">{model}</th>
            <td>
              {what.replaceAll('_', ' ')} {amount === 'price' ? <Badge tone="busy">{common.price}</Badge> : null}
            </td>
            <td>{before}</td>
            <td>{after}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function History({ records, texts }: { readonly records: readonly ConfigurationRecord[]; readonly texts: Texts }) {
  const { staffModels: words, staff, common } = texts;
  if (records.length === 0) return <Empty>{words.noHistory}</Empty>;
  return (
    <Table label={words.history} columns={[staff.when, words.process, words.version, common.status]}>
      {records.map(({ createdAt, process, catalogueVersion, refusal }) => (
        <tr>
          <td>
            <Time at={createdAt} />
          </td>
          <td>{process}</td>
          <td>{catalogueVersion}</td>
          <td>
            {refusal === null ? (
              <Badge tone="good">{words.tookUp}</Badge>
            ) : (
              <>
                <Badge tone="bad">{words.refusedOne}</Badge>
                <div class="soft">{refusal}</div>
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
