/** What a search finds: accounts, and the story of whatever has an id. */
import { LISTED_ACCOUNT } from '../../../../api/routes/admin/present.ts';
import type { Found } from '../../../../api/services/find-by-id.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import { Card, Money } from '../../../html/components.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Chosen, ResourceTable } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import type { Texts } from '../../../texts/texts.ts';

export function AccountTable({ accounts, texts }: { readonly accounts: readonly Account[]; readonly texts: Texts }) {
  const { staffAccounts: words, fields } = texts;
  return (
    <Card>
      <ResourceTable
        of={LISTED_ACCOUNT}
        label={words.title}
        rows={accounts}
        none={words.none}
        texts={texts}
        pageOf={({ id }) => `/console/staff/accounts/${id}`}
        columns={[
          [fields.name, ({ id, name }) => name || id],
          'email',
          'external_id',
          [
            fields.available_usd,
            (account) => <Money amount={account.fundedAvailable + account.signupAvailable} />,
            'number',
          ],
          [fields.status, (account) => <AccountState account={account} texts={texts} />],
          'created_at',
        ]}
      />
    </Card>
  );
}

export function AccountState({ account, texts }: { readonly account: Account; readonly texts: Texts }) {
  return <Chosen name="state" value={account.suspendedAt === null ? 'open' : 'suspended'} texts={texts} />;
}

export function FoundStory({
  found: { id, kind, account, verdict, events, pending },
  texts,
}: {
  readonly found: Found;
  readonly texts: Texts;
}) {
  const words = texts.staffAccounts;
  return (
    <Card title={words.kinds[kind]}>
      <p>{verdict}</p>
      <p class="row">
        <a href={`/console/staff/accounts/${account.id}`}>{words.ofAccount(account.name || account.id)}</a>
        {kind === 'account' ? null : <AnyId id={id} />}
      </p>
      <Timeline events={events} {...(pending && { pending })} texts={texts} />
    </Card>
  );
}
