/** What a search finds: accounts, and the story of whatever has an id. */
import type { Found } from '../../../../api/services/find-by-id.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import { Badge, Card, Money } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import type { Texts } from '../../../texts/texts.ts';

export function AccountTable({ accounts, texts }: { readonly accounts: readonly Account[]; readonly texts: Texts }) {
  const { staffAccounts: words, common } = texts;
  return (
    <Card>
      <DataTable
        label={words.title}
        rows={accounts}
        none={words.none}
        columns={[
          [common.name, ({ id, name }) => <a href={`/console/staff/accounts/${id}`}>{name || id}</a>, 'name'],
          [words.email, 'email'],
          [words.externalId, 'externalId'],
          [words.available, (account) => <Money amount={account.fundedAvailable + account.signupAvailable} />, 'money'],
          [common.status, (account) => <AccountState account={account} texts={texts} />],
          [common.created, 'createdAt'],
        ]}
      />
    </Card>
  );
}

export function AccountState({
  account: { suspendedAt },
  texts: { staffAccounts: words },
}: {
  readonly account: Account;
  readonly texts: Texts;
}) {
  return suspendedAt === null ? <Badge tone="good">{words.open}</Badge> : <Badge tone="bad">{words.suspended}</Badge>;
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
