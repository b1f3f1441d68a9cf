/** Searching and changing accounts. */
import { ADMIN_BALANCE_ENTRY } from '../../../../api/routes/admin/present-finance.ts';
import { adjustmentSchema } from '../../../../api/routes/admin/schema.ts';
import { eraseContentOf, reopenAccount, suspendAccount } from '../../../../api/services/account-actions.ts';
import { createAccount, editAccount } from '../../../../api/services/account-details.ts';
import { adjustBalanceOnce } from '../../../../api/services/adjust-balance.ts';
import { existingAccount } from '../../../../api/services/existing-account.ts';
import { findById } from '../../../../api/services/find-by-id.ts';
import { setPriceList } from '../../../../api/services/price-lists.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { createValidator } from '../../../../api/validation.ts';
import { listAccounts } from '../../../../db/queries/accounts.ts';
import { listBalanceEntries, streamBalanceEntries } from '../../../../db/queries/balance-entries.ts';
import { listApiKeys } from '../../../../db/queries/api-keys.ts';
import { listAccountActions } from '../../../../db/queries/operator-actions.ts';
import { listPriceLists } from '../../../../db/queries/price-lists.ts';
import { listTasks } from '../../../../db/queries/tasks.ts';
import { listMembers } from '../../../../db/queries/users.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { exportFile } from '../../../export.ts';
import { carryOut } from '../../../form-problem.ts';
import { Card, Choice, Pages } from '../../../html/components.tsx';
import { readListPage } from '../../../list-page.ts';
import { may, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { filterOf, Ledger, pagesOfStaff, readLedger } from '../../billing/ledger.tsx';
import { authorshipOf } from '../reason.ts';
import { AccountContent } from './account.tsx';
import { DETAIL_NAMES, DetailsForm, readDetails } from './details.tsx';
import { AccountTable, FoundTimeline } from './search.tsx';

const ACCOUNT_LIST = { kind: 'account', size: 50 } as const;
/** The keys that the page shows. The search finds other keys by id. */
const MAX_KEYS = 50;
const LATEST_TASKS = 10;
const LATEST_ENTRIES = 10;

const validateAdjustment = createValidator(adjustmentSchema);

export const staffAccountPages = [
  staff.page('/staff/accounts', 'read', (visit, services) => search(visit, services)),
  staff.form('/staff/accounts', 'operate', (visit, services) => create(visit, services)),
  staff.form('/staff/accounts/{account_id}/details', 'operate', (visit, services) =>
    change(visit, services, () =>
      editAccount(services, {
        accountId: accountIdOf(visit),
        details: readDetails(visit.form),
        names: DETAIL_NAMES,
        author: visit.user.email,
      }),
    ),
  ),
  staff.page('/staff/accounts/{account_id}', 'read', (visit, services) => showAccount(visit, services)),
  staff.page('/staff/accounts/{account_id}/ledger', 'read', (visit, services) => showLedger(visit, services)),
  staff.page('/staff/accounts/{account_id}/ledger/export', 'read', async ({ params, query }, { reports }) => {
    const { id } = await existingAccount(reports, params['account_id'] ?? '');
    const entries = streamBalanceEntries(reports, filterOf(id, query));
    return exportFile(`ledger-${id}`, query, entries, ADMIN_BALANCE_ENTRY);
  }),
  staff.form('/staff/accounts/{account_id}/suspend', 'operate', (visit, services) =>
    change(visit, services, () => suspendAccount(services.database, accountIdOf(visit), authorshipOf(visit))),
  ),
  staff.form('/staff/accounts/{account_id}/reopen', 'operate', (visit, services) =>
    change(visit, services, () => reopenAccount(services.database, accountIdOf(visit), authorshipOf(visit))),
  ),
  staff.form('/staff/accounts/{account_id}/erase', 'operate', (visit, services) =>
    change(visit, services, () => eraseContentOf(services.database, accountIdOf(visit), authorshipOf(visit))),
  ),
  staff.form('/staff/accounts/{account_id}/price-list', 'moveMoney', (visit, services) =>
    change(visit, services, async () => {
      const list = visit.form.optional('price_list');
      await setPriceList(services, { accountId: accountIdOf(visit), list, ...authorshipOf(visit) });
    }),
  ),
  staff.form('/staff/accounts/{account_id}/adjust', 'moveMoney', (visit, services) =>
    change(visit, services, () => adjust(visit, services)),
  ),
];

async function create(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  try {
    const id = await createAccount(services, readDetails(visit.form), { author: visit.user.email });
    return { kind: 'redirect', path: `/staff/accounts/${id}` };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    return search(visit, services, error);
  }
}

async function search(
  visit: UserVisit,
  services: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const { query, texts } = visit;
  const wanted = (query.get('search') ?? '').trim();
  const suspended = query.get('suspended');
  const filter = { search: wanted || undefined, suspended: suspended === 'true' ? true : undefined };
  const [found, { entries: accounts, next }] = await Promise.all([
    findById(services, wanted),
    readListPage(query, ACCOUNT_LIST, (slice) => listAccounts(services.reports, { ...filter, ...slice })),
  ]);
  const words = texts.staffAccounts;
  return showPage(
    'accounts',
    texts.titles.accounts,
    <>
      <form method="get" class="filters" role="search">
        <Choice
          name="suspended"
          label={texts.fields.status}
          value={suspended}
          options={[
            ['', words.all],
            ['true', texts.values.state.suspended],
          ]}
        />
        <button type="submit" class="quiet">
          {texts.common.filter}
        </button>
      </form>
      {found === null ? null : <FoundTimeline found={found} />}
      {found !== null && accounts.length === 0 ? null : <AccountTable accounts={accounts} />}
      <Pages next={next} />
      {may(visit, 'operate') ? (
        <Card title={words.create}>
          <DetailsForm action="/console/staff/accounts" stored={null} />
        </Card>
      ) : null}
    </>,
    problem,
  );
}

function accountIdOf({ params }: UserVisit): string {
  return params['account_id'] ?? '';
}

async function showAccount(
  visit: UserVisit,
  { database, reports }: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const accountId = accountIdOf(visit);
  const account = await existingAccount(database, accountId);
  const [keys, members, tasks, actions, entries, lists] = await Promise.all([
    listApiKeys(database, { accountId, limit: MAX_KEYS }),
    listMembers(database, accountId),
    listTasks(database, { accountId, limit: LATEST_TASKS }),
    listAccountActions(database, accountId),
    listBalanceEntries(reports, { accountId, limit: LATEST_ENTRIES }),
    listPriceLists(database),
  ]);
  const adjustmentId = visit.form.optional('adjustment_id') ?? newId('transfer');
  return showPage(
    'accounts',
    account.name,
    <AccountContent {...{ account, keys, members, tasks, entries, actions, lists, adjustmentId, visit }} />,
    problem,
  );
}

async function showLedger(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { id, name } = await existingAccount(services.reports, accountIdOf(visit));
  const ledger = await readLedger(services, id, visit.query);
  return showPage(
    'accounts',
    visit.texts.billing.ledgerOf(name || id),
    <>
      <p>
        <a href={`/console/staff/accounts/${id}`}>{visit.texts.fields.account_id}</a>
      </p>
      <Ledger {...ledger} pageOf={pagesOfStaff} isOfStaff />
    </>,
  );
}

/** Changes an account, and shows the account afterwards, or the form again with its problem. */
async function change(visit: UserVisit, services: ApiServices, work: () => Promise<unknown>): Promise<PageResult> {
  return carryOut(work, `/staff/accounts/${accountIdOf(visit)}`, (problem) => {
    if (problem.code === 'not_found') throw problem;
    return showAccount(visit, services, problem);
  });
}

async function adjust(visit: UserVisit, services: ApiServices): Promise<void> {
  const { form, user } = visit;
  const { id: accountId } = await existingAccount(services.database, accountIdOf(visit));
  const { amount_usd: amountUsd, reason } = validateAdjustment({
    amount_usd: form.text('amount_usd'),
    reason: form.text('reason'),
  });
  const amount = parseUsd(amountUsd);
  await adjustBalanceOnce(services, { id: form.text('adjustment_id'), accountId, amount, author: user.email, reason });
}
