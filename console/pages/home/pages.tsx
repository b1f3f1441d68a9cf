/** The home page of an account: balance, spending and tasks. */
import { existingAccount } from '../../../services/people/existing-account.ts';
import { countRunningTasks, listTasks } from '../../../db/queries/tasks.ts';
import { sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import { Balance } from '../../html/balance.tsx';
import { DayChart, seriesOf } from '../../html/chart.tsx';
import { ButtonLink, Card, Empty, Polled } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { member, type MemberVisit, showPage, showPart, user } from '../../page.ts';
import { usualPeriods } from '../../period.ts';
import { AddFunds } from '../billing/add-funds.tsx';
import { Gallery } from '../tasks/gallery.tsx';
import { daysOf, readPeriod } from '../usage/period.ts';

const LATEST = 8;

export const homePages = [
  user.page('', async ({ memberships, texts, user: { staffRole } }) => {
    const [first] = memberships;
    if (first) return { kind: 'redirect', path: `/accounts/${first.accountId}` };
    if (staffRole !== null) {
      return { kind: 'redirect', path: staffRole === 'finance' ? '/staff/months' : '/staff/live' };
    }
    return { kind: 'page', title: texts.titles.home, content: <Empty>{texts.home.noAccounts}</Empty> };
  }),
  member.page('/accounts/{account_id}', 'see', async (visit, services) => {
    const { texts, account: membership } = visit;
    const { accountId } = membership;
    const { database, reports } = services;
    const nowMs = services.clock.nowMs();
    const [from, to] = usualPeriods(nowMs).thirtyDays;
    const asked = new URLSearchParams({ from, to });
    const period = readPeriod(asked, nowMs);
    const [account, running, days, tasks] = await Promise.all([
      existingAccount(database, accountId),
      countRunningTasks(database, accountId),
      sumDailyUsage(reports, { accountId, ...period }),
      listTasks(database, { accountId, limit: LATEST }),
    ]);
    const { home, usage: usageMessages, titles, common } = texts;
    const usage = `/console/accounts/${accountId}/usage?${asked.toString()}`;
    return showPage(
      titles.home,
      <div class="grid">
        <Card title={common.balance}>
          <Balance account={account} />
          <AddFunds account={membership} services={services} />
        </Card>
        <Card title={home.running}>
          <Running count={running} accountId={accountId} />
        </Card>
        <Card title={home.spend} wide>
          <DayChart
            days={daysOf(period, nowMs)}
            series={seriesOf(days, usageMessages.others)}
            label={home.spend}
            dayHref={(day) => `${usage}&day=${day}`}
            nameHref={(model) => `${usage}&model=${encodeURIComponent(model)}`}
          />
        </Card>
      </div>,
      <h2>{common.latestTasks}</h2>,
      tasks.length === 0 ? <FirstSteps visit={visit} /> : <Gallery tasks={tasks} accountId={accountId} />,
    );
  }),
  member.page('/accounts/{account_id}/running', 'see', async ({ account: { accountId } }, { database }) => {
    const [account, running] = await Promise.all([
      existingAccount(database, accountId),
      countRunningTasks(database, accountId),
    ]);
    return showPart(
      <>
        <Running count={running} accountId={accountId} />
        <Balance account={account} isUpdate />
      </>,
    );
  }),
];

/** The number of running tasks, which the browser polls, with the balance, until no task runs. */
function Running({ count, accountId }: { count: number; accountId: string }) {
  const { home } = useTexts();
  return (
    <Polled path={`/console/accounts/${accountId}/running`} seconds={2} isFinal={count === 0}>
      {count === 0 ? <Empty>{home.nothingRunning}</Empty> : <p class="big number">{count}</p>}
    </Polled>
  );
}

/** Links for an account without tasks. */
function FirstSteps({ visit: { account, texts } }: { visit: MemberVisit }) {
  const { home, titles } = texts;
  const path = `/console/accounts/${account.accountId}`;
  return (
    <>
      <Empty>{home.noTasks}</Empty>
      {hasMemberPermission(account.role, 'develop') ? (
        <div class="row actions after">
          <ButtonLink href={`${path}/playground`} label={titles.playground} />
          <ButtonLink href={`${path}/keys`} label={titles.keys} look="quiet" />
        </div>
      ) : null}
      <ApiReference />
    </>
  );
}
