/** An account: balance, keys, tasks, members and actions. */
import type { Account } from '../../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../../db/queries/api-keys.ts';
import type { BalanceEntry } from '../../../../db/queries/balance-entries.ts';
import { ACCOUNT_ACTIONS, type AccountAction } from '../../../../db/queries/operator-actions.ts';
import type { PriceListSummary } from '../../../../db/queries/price-lists.ts';
import type { Member } from '../../../../db/queries/users.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import type { Task } from '../../../../domain/task.ts';
import { Card, Choice, Copyable, Facts, Field, Form, Headline, Time, usd } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { Entries, pagesOfStaff } from '../../billing/ledger.tsx';
import { KeyTable } from '../../keys/key-table.tsx';
import { MEMBER } from '../../members/pages.tsx';
import { InviteForm } from '../people/pages.tsx';
import { TaskTable } from '../tasks/list.tsx';
import { DetailsForm } from './details.tsx';

const ACTION = nested<AccountAction>({
  created_at: field.isoTime('createdAt'),
  kind: field.oneOf(ACCOUNT_ACTIONS)('kind'),
  author: field.text('author'),
  reason: field.text('reason'),
});

interface Props {
  readonly account: Account;
  readonly keys: readonly ApiKey[];
  readonly members: readonly Member[];
  readonly tasks: readonly Task[];
  readonly entries: readonly BalanceEntry[];
  readonly actions: readonly AccountAction[];
  readonly lists: readonly PriceListSummary[];
  /** The id of the next adjustment, so that it is booked once. */
  readonly adjustmentId: string;
  readonly visit: UserVisit;
}

export function AccountContent(props: Props) {
  const { account, keys, members, tasks, entries, actions, visit } = props;
  const { texts } = visit;
  const words = texts.staffAccounts;
  return (
    <>
      <div class="grid">
        <Card title={texts.common.balance}>
          <Headline amount={account.fundedAvailable + account.signupAvailable} />
          <p class="soft">{texts.home.held(usd(account.fundedReserved + account.signupReserved))}</p>
          {account.signupAvailable > 0n ? <p class="soft">{texts.home.signup(usd(account.signupAvailable))}</p> : null}
        </Card>
        <Card title={texts.common.details}>
          <Details account={account} />
        </Card>
      </div>
      {may(visit, 'operate') ? (
        <Card title={words.edit}>
          <DetailsForm action={`/console/staff/accounts/${account.id}/details`} stored={account} />
        </Card>
      ) : null}
      <Actions {...props} />
      <Card title={texts.billing.ledger}>
        <Entries entries={entries} pageOf={pagesOfStaff} isOfStaff />
        <p class="pages">
          <a href={`/console/staff/accounts/${account.id}/ledger`}>{texts.billing.wholeLedger}</a>
        </p>
      </Card>
      <KeyTable
        title={texts.titles.keys}
        keys={keys}
        none={words.noKeys}
        path={`/console/staff/accounts/${account.id}/keys`}
        mayChange={may(visit, 'operate')}
      />
      {may(visit, 'operate') ? (
        <p>
          <a href={`/console/staff/accounts/${account.id}/keys`}>{words.manageKeys}</a>
        </p>
      ) : null}
      <p>
        <a href={`/console/staff/accounts/${account.id}/end-users`}>{texts.titles.endUsers}</a>{' '}
        <a href={`/console/staff/accounts/${account.id}/documents`}>{texts.billing.documents}</a>
      </p>
      <Card title={texts.common.latestTasks}>
        <TaskTable tasks={tasks} none={words.noTasks} hasAccounts={false} />
        {tasks.length === 0 ? null : (
          <p>
            <a href={`/console/staff/tasks?account=${account.id}`}>{words.allTasks}</a>
          </p>
        )}
      </Card>
      <TableCard
        title={texts.titles.members}
        of={MEMBER}
        rows={members}
        none={words.noMembers}
        columns={[
          [texts.fields.name, ({ id, name }) => <a href={`/console/staff/people/${id}`}>{name}</a>],
          'email',
          'role',
        ]}
      >
        {may(visit, 'operate') ? <InviteForm accountId={account.id} /> : null}
      </TableCard>
      <TableCard
        title={words.actions}
        of={ACTION}
        rows={actions}
        none={words.noActions}
        columns={[[texts.common.when, 'created_at'], [texts.staff.action, 'kind'], 'author', 'reason']}
      />
    </>
  );
}

function Actions({ account, lists, adjustmentId, visit }: Props) {
  const { staffAccounts: words, priceLists, common, fields } = visit.texts;
  const isOpen = account.suspendedAt === null;
  const path = `accounts/${account.id}`;
  const stateCard = (
    <ReasonCard
      title={isOpen ? words.suspend : words.reopen}
      hint={isOpen ? words.suspendHint : words.reopenHint}
      action={`${path}/${isOpen ? 'suspend' : 'reopen'}`}
      look={isOpen ? 'danger' : ''}
    />
  );
  return (
    <div class="grid forms">
      {may(visit, 'operate') ? stateCard : null}
      {may(visit, 'moveMoney') ? (
        <>
          <Card title={words.adjust}>
            <Form action={`/console/staff/${path}/adjust`} submit={words.adjust}>
              <input type="hidden" name="adjustment_id" value={adjustmentId} />
              <Field name="amount_usd" label={common.amountInUsd} hint={common.amountHint} inputMode="text" required />
              <Field name="reason" id="adjustment-reason" label={fields.reason} required />
            </Form>
          </Card>
          <ReasonCard title={priceLists.assign} hint={priceLists.assignHint} action={`${path}/price-list`} look="">
            <Choice
              name="price_list"
              label={priceLists.pays}
              value={account.priceList}
              options={[['', priceLists.catalogue], ...lists.map(({ name }) => [name, name] as const)]}
            />
          </ReasonCard>
        </>
      ) : null}
      {may(visit, 'operate') ? (
        <ReasonCard title={words.erase} hint={words.eraseHint} action={`${path}/erase`} look="danger" />
      ) : null}
    </div>
  );
}

function Details({ account }: { account: Account }) {
  const texts = useTexts();
  const { staffAccounts: words, fields, common } = texts;
  return (
    <Facts
      facts={[
        [
          fields.status,
          <>
            <Chosen name="state" value={accountStateOf(account)} />{' '}
            {account.suspendedAt === null ? null : <Time at={account.suspendedAt} />}
          </>,
        ],
        [texts.fields.email, account.email ?? words.notGiven],
        [texts.fields.external_id, account.externalId ?? words.notGiven],
        [fields.max_concurrent_tasks, account.maxConcurrentTasks ?? words.asAll],
        [
          texts.priceLists.pays,
          account.priceList === null ? (
            texts.priceLists.catalogue
          ) : (
            <a href={`/console/staff/price-lists/${account.priceList}`}>{account.priceList}</a>
          ),
        ],
        [fields.content_days, account.contentDays ?? words.never],
        [words.erased, account.eraseBefore === null ? words.never : <Time at={account.eraseBefore} />],
        [words.toppedUp, account.toppedUpAt === null ? words.never : <Time at={account.toppedUpAt} />],
        [fields.created_at, <Time at={account.createdAt} />],
        [common.accountId, <Copyable text={account.id} label={common.accountId} />],
      ]}
    />
  );
}

export function accountStateOf({ suspendedAt }: Account): string {
  return suspendedAt === null ? 'open' : 'suspended';
}
