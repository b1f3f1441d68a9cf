/** The upstreams of each model, with their keys and their health. */
import { UPSTREAM } from '../../../../api/routes/admin/upstreams.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { Choice, Empty, Field, Noted, Time } from '../../../html/components.tsx';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { useTexts } from '../../../html/page-context.ts';

type TextWay = ReturnType<ApiServices['upstreams']['list']>[number];
type MediaWay = Awaited<ReturnType<ApiServices['upstreams']['listMedia']>>[number];
export type Ways = readonly (TextWay | MediaWay)[];

const USUAL_MINUTES = '10';

export function UpstreamList({ ways, visit }: { readonly ways: Ways; readonly visit: UserVisit }) {
  const { texts } = visit;
  return (
    <>
      <p class="soft">{texts.staffUpstreams.about}</p>
      <UpstreamTable ways={ways} />
      {may(visit, 'operate') && ways.length > 0 ? <Orders ways={ways} visit={visit} /> : null}
    </>
  );
}

/** The browser fetches the table again while the page is open. */
export function UpstreamTable({ ways }: { readonly ways: Ways }) {
  const { staffUpstreams: words, fields } = useTexts();
  if (ways.length === 0) return <Empty>{words.none}</Empty>;
  return (
    <div hx-get="/console/staff/upstreams/health" hx-trigger="every 5s" hx-swap="outerHTML">
      <TableCard
        of={UPSTREAM}
        label={words.title}
        rows={ways}
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
                <Noted note={cause && <Chosen name="cause" value={cause} />}>
                  <Chosen name="state" value={state} />
                </Noted>
              </Noted>
            ),
          ],
          'until',
          'requests',
          'failures',
        ]}
      />
    </div>
  );
}

function Orders({ ways, visit }: { readonly ways: Ways; readonly visit: UserVisit }) {
  const { form, texts } = visit;
  const { staffUpstreams: words, fields } = texts;
  const names = [...new Set(ways.map(({ name }) => name))].map((name) => [name, name] as const);
  const UpstreamChoice = ({ id }: { readonly id: string }) => (
    <Choice name="upstream" id={id} label={fields.upstream} value={form.text('upstream')} options={names} />
  );
  return (
    <div class="grid">
      <ReasonCard
        title={words.rest}
        hint={words.restHint}
        action="upstreams/rest"
        look="danger"
        reason={form.text('reason')}
      >
        <UpstreamChoice id="rest-upstream" />
        <Field
          name="minutes"
          label={words.minutes}
          value={form.text('minutes') || USUAL_MINUTES}
          inputMode="numeric"
          required
        />
      </ReasonCard>
      <ReasonCard title={words.resume} hint={words.resumeHint} action="upstreams/resume" look="">
        <UpstreamChoice id="resume-upstream" />
      </ReasonCard>
    </div>
  );
}
