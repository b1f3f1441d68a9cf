/** A link to the payment page of the account. */
import type { ApiServices } from '../../../api/services/services.ts';
import type { Membership } from '../../../db/queries/users.ts';
import { mayAsMember } from '../../../domain/roles.ts';
import { useTexts } from '../../html/page-context.ts';

/** Shown to members who may pay, if a payment page is configured. */
export function AddFunds({
  account: { accountId, role },
  services: { topUpUrl },
}: {
  readonly account: Membership;
  readonly services: Pick<ApiServices, 'topUpUrl'>;
}) {
  const texts = useTexts();
  if (topUpUrl === null || !mayAsMember(role, 'pay')) return null;
  return (
    <p>
      <a class="button" href={topUpUrl.replaceAll('{account_id}', accountId)} rel="noreferrer">
        {texts.billing.addFunds}
      </a>
    </p>
  );
}
