/** The tabs of an account's page. */
import type { ApiServices } from '../../../../api/services.ts';
import { type Account, sumAccountTotals } from '../../../../db/queries/accounts.ts';
import { listAdminActions } from '../../../../db/queries/admin-tokens.ts';
import { listApiKeys } from '../../../../db/queries/api-keys.ts';
import { listTopUps } from '../../../../db/queries/credits.ts';
import { listBalanceEntries } from '../../../../db/queries/balance-entries.ts';
import {
  ACCOUNT_ACTIONS,
  listAccountActions,
  type ListedAccountAction,
} from '../../../../db/queries/operator-actions.ts';
import { findAccountPlan } from '../../../../db/queries/plans.ts';
import { listPriceLists } from '../../../../db/queries/price-lists.ts';
import { listTasks } from '../../../../db/queries/tasks.ts';
import { listMembers } from '../../../../db/queries/users.ts';
import { accountStateOf } from '../../../../domain/account-state.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { CREDITED_TOP_UP } from '../../../../services/resources/credit.ts';
import { Balance } from '../../../html/balance.tsx';
import { Card, Choice, ExactMoney, Facts, Form, Time } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { ShortId } from '../../../html/linked-ids.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { hasPermission, type UserVisit } from '../../../page.ts';
import type { StoredFields } from '../../../stored-fields.ts';
import { Entries, pagesOfStaff } from '../../billing/ledger.tsx';
import { PlanFacts } from '../../billing/plan.tsx';
import { KeyTable } from '../../keys/key-table.tsx';
import { MEMBER } from '../../members/pages.tsx';
import { ActionTable } from '../actions/table.tsx';
import { CorrectionFields } from '../corrections/form.tsx';
import { InviteForm } from '../people/pages.tsx';
import { TaskTable } from '../tasks/list.tsx';
import { DetailsForm } from './details.tsx';

/** The maximum number of keys on the page. The search finds other keys by id. */
const MAX_KEYS = 50;
const LATEST_TASKS = 10;
const LATEST_ENTRIES = 10;
const LATEST_PAYMENTS = 50;
const LATEST_ACTIONS = 100;

const ACTION = nested<ListedAccountAction>({
  created_at: field.isoTime('createdAt'),
  kind: field.oneOf([...ACCOUNT_ACTIONS, 'adjustment'])('kind'),
  amount_usd: field.usd.orNull('amount'),
  author: field.text('author'),
  reason: field.text('reason'),
});

/** What a tab shows. */
export interface Shown {
  readonly account: Account;
  readonly visit: UserVisit;
  readonly services: ApiServices;
}

export async function showOverview({ account, visit, services: { database, reports } }: Shown) {
  const { texts, path, site } = visit;
  const { id: accountId } = account;
  const [tasks, entries] = await Promise.all([
    listTasks(database, { accountId, limit: LATEST_TASKS }),
    listBalanceEntries(reports, { accountId, limit: LATEST_ENTRIES }),
  ]);
  const { staffAccounts: messages, billing, common, titles } = texts;
  const plan = await findAccountPlan(database, accountId);
  return (
    <>
      <Summary account={account} />
      {account.closedAt === null ? null : await showRepayment(account, visit, reports)}
      {plan.period === null && plan.subscription === null ? null : (
        <Card title={texts.plans.title}>
          <PlanFacts plan={plan} site={site} />
        </Card>
      )}
      <Card title={billing.ledger}>
        <Entries entries={entries} pageOf={pagesOfStaff} isOfStaff />
        <p class="pages">
          <a href={`${path}/ledger`}>{billing.wholeLedger}</a>
          <a href={`${path}/documents`}>{billing.documents}</a>
          <a href={`${path}/usage`}>{titles.usage}</a>
          <a href={`${path}/end-users`}>{titles.endUsers}</a>
          <a href={`${path}/budgets`}>{titles.budgets}</a>
          <a href={`${path}/merge`}>{titles.merge}</a>
        </p>
      </Card>
      <Card title={common.latestTasks}>
        <TaskTable tasks={tasks} none={messages.noTasks} hasAccounts={false} />
        {tasks.length === 0 ? null : (
          <p>
            <a href={`/console/staff/tasks?account=${accountId}`}>{messages.allTasks}</a>
          </p>
        )}
        <p class="pages">
          <a href={`/console/staff/text-requests?account=${accountId}`}>{titles.textRequests}</a>
          <a href={`/console/staff/batches?account=${accountId}`}>{titles.batches}</a>
          <a href={`/console/staff/webhooks?show=all&account=${accountId}`}>{titles.webhooks}</a>
        </p>
      </Card>
    </>
  );
}

/** What finance repays for a closed account, and the payments to which the funds may return. */
async function showRepayment(account: Account, { texts, path }: UserVisit, reports: ApiServices['reports']) {
  const { id: accountId, fundedAvailable, fundedReserved } = account;
  const { staffAccounts: messages, billing, common, titles, closeAccount } = texts;
  const [payments, { gifted }] = await Promise.all([
    listTopUps(reports, { accountId, limit: LATEST_PAYMENTS }),
    sumAccountTotals(reports, accountId),
  ]);
  return (
    <TableCard
      title={messages.closedByOwner}
      of={CREDITED_TOP_UP}
      rows={payments}
      none={messages.neverPaid}
      columns={[[common.when, 'created_at'], [messages.paidIn, 'amount_usd', 'number'], 'reference']}
    >
      <Facts
        facts={[
          [messages.toRepay, <ExactMoney amount={fundedAvailable} />],
          [closeAccount.held, <ExactMoney amount={fundedReserved} />],
          [messages.gifted, <ExactMoney amount={gifted} />],
        ]}
      />
      <p class="soft">{messages.repayHint}</p>
      <p class="pages">
        <a href="/console/staff/corrections">{titles.corrections}</a>
        <a href={`${path}/ledger?type=topup`}>{billing.wholeLedger}</a>
      </p>
    </TableCard>
  );
}

