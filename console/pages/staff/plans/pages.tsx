/** The accounts that subscribe to a monthly plan, or did. */
import { listPlanSubscribers, type PlanSubscriber } from '../../../../db/queries/plan-subscribers.ts';
import { PLAN_STATES } from '../../../../domain/plan-state.ts';
import { PLAN_SUBSCRIBER } from '../../../../services/resources/admin.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Time, WithNote } from '../../../html/components.tsx';
import { ChoiceFilter, Filters } from '../../../html/filters.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { readListPage } from '../../../list-page.ts';
import { showPage, staff } from '../../../page.ts';

export const staffPlanPages = [
  staff.page('/staff/plans', 'read', async ({ query, texts, site }, { reports }) => {
    const { plans: messages, titles, fields } = texts;
    const state = PLAN_STATES.find((known) => known === query.get('state'));
    const plan = query.get('plan') || undefined;
    const { entries, next } = await readListPage(query, 'account', (slice) =>
      listPlanSubscribers(reports, { state, plan, ...slice }),
    );
    return withAccountNames(
      reports,
      entries.map(({ id }) => id),
      showPage(
        titles.plans,
        <p class="soft">{messages.staffHint}</p>,
        <Filters hasViews={false}>
          <ChoiceFilter name="state" all={messages.allStates} values={PLAN_STATES} />
          <ChoiceFilter name="plan" all={messages.allPlans} values={site.plans.map(({ id }) => id)} />
        </Filters>,
        <TableCard
          of={PLAN_SUBSCRIBER}
          rows={entries}
          none={messages.noSubscribers}
          columns={[
            'account_id',
            'plan',
            [fields.state, (subscriber) => <State subscriber={subscriber} />],
            'since',
            'period_ends_at',
            'paid_usd',
            'returned_usd',
            'lost_usd',
          ]}
          next={next}
        />,
      ),
    );
  }),
];

/** The state; after a failed payment, with the end of the grace. */
function State({ subscriber: { state, limitsUntil } }: { subscriber: PlanSubscriber }) {
  const { plans: messages } = useTexts();
  const grace = state === 'overdue' && limitsUntil !== null;
  return (
    <WithNote
      note={
        grace ? (
          <>
            {messages.grace} <Time at={limitsUntil} />
          </>
        ) : null
      }
    >
      <Chosen name="state" value={state} />
    </WithNote>
  );
}
