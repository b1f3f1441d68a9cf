/** The plan of an account: its terms, the other plans, and its end. */
import type { ApiServices } from '../../../api/services.ts';
import type { Plan, Site } from '../../../catalogue/site.ts';
import { choosePlan, setPlanEnding } from '../../../services/money/plans.ts';
import type { AccountPlan } from '../../../db/queries/plans.ts';
import { Badge, Card, Facts, FormButton, Time, usd } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { PlanOffer, termsOf } from '../../html/plan-offer.tsx';
import type { MemberVisit } from '../../page.ts';
import { inLanguage } from '../../texts/texts.ts';

/** Changes the plan. @returns the id of a page on which to subscribe; null if the plan was changed */
export function choosePlanBy({ account, form }: MemberVisit, services: ApiServices): Promise<string | null> {
  return choosePlan(services, { accountId: account.accountId, planId: form.text('plan') });
}

/** Ends the plan with its period, or lets it go on if the form says so. */
export function endPlanBy({ account, form }: MemberVisit, services: ApiServices): Promise<void> {
  return setPlanEnding(services, account.accountId, form.text('continues') === '');
}

interface PlanProps {
  readonly plan: AccountPlan;
  readonly site: Site;
}

/** The plan that applies to an account, and the plans that it can choose. Renders nothing where there are none. */
export function PlanCard({ plan, site, path }: PlanProps & { readonly path: string }) {
  const { plans: messages } = useTexts();
  const { subscription } = plan;
  if (site.plans.length === 0 && plan.period === null) return null;
  const others = site.plans.filter(({ stripePrice }) => stripePrice !== subscription?.price);
  return (
    <Card title={messages.title} wide>
      <PlanFacts plan={plan} site={site} />
      {others.map((other) => (
        <div class="row">
          <PlanOffer plan={other} />
          <FormButton
            action={`${path}/plan`}
            label={subscription === null ? messages.subscribe : messages.change}
            entries={{ plan: other.id }}
            {...(subscription !== null && { question: messages.changes })}
          />
        </div>
      ))}
      {subscription === null ? null : (
        <p>
          <a href={`${path}/plan/payments`}>{messages.payments}</a>
        </p>
      )}
      {subscription === null ? null : subscription.endsAt === null ? (
        <FormButton action={`${path}/plan/end`} label={messages.end} question={messages.ends} />
      ) : (
        <FormButton action={`${path}/plan/end`} label={messages.goOn} entries={{ continues: '1' }} />
      )}
    </Card>
  );
}

/** The terms that apply, and what comes next. */
export function PlanFacts({ plan: { period, credit, subscription }, site }: PlanProps) {
  const texts = useTexts();
  const { plans: messages } = texts;
  const nameOf = (found: Plan | undefined, id: string) => (found === undefined ? id : inLanguage(found.name, texts));
  if (period === null && subscription === null) return <p class="soft">{messages.none}</p>;
  const next = site.plans.find(({ stripePrice }) => stripePrice === subscription?.price);
  const isOverdue = subscription !== null && subscription.status !== 'active' && subscription.status !== 'trialing';
  return (
    <Facts
      facts={[
        period === null
          ? null
          : [
              messages.current,
              nameOf(
                site.plans.find(({ id }) => id === period.plan),
                period.plan,
              ),
            ],
        period === null ? null : [messages.included, usd(period.included)],
        credit === null
          ? null
          : [messages.left, messages.leftUntil(usd(credit.available), credit.expiresAt.toISOString().slice(0, 10))],
        ...(period === null ? [] : termsOf(period, texts)),
        period === null ? null : [messages.paidUntil, <Time at={period.endsAt} />],
        subscription === null || subscription.endsAt !== null || next === undefined || next.id === period?.plan
          ? null
          : [messages.next, nameOf(next, next.id)],
        subscription?.endsAt ? [messages.endsAt, <Time at={subscription.endsAt} />] : null,
        isOverdue
          ? [
              messages.status,
              <>
                <Badge tone="bad">{subscription.status}</Badge> {messages.overdue}
              </>,
            ]
          : null,
      ]}
    />
  );
}
