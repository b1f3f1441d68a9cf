/** Payments for an account: a form with the amount, or a link to a page of the payment provider. */
import type { ApiServices } from '../../../api/services.ts';
import type { Membership } from '../../../db/queries/users.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import type { AutoTopUp } from '../../../db/queries/auto-top-ups.ts';
import { AUTO_TOP_UP } from '../../../domain/policy.ts';
import { Badge, Card, Field, Form, FormButton, usd } from '../../html/components.tsx';
import { usePage, useTexts } from '../../html/page-context.ts';

/** Renders nothing for members who may not pay, or if no payment provider is configured. */
export function AddFunds({
  account: { accountId, role },
  services: {
    money: { checkout, topUpUrl },
  },
  withForm = false,
}: {
  readonly account: Membership;
  readonly services: Pick<ApiServices, 'money'>;
  /** Whether to show the form with the amount here, in place of a link to the billing page. */
  readonly withForm?: boolean;
}) {
  const { site, texts } = usePage();
  const { billing: messages } = texts;
  const { bonuses } = site.payments;
  if (!hasMemberPermission(role, 'pay')) return null;
  const billing = `/console/accounts/${accountId}/billing`;
  if (checkout !== null && withForm) {
    return (
      <Form action={`${billing}/checkout`} class="row" submit={messages.addFunds}>
        <Field
          name="amount_usd"
          inputMode="decimal"
          required
          {...(bonuses.length > 0 && {
            hint: bonuses.map(({ fromUsd, percent, days }) => messages.bonus(fromUsd, percent, days)).join(' '),
          })}
        />
      </Form>
    );
  }
  const link = checkout === null ? topUpUrl?.replaceAll('{account_id}', accountId) : billing;
  if (link === undefined) return null;
  return (
    <p>
      <a class="button" href={link} rel="noreferrer">
        {messages.addFunds}
      </a>
    </p>
  );
}

/** Automatic top-ups by a saved card when the balance is low: the current agreement, or the form to agree. */
export function AutomaticTopUp({ accountId, agreed }: { accountId: string; agreed: AutoTopUp | null }) {
  const { billing: messages } = useTexts();
  const path = `/console/accounts/${accountId}/billing/automatic`;
  return (
    <Card title={messages.automatic}>
      {agreed === null ? (
        <Form action={path} submit={messages.giveCard} look="quiet">
          <Field name="threshold_usd" label={messages.threshold} inputMode="decimal" required />
          <Field
            name="amount_usd"
            id="automatic-amount"
            label={messages.automaticAmount}
            inputMode="decimal"
            required
          />
          <p class="hint">{messages.automaticHint(AUTO_TOP_UP.maxPerDay)}</p>
        </Form>
      ) : (
        <>
          <p>{messages.automaticIs(usd(agreed.threshold), usd(agreed.amount))}</p>
          {agreed.stoppedBecause === null ? null : (
            <p>
              <Badge tone="bad">{messages.automaticStopped}</Badge> <span lang="en">{agreed.stoppedBecause}</span>
            </p>
          )}
          <FormButton action={`${path}/stop`} label={messages.stopAutomatic} look="quiet" />
        </>
      )}
    </Card>
  );
}
