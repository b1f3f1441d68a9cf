/** The results of a search: accounts, and the timeline of the thing with the given id. */
import { LISTED_ACCOUNT } from '../../../../api/routes/admin/present.ts';
import type { Found } from '../../../../api/services/find-by-id.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import { Card, RoundedMoney } from '../../../html/components.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { useTexts } from '../../../html/page-context.ts';

export function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const { staffAccounts: words, fields, titles } = useTexts();
  return (
    <TableCard
      of={LISTED_ACCOUNT}
      label={titles.accounts}
      rows={accounts}
      none={words.none}
      pageOf={({ id }) => `/console/staff/accounts/${id}`}
      columns={[
        [fields.name, ({ id, name }) => name || id],
        'email',
        'external_id',
        [
          fields.available_usd,
          (account) => <RoundedMoney amount={account.fundedAvailable + account.signupAvailable} />,
          'number',
        ],
        [fields.status, (account) => <Chosen name="state" value={accountStateOf(account)} />],
        'created_at',
      ]}
    />
  );
}

export function accountStateOf({ suspendedAt }: Account): string {
  return suspendedAt === null ? 'open' : 'suspended';
}

export function FoundTimeline({ found: { id, kind, account, verdict, events, pending } }: { readonly found: Found }) {
  const texts = useTexts();
  const words = texts.staffAccounts;
  return (
    <Card title={words.kinds[kind]}>
      <p>{verdict}</p>
      <p class="row">
        <a href={`/console/staff/accounts/${account.id}`}>{words.ofAccount(account.name || account.id)}</a>
        {kind === 'account' ? null : <AnyId id={id} />}
      </p>
      <Timeline events={events} {...(pending && { pending })} />
    </Card>
  );
}
