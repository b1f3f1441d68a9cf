/** Pages that search and change accounts. */
import { ADMIN_BALANCE_ENTRY } from '../../../../services/resources/finance.ts';
import { LISTED_ACCOUNT } from '../../../../services/resources/admin.ts';
import { eraseContentOf, reopenAccount, suspendAccount } from '../../../../services/people/account-actions.ts';
import { createAccount, editAccount } from '../../../../services/people/account-details.ts';
import { existingAccount } from '../../../../services/people/existing-account.ts';
import { findById, type Found } from '../../../../services/operations/find-by-id.ts';
import { setPriceList } from '../../../../services/money/price-lists.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { type AccountFilter, listAccounts } from '../../../../db/queries/accounts.ts';
import { streamBalanceEntries } from '../../../../db/queries/balance-entries.ts';
import { accountStateOf } from '../../../../domain/account-state.ts';
import { exportFile } from '../../../export.ts';
import { Card, Choice, Pages, RoundedMoney } from '../../../html/components.tsx';
import { FieldFilter, Filters } from '../../../html/filters.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { readListPage } from '../../../list-page.ts';
import { hasPermission, openPage, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { filterOf, Ledger, pagesOfStaff, readLedger } from '../../billing/ledger.tsx';
import { invite } from '../people/pages.tsx';
import { saveAccountIfUnchanged } from '../../save-account.ts';
import { correctByForm, correctedTo } from '../corrections/form.tsx';
import { authorshipOf } from '../reason.ts';
import { type AccountTab, showAccount } from './account.tsx';
import { DETAIL_NAMES, detailFields, DetailsForm, readDetails } from './details.tsx';
import { priceListFields } from './tabs.tsx';

const accountList = staff.page('/staff/accounts', 'read', search);
const ACCOUNT = '/staff/accounts/{account_id}';

/** Forms of a tab, which is shown again when one of them is refused. */
function formsOf(tab: AccountTab) {
  return staff.page(ACCOUNT, 'read', (visit, services) => showAccount(visit, services, tab)).form;
}

const inDetails = formsOf('details');
const inMembers = formsOf('members');
const inMoney = formsOf('money');
const inDanger = formsOf('danger');

export const staffAccountPages = [
  accountList,
  accountList.form(
    '',
    'operate',
    ({ form, user }, services) => createAccount(services, readDetails(form), { author: user.email }),
    (_visit, id) => openPage(`/staff/accounts/${id}`, 'accountCreated'),
  ),
  staff.page(ACCOUNT, 'read', (visit, services) => showAccount(visit, services)),
  inDetails('/details', 'operate', (visit, { database }) =>
    saveAccountIfUnchanged(visit, database, detailFields, (transaction, { id: accountId }) => {
      const [details, author] = [readDetails(visit.form), visit.user.email];
      return editAccount({ database: transaction }, { accountId, details, names: DETAIL_NAMES, author });
    }),
  ),
  inMembers('/members', 'operate', invite, (_visit, shown) => shown),
  staff.page(`${ACCOUNT}/ledger`, 'read', showLedger),
  staff.page(`${ACCOUNT}/ledger/export`, 'read', async ({ params, query }, { reports }) => {
    const { id } = await existingAccount(reports, params['account_id'] ?? '');
    const entries = streamBalanceEntries(reports, filterOf(id, query));
    return exportFile(`ledger-${id}`, query, entries, ADMIN_BALANCE_ENTRY);
  }),
  inDanger(
    '/suspend',
    'operate',
    (visit, { database }) => suspendAccount(database, accountIdOf(visit), authorshipOf(visit)),
    'suspended',
  ),
  inDanger(
    '/reopen',
    'operate',
    (visit, { database }) => reopenAccount(database, accountIdOf(visit), authorshipOf(visit)),
    'reopened',
  ),
  inDanger(
    '/erase',
    'operate',
    (visit, { database }) => eraseContentOf(database, accountIdOf(visit), authorshipOf(visit)),
    'erasing',
  ),
  inMoney('/price-list', 'moveMoney', (visit, { database }) =>
    saveAccountIfUnchanged(visit, database, priceListFields, (transaction, { id: accountId }) => {
      const list = visit.form.optional('price_list');
      return setPriceList({ database: transaction }, { accountId, list, ...authorshipOf(visit) });
    }),
  ),
  inMoney(
    '/adjust',
    'moveMoney',
    (visit, services) => correctByForm(visit, services, accountIdOf(visit)),
    (_visit, booked) => correctedTo(booked),
  ),
];

/** The accounts in each state of the filter. */
const FILTERS: ReadonlyMap<string, Pick<AccountFilter, 'suspended' | 'closed' | 'merged' | 'repayable'>> = new Map([
  ['suspended', { suspended: true, closed: false, merged: false }],
  ['merged', { merged: true }],
  ['closed', { closed: true }],
  ['repayable', { repayable: true }],
]);

async function search(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { query, texts } = visit;
  const wanted = (query.get('search') ?? '').trim();
  const state = query.get('state');
  const filter = { search: wanted || undefined, ...FILTERS.get(state ?? '') };
  const [found, { entries: accounts, next }] = await Promise.all([
    findById(services, wanted, texts.timeline),
    readListPage(query, 'account', (slice) => listAccounts(services.reports, { ...filter, ...slice })),
  ]);
  const { staffAccounts: messages, fields } = texts;
  return showPage(
    texts.titles.accounts,
    <Filters hasViews={false}>
      <FieldFilter name="search" label={texts.common.partOfAccount} type="search" />
      <Choice
        name="state"
        label={texts.fields.status}
        value={state}
        options={[
          ['', messages.all],
          ['suspended', texts.values.state.suspended],
          ['merged', texts.values.state.account_merged],
          ['closed', texts.values.state.account_closed],
          ['repayable', messages.repayable],
        ]}
      />
    </Filters>,
    found === null ? null : <FoundTimeline found={found} />,
    found !== null && accounts.length === 0 ? null : (
      <TableCard
        of={LISTED_ACCOUNT}
        rows={accounts}
        none={messages.none}
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
    ),
    <Pages next={next} />,
    hasPermission(visit, 'operate') ? (
      <Card title={messages.create}>
        <DetailsForm action="/console/staff/accounts" stored={null} />
      </Card>
    ) : null,
  );
}

function FoundTimeline({ found: { id, kind, account, verdict, events, pending } }: { found: Found }) {
  const texts = useTexts();
  const messages = texts.staffAccounts;
  return (
    <Card title={messages.kinds[kind]}>
      <p class="verdict">{verdict}</p>
      <p class="row">
        {account === null ? null : (
          <a href={`/console/staff/accounts/${account.id}`}>{messages.ofAccount(account.name || account.id)}</a>
        )}
        {kind === 'account' ? null : <AnyId id={id} />}
      </p>
      <Timeline events={events} {...(pending && { pending })} />
    </Card>
  );
}

function accountIdOf({ params }: UserVisit): string {
  return params['account_id'] ?? '';
}

async function showLedger(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { id, name } = await existingAccount(services.reports, accountIdOf(visit));
  const ledger = await readLedger(services, id, visit.query);
  return showPage(
    visit.texts.billing.ledgerOf(name || id),
    <p>
      <a href={`/console/staff/accounts/${id}`}>{visit.texts.fields.account_id}</a>
    </p>,
    <Ledger {...ledger} pageOf={pagesOfStaff} isOfStaff />,
  );
}
