/** The log of the administration: what operators did by command, by the API and by forms of the console. */
import type { ApiServices } from '../../../../api/services.ts';
import { listAdminActions } from '../../../../db/queries/admin-tokens.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Pages } from '../../../html/components.tsx';
import { Candidates, DayFilters, FieldFilter, Filters, textIn } from '../../../html/filters.tsx';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { findFilteredAccount, readIfFiltered } from '../../../part-filter.ts';
import { periodOf } from '../../../period.ts';
import { ActionTable } from './table.tsx';

export const staffActionPages = [staff.page('/staff/actions', 'read', list)];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { reports } = services;
  const account = await findFilteredAccount(query, services);
  const filter = {
    ...periodOf(query),
    author: textIn(query, 'author'),
    accountId: account.value ?? undefined,
  };
  const { entries: actions, next } = await readListPage(query, 'adminAction', (slice) =>
    readIfFiltered([account], () => listAdminActions(reports, { ...filter, ...slice })),
  );
  const { titles, common, adminActions: messages } = texts;
  return withAccountNames(
    reports,
    actions.flatMap(({ accountId }) => accountId ?? []),
    showPage(
      titles.actions,
      <Filters>
        <DayFilters />
        <FieldFilter name="account" label={common.partOfAccount} />
        <FieldFilter name="author" />
      </Filters>,
      <Candidates filters={[account]} />,
      <Card>
        <p class="soft">{messages.hint}</p>
        <ActionTable actions={actions} hasAccounts />
      </Card>,
      <Pages next={next} />,
    ),
  );
}