export async function showKeys({ account: { id: accountId }, visit, services: { database } }: Shown) {
  const { texts, path } = visit;
  const { staffAccounts: messages, titles } = texts;
  const mayChange = hasPermission(visit, 'operate');
  return (
    <>
      <KeyTable
        title={titles.keys}
        keys={await listApiKeys(database, { accountId, limit: MAX_KEYS })}
        none={messages.noKeys}
        path={`${path}/keys`}
        mayChange={mayChange}
      />
      {mayChange ? (
        <p>
          <a href={`${path}/keys`}>{messages.manageKeys}</a>
        </p>
      ) : null}
    </>
  );
}

export async function showMembers({ account: { id: accountId, closedAt }, visit, services: { database } }: Shown) {
  const { titles, fields, staffAccounts: messages } = visit.texts;
  return (
    <TableCard
      title={titles.members}
      of={MEMBER}
      rows={await listMembers(database, accountId)}
      none={messages.noMembers}
      columns={[[fields.name, ({ id, name }) => <a href={`/console/staff/people/${id}`}>{name}</a>], 'email', 'role']}
    >
      {closedAt === null && hasPermission(visit, 'operate') ? <InviteForm accountId={accountId} /> : null}
    </TableCard>
  );
}

export async function showActions({ account: { id: accountId }, visit: { texts }, services: { database } }: Shown) {
  const { staffAccounts: messages, adminActions, common, staff } = texts;
  const [actions, log] = await Promise.all([
    listAccountActions(database, accountId, LATEST_ACTIONS),
    listAdminActions(database, { accountId, limit: LATEST_ENTRIES }),
  ]);
  return (
    <>
      <TableCard
        title={messages.actions}
        of={ACTION}
        rows={actions}
        none={messages.noActions}
        columns={[[common.when, 'created_at'], [staff.action, 'kind'], 'amount_usd', 'author', 'reason']}
      />
      <Card title={adminActions.log}>
        <p class="soft">{adminActions.hint}</p>
        <ActionTable actions={log} />
        <p>
          <a href={`/console/staff/actions?account=${accountId}`}>{adminActions.all}</a>
        </p>
      </Card>
    </>
  );
}

export function showDetails({ account, visit: { path, texts } }: Shown) {
  return (
    <Card title={texts.staffAccounts.edit}>
      <DetailsForm action={`${path}/details`} stored={account} />
    </Card>
  );
}

export async function showMoney({ account, visit: { path, texts }, services: { database } }: Shown) {
  const { staffAccounts: messages, priceLists, titles } = texts;
  const lists = await listPriceLists(database);
  return (
    <div class="grid forms">
      <Card title={messages.adjust}>
        <Balance account={account} />
        <Form action={`${path}/adjust`} submit={messages.adjust}>
          <CorrectionFields reasonId="adjustment-reason" />
        </Form>
        <p>
          <a href={`/console/staff/corrections?account=${account.id}`}>{titles.corrections}</a>
        </p>
      </Card>
      <ReasonCard
        title={priceLists.assign}
        hint={priceLists.assignHint}
        action={`accounts/${account.id}/price-list`}
        look=""
        stored={priceListFields(account)}
      >
        <Choice
          name="price_list"
          label={priceLists.pays}
          options={[['', priceLists.catalogue], ...lists.map(({ name }) => [name, name] as const)]}
        />
      </ReasonCard>
    </div>
  );
}

export function showDanger({ account, visit: { texts } }: Shown) {
  const messages = texts.staffAccounts;
  const isOpen = account.suspendedAt === null;
  const path = `accounts/${account.id}`;
  return (
    <div class="grid forms">
      {account.closedAt === null && account.mergedInto === null ? (
        <ReasonCard
          title={isOpen ? messages.suspend : messages.reopen}
          hint={isOpen ? messages.suspendHint : messages.reopenHint}
          action={`${path}/${isOpen ? 'suspend' : 'reopen'}`}
          look={isOpen ? 'danger' : ''}
        />
      ) : null}
      <ReasonCard title={messages.erase} hint={messages.eraseHint} action={`${path}/erase`} look="danger" />
    </div>
  );
}

function Summary({ account }: { account: Account }) {
  const texts = useTexts();
  const { staffAccounts: messages, fields, common } = texts;
  return (
    <div class="grid">
      <Card title={common.balance}>
        <Balance account={account} />
      </Card>
      <Card title={common.details}>
        <Facts
          facts={[
            [
              fields.status,
              <>
                <Chosen name="state" value={accountStateOf(account)} />{' '}
                {account.suspendedAt === null ? null : <Time at={account.closedAt ?? account.suspendedAt} />}
              </>,
            ],
            account.mergedInto === null
              ? null
              : [
                  fields.merged_into,
                  <ShortId id={account.mergedInto} href={`/console/staff/accounts/${account.mergedInto}`} />,
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
            [fields.response_minutes, account.responseMinutes ?? messages.asAll],
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
