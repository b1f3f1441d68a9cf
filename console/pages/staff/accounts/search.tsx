/** What a search finds: accounts, and the story of whatever has an id. */
import type { Found } from '../../../../api/services/find-by-id.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import { Badge, Card, Empty, Money, Table, Time } from '../../../html/components.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import type { Texts } from '../../../texts/texts.ts';

export function AccountTable({ accounts, texts }: { readonly accounts: readonly Account[]; readonly texts: Texts }) {
  const { staffAccounts: words, common } = texts;
  if (accounts.length === 0) return <Empty>{words.none}</Empty>;
  return (
    <Card>
      <Table
        label={words.title}
        columns={[
          common.name,
          words.email,
          words.externalId,
          { number: words.available },
          common.status,
          common.created,
        ]}
      >
        {accounts.map((account) => (
          <tr>
            <th scope="row">
              <a href={`/console/staff/accounts/${account.id}`}>{account.name || account.id}</a>
            </th>
            <td>{account.email}</td>
            <td>{account.externalId}</td>
            <td class="right">
              <Money amount={account.fundedAvailable + account.signupAvailable} />
            </td>
            <td>
              <AccountState account={account} texts={texts} />
            </td>
            <td>
              <Time at={account.createdAt} />
            </td>
          </tr>
        ))}
      </Table>
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
