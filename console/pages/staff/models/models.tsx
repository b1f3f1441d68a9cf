/** The models of the catalogue in force. */
import type { ConfigurationState } from '../../../../api/services/configuration-control.ts';
import type { SoldModel } from '../../../../api/services/sold-models.ts';
import { Badge, Card, Field, Form, Problem, Table, Time } from '../../../html/components.tsx';
import { OPERATORS, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { may } from '../may.ts';

export function ModelTable({
  models,
  state: { catalogueVersion, refusal },
  texts,
}: {
  readonly models: readonly SoldModel[];
  readonly state: ConfigurationState;
  readonly texts: Texts;
}) {
  const { staffModels: words, common } = texts;
  return (
    <>
      <p>
        {words.inForce(catalogueVersion)} <a href="/console/staff/models/configuration">{words.files}</a>
      </p>
      {refusal === null ? null : <Problem message={words.refused} />}
      <Card>
        <Table label={words.title} columns={[common.model, words.kind, common.status, words.prices]}>
          {models.map((model) => (
            <tr>
              <th scope="row">
                <a href={`/console/staff/models/${encodeURIComponent(model.id)}`}>{model.id}</a>
              </th>
              <td>{words.kinds[model.kind]}</td>
              <td>
                <ModelState model={model} texts={texts} />
              </td>
              <td>
                <ul class="inline">
                  {Object.entries(model.prices).map(([name, price]) => (
                    <li>
                      <span class="soft">{name.replaceAll('_', ' ')}</span> <span class="money">{price}</span>
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </Table>
      </Card>
    </>
  );
}

function ModelState({ model, texts: { staffModels: words } }: { readonly model: SoldModel; readonly texts: Texts }) {
  return model.disabledBy === null ? (
    <Badge tone="good">{words.sold}</Badge>
  ) : (
    <Badge tone="bad">{words.disabled}</Badge>
  );
}

export function ModelContent({
  model,
  visit,
  problem,
}: {
  readonly model: SoldModel;
  readonly visit: UserVisit;
  readonly problem: string | null;
}) {
  const { texts, session } = visit;
  const { staffModels: words, staff, common } = texts;
  const { disabledBy } = model;
  const action = disabledBy === null ? 'disable' : 'enable';
  return (
    <>
      <Problem message={problem} />
      <Card title={words.details}>
        <dl>
          <dt>{common.status}</dt>
          <dd>
            <ModelState model={model} texts={texts} />{' '}
            {disabledBy === null ? null : (
              <>
                <Time at={disabledBy.createdAt} /> {words.by(disabledBy.author, disabledBy.reason)}
              </>
            )}
          </dd>
          <dt>{words.kind}</dt>
          <dd>{words.kinds[model.kind]}</dd>
        </dl>
      </Card>
      <Card title={words.prices}>
        <p class="soft">{model.kind === 'text' ? words.perMillion : words.inUsd}</p>
        <Terms terms={model.prices} />
      </Card>
      <Card title={words.terms}>
        <Terms terms={model.terms} />
      </Card>
      {may(visit, OPERATORS) ? (
        <Card title={words.orders[action]}>
          <p class="soft">{words.orderHints[action]}</p>
          <Form token={session.formToken} action={`/console/staff/models/${encodeURIComponent(model.id)}/${action}`}>
            <Field name="reason" label={staff.reason} required />
            <button type="submit" class={action === 'disable' ? 'danger' : ''}>
              {words.orders[action]}
            </button>
          </Form>
        </Card>
      ) : null}
    </>
  );
}

/** By what each is called in the catalogue file. */
function Terms({ terms }: { readonly terms: SoldModel['terms'] }) {
  return (
    <dl>
      {Object.entries(terms).map(([name, value]) => (
        <>
          <dt>{name.replaceAll('_', ' ')}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
