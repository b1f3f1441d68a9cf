/** The page of an account: balance, keys, tasks, members and actions. */
import { existingAccount } from '../../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../../api/services.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import { listApiKeys } from '../../../../db/queries/api-keys.ts';
import { listBalanceEntries } from '../../../../db/queries/balance-entries.ts';
import {
  ACCOUNT_ACTIONS,
  listAccountActions,
  type ListedAccountAction,
} from '../../../../db/queries/operator-actions.ts';
import { listPriceLists, type PriceListSummary } from '../../../../db/queries/price-lists.ts';
import { listTasks } from '../../../../db/queries/tasks.ts';
import { listMembers } from '../../../../db/queries/users.ts';
import { newId } from '../../../../domain/ids.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Card, Choice, Facts, Field, Form, Headline, Time, usd } from '../../../html/components.tsx';
import { useMay, usePage, useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { ShortId } from '../../../html/linked-ids.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { hasPermission, type PageResult, showPage, type UserVisit } from '../../../page.ts';
import type { StoredFields } from '../../../stored-fields.ts';
import { Entries, pagesOfStaff } from '../../billing/ledger.tsx';
import { KeyTable } from '../../keys/key-table.tsx';
import { MEMBER } from '../../members/pages.tsx';
import { InviteForm } from '../people/pages.tsx';
import { TaskTable } from '../tasks/list.tsx';
import { DetailsForm } from './details.tsx';

/** The maximum number of keys on the page. The search finds other keys by id. */
const MAX_KEYS = 50;
const LATEST_TASKS = 10;
const LATEST_ENTRIES = 10;
const LATEST_ACTIONS = 100;

const ACTION = nested<ListedAccountAction>({
  created_at: field.isoTime('createdAt'),
  kind: field.oneOf([...ACCOUNT_ACTIONS, 'adjustment'])('kind'),
  amount_usd: field.usd.orNull('amount'),
  author: field.text('author'),
  reason: field.text('reason'),
});

export async function showAccount(visit: UserVisit, { database, reports }: ApiServices): Promise<PageResult> {
  const { texts, params, path } = visit;
  const account = await existingAccount(database, params['account_id'] ?? '');
  const { id: accountId } = account;
  const [keys, members, tasks, actions, entries, lists] = await Promise.all([
    listApiKeys(database, { accountId, limit: MAX_KEYS }),
    listMembers(database, accountId),
    listTasks(database, { accountId, limit: LATEST_TASKS }),
    listAccountActions(database, accountId, LATEST_ACTIONS),
    listBalanceEntries(reports, { accountId, limit: LATEST_ENTRIES }),
    listPriceLists(database),
  ]);
  const messages = texts.staffAccounts;
  return showPage(
    account.name,
    <Summary account={account} />,
    hasPermission(visit, 'operate') ? (
      <Card title={messages.edit}>
        <DetailsForm action={`${path}/details`} stored={account} />
      </Card>
    ) : null,
    <Actions account={account} lists={lists} />,
    <Card title={texts.billing.ledger}>
      <Entries entries={entries} pageOf={pagesOfStaff} isOfStaff />
      <p class="pages">
        <a href={`${path}/ledger`}>{texts.billing.wholeLedger}</a>
      </p>
    </Card>,
    <KeyTable
      title={texts.titles.keys}
      keys={keys}
      none={messages.noKeys}
      path={`${path}/keys`}
      mayChange={hasPermission(visit, 'operate')}
    />,
    hasPermission(visit, 'operate') ? (
      <p>
        <a href={`${path}/keys`}>{messages.manageKeys}</a>
      </p>
    ) : null,
    <p>
      <a href={`${path}/end-users`}>{texts.titles.endUsers}</a>{' '}
      <a href={`${path}/documents`}>{texts.billing.documents}</a>
    </p>,
    <Card title={texts.common.latestTasks}>
      <TaskTable tasks={tasks} none={messages.noTasks} hasAccounts={false} />
      {tasks.length === 0 ? null : (
        <p>
          <a href={`/console/staff/tasks?account=${account.id}`}>{messages.allTasks}</a>
        </p>
      )}
    </Card>,
    <TableCard
      title={texts.titles.members}
      of={MEMBER}
      rows={members}
      none={messages.noMembers}
      columns={[
        [texts.fields.name, ({ id, name }) => <a href={`/console/staff/people/${id}`}>{name}</a>],
        'email',
        'role',
      ]}
    >
      {hasPermission(visit, 'operate') ? <InviteForm accountId={account.id} /> : null}
    </TableCard>,
    <TableCard
      title={messages.actions}
      of={ACTION}
      rows={actions}
      none={messages.noActions}
      columns={[[texts.common.when, 'created_at'], [texts.staff.action, 'kind'], 'amount_usd', 'author', 'reason']}
    />,
  );
}

function Actions({ account, lists }: { account: Account; lists: readonly PriceListSummary[] }) {
  const { form, texts } = usePage();
  const { staffAccounts: messages, priceLists, common } = texts;
  const [mayOperate, mayMoveMoney] = [useMay('operate'), useMay('moveMoney')];
  // The id of the next adjustment, by which it is booked once.
  const adjustmentId = form.optional('adjustment_id') ?? newId('transfer');
  const isOpen = account.suspendedAt === null;
  const path = `accounts/${account.id}`;
  const stateCard = (
    <ReasonCard
      title={isOpen ? messages.suspend : messages.reopen}
      hint={isOpen ? messages.suspendHint : messages.reopenHint}
      action={`${path}/${isOpen ? 'suspend' : 'reopen'}`}
      look={isOpen ? 'danger' : ''}
    />
  );
  return (
    <div class="grid forms">
      {mayOperate ? stateCard : null}
      {mayMoveMoney ? (
        <>
          <Card title={messages.adjust}>
            <Form action={`/console/staff/${path}/adjust`} submit={messages.adjust}>
              <input type="hidden" name="adjustment_id" value={adjustmentId} autocomplete="off" />
              <Field name="amount_usd" label={common.amountInUsd} hint={common.amountHint} inputMode="text" required />
              <Field name="reason" id="adjustment-reason" required />
            </Form>
          </Card>
          <ReasonCard
            title={priceLists.assign}
            hint={priceLists.assignHint}
            action={`${path}/price-list`}
            look=""
            stored={priceListFields(account)}
          >
            <Choice
              name="price_list"
              label={priceLists.pays}
              options={[['', priceLists.catalogue], ...lists.map(({ name }) => [name, name] as const)]}
            />
          </ReasonCard>
        </>
      ) : null}
      {mayOperate ? (
        <ReasonCard title={messages.erase} hint={messages.eraseHint} action={`${path}/erase`} look="danger" />
      ) : null}
    </div>
  );
}

function Summary({ account }: { account: Account }) {
  const texts = useTexts();
  const { staffAccounts: messages, fields, common, home } = texts;
  const { fundedAvailable, signupAvailable, fundedReserved, signupReserved } = account;
  return (
    <div class="grid">
      <Card title={common.balance}>
        <Headline amount={fundedAvailable + signupAvailable} />
        <p class="soft">{home.held(usd(fundedReserved + signupReserved))}</p>
        {signupAvailable > 0n ? <p class="soft">{home.signup(usd(signupAvailable))}</p> : null}
      </Card>
      <Card title={common.details}>
        <Facts
          facts={[
            [
              fields.status,
              <>
                <Chosen name="state" value={accountStateOf(account)} />{' '}
                {account.suspendedAt === null ? null : <Time at={account.suspendedAt} />}
              </>,
            ],
            [texts.fields.email, account.email ?? messages.notGiven],
            [texts.fields.external_id, account.externalId ?? messages.notGiven],
            [fields.max_concurrent_tasks, account.maxConcurrentTasks ?? messages.asAll],
            [
              texts.priceLists.pays,
              account.priceList === null ? (
                texts.priceLists.catalogue
              ) : (
                <a href={`/console/staff/price-lists/${account.priceList}`}>{account.priceList}</a>
              ),
            ],
            [fields.content_days, account.contentDays ?? messages.never],
            [messages.erased, account.eraseBefore === null ? messages.never : <Time at={account.eraseBefore} />],
            [messages.toppedUp, account.toppedUpAt === null ? messages.never : <Time at={account.toppedUpAt} />],
            [fields.created_at, <Time at={account.createdAt} />],
            [common.accountId, <ShortId id={account.id} href={null} />],
          ]}
        />
      </Card>
    </div>
  );
}

export function priceListFields({ priceList }: Account): StoredFields {
  return { price_list: priceList };
}

export function accountStateOf({ suspendedAt }: Account): string {
  return suspendedAt === null ? 'open' : 'suspended';
}
