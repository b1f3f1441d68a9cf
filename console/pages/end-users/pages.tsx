/** The end users of an account, for its members and for operators: what they used, and their budgets. */
import { existingAccount } from '../../../api/services/existing-account.ts';
import { setBudget } from '../../../api/services/end-user-budgets.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { toBudget } from '../../../api/routes/admin/end-user-budgets.ts';
import { endUserBudgetSchema } from '../../../api/routes/admin/schema.ts';
import { END_USER_USAGE } from '../../../api/routes/usage/present.ts';
import { createValidator } from '../../../api/validation.ts';
import { deleteEndUserBudget, listEndUserBudgets } from '../../../db/queries/end-user-budgets.ts';
import { sumEndUserUsage } from '../../../db/queries/end-user-usage.ts';
import type { ServiceError } from '../../../domain/errors.ts';
import { mayAsMember } from '../../../domain/roles.ts';
import { exportFile } from '../../export.ts';
import { carryOut } from '../../form-problem.ts';
import { Card } from '../../html/components.tsx';
import { DayFilters, Downloads, Filters } from '../../html/filters.tsx';
import { readListPage } from '../../list-page.ts';
import { may, member, type Page, type PageResult, showPage, staff, type UserVisit } from '../../page.ts';
import { type NamedPeriod, readPeriod } from '../usage/period.ts';
import { BudgetForm, BudgetTable, UsageTable } from './tables.tsx';

const BUDGET_LIST = { kind: 'endUserBudget', size: 50 } as const;
const validate = createValidator(endUserBudgetSchema);

/** The pages about end users, in one part of the console. */
interface Place {
  readonly path: string;
  /** The entry of the navigation. */
  readonly current: string;
  readonly page: (path: string, handle: Handle) => Page;
  readonly form: (path: string, handle: Handle) => Page;
  readonly mayChange: (visit: UserVisit) => boolean;
}

type Handle = (visit: UserVisit, services: ApiServices) => Promise<PageResult>;

export const endUserPages = [
  ...pagesAt({
    path: '/accounts/{account_id}/end-users',
    current: 'endUsers',
    page: (path, handle) => member.page(path, 'see', handle),
    form: (path, handle) => member.form(path, 'develop', handle),
    mayChange: ({ memberships, params }) =>
      memberships.some(({ accountId, role }) => accountId === params['account_id'] && mayAsMember(role, 'develop')),
  }),
  ...pagesAt({
    path: '/staff/accounts/{account_id}/end-users',
    current: 'accounts',
    page: (path, handle) => staff.page(path, 'read', handle),
    form: (path, handle) => staff.form(path, 'operate', handle),
    mayChange: (visit) => may(visit, 'operate'),
  }),
];

function pagesAt(place: Place): readonly Page[] {
  const { path, page, form } = place;
  return [
    page(path, (visit, services) => showEndUsers(visit, services, place)),
    page(`${path}/export`, async (visit, services) => {
      const { period, rows } = await askedUsage(visit, services);
      return exportFile(`end-users-${period.name}`, visit.query, rows, END_USER_USAGE);
    }),
    form(path, (visit, services) =>
      carryOut(
        () => set(visit, services),
        pathOf(visit, place),
        (problem) => showEndUsers(visit, services, place, problem),
      ),
    ),
    form(`${path}/{budget_id}/delete`, async (visit, { database }) => {
      const { budget_id: id = '', account_id: accountId = '' } = visit.params;
      await deleteEndUserBudget(database, { id, accountId });
      return { kind: 'redirect', path: pathOf(visit, place) };
    }),
  ];
}

function pathOf({ params }: UserVisit, { path }: Place): string {
  return path.replace('{account_id}', params['account_id'] ?? '');
}

async function set({ form, params }: UserVisit, { database }: ApiServices): Promise<void> {
  const { id: accountId } = await existingAccount(database, params['account_id'] ?? '');
  const body = validate({
    end_user: form.text('end_user'),
    usage_limit_usd: form.text('usage_limit_usd'),
    limit_period: form.text('limit_period'),
  });
  await setBudget(database, toBudget(accountId, body));
}

async function askedUsage({ params, query }: UserVisit, { reports, inTurn, clock }: ApiServices) {
  const account = await existingAccount(reports, params['account_id'] ?? '');
  const period: NamedPeriod = readPeriod(query, clock.nowMs());
  const { from, to } = period;
  const rows = await inTurn(account.id, () => sumEndUserUsage(reports, { accountId: account.id, from, to }));
  return { account, period, rows };
}

async function showEndUsers(
  visit: UserVisit,
  services: ApiServices,
  place: Place,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const { endUsers: words } = visit.texts;
  const { account, period, rows } = await askedUsage(visit, services);
  const named = visit.query.get('end_user')?.trim() || undefined;
  const budgets = await readListPage(visit.query, BUDGET_LIST, (slice) =>
    listEndUserBudgets(services.database, { accountId: account.id, endUser: named, ...slice }),
  );
  const address = `/console${pathOf(visit, place)}`;
  const mayChange = place.mayChange(visit);
  return showPage(
    place.current,
    words.title,
    <>
      <Filters downloads={<Downloads />} hasViews={false} keeps={['end_user']}>
        <DayFilters standing={period} />
      </Filters>
      <UsageTable rows={rows} />
      <BudgetTable page={budgets} path={address} mayChange={mayChange} />
      {mayChange ? (
        <Card title={words.set}>
          <BudgetForm action={address} />
        </Card>
      ) : null}
    </>,
    problem,
  );
}
