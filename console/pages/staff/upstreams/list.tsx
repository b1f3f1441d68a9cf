/** The ways to models: upstream, model and key, with the health of each. */
import { UPSTREAM } from '../../../../api/routes/admin/upstreams.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { Card, Choice, Empty, Field, Form, Noted, Problem, Time } from '../../../html/components.tsx';
import { Chosen, ResourceTable } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';

type TextWay = ReturnType<ApiServices['upstreams']['list']>[number];
type MediaWay = Awaited<ReturnType<ApiServices['upstreams']['listMedia']>>[number];
export type Ways = readonly (TextWay | MediaWay)[];

const USUAL_MINUTES = '10';

export function UpstreamList({
  ways,
  visit,
  problem,
}: {
  readonly ways: Ways;
  readonly visit: UserVisit;
  readonly problem: string | null;
}) {
  const { texts } = visit;
  return (
    <>
      <p class="soft">{texts.staffUpstreams.about}</p>
      <Problem message={problem} />
      <UpstreamTable ways={ways} texts={texts} />
      {may(visit, 'operate') && ways.length > 0 ? <Orders ways={ways} visit={visit} /> : null}
    </>
  );
}

/** Asks for itself again while it is looked at. */
export function UpstreamTable({ ways, texts }: { readonly ways: Ways; readonly texts: Texts }) {
  const { staffUpstreams: words, fields } = texts;
  if (ways.length === 0) return <Empty>{words.none}</Empty>;
  return (
    <div hx-get="/console/staff/upstreams/health" hx-trigger="every 5s" hx-swap="outerHTML">
      <Card>
        <ResourceTable
          of={UPSTREAM}
          label={words.title}
          rows={ways}
          texts={texts}
          columns={[
            [
              fields.upstream,
              (way) => (
                <Noted note={'format' in way ? way.format : (way.protocol ?? words.notConfigured)}>{way.name}</Noted>
              ),
            ],
            'model',
            [fields.key, ({ key }) => (key === null ? null : <code>{`…${key}`}</code>)],
            [
              fields.status,
              ({ state, cause, sinceMs }) => (
                <Noted note={sinceMs === null ? null : <Time at={new Date(sinceMs)} />}>
                  <Noted note={cause && <Chosen name="cause" value={cause} texts={texts} />}>
                    <Chosen name="state" value={state} texts={texts} />
                  </Noted>
                </Noted>
              ),
            ],
            'until',
            'requests',
            'failures',
          ]}
        />
      </Card>
    </div>
  );
}

function Orders({ ways, visit }: { readonly ways: Ways; readonly visit: UserVisit }) {
  const { session, form, texts } = visit;
  const { staffUpstreams: words, staff, fields } = texts;
  const names = [...new Set(ways.map(({ name }) => name))].map((name) => [name, name] as const);
  const chosen = form.text('upstream');
  return (
    <div class="grid">
      <Card title={words.rest}>
        <p class="soft">{words.restHint}</p>
        <Form token={session.formToken} action="/console/staff/upstreams/rest">
          <Choice name="upstream" id="rest-upstream" label={fields.upstream} value={chosen} options={names} />
          <Field
            name="minutes"
            label={words.minutes}
            value={form.text('minutes') || USUAL_MINUTES}
            inputMode="numeric"
            required
          />
          <Field name="reason" id="rest-reason" label={staff.reason} value={form.text('reason')} required />
          <button type="submit" class="danger">
            {words.rest}
          </button>
        </Form>
      </Card>
      <Card title={words.resume}>
        <p class="soft">{words.resumeHint}</p>
        <Form token={session.formToken} action="/console/staff/upstreams/resume">
          <Choice name="upstream" id="resume-upstream" label={fields.upstream} value={chosen} options={names} />
          <Field name="reason" id="resume-reason" label={staff.reason} required />
          <button type="submit">{words.resume}</button>
        </Form>
      </Card>
    </div>
  );
}
