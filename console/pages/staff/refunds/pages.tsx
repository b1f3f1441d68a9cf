/** Refunds of all accounts, with their causes. */
import { LISTED_REFUND, REFUND, streamShownRefunds } from '../../../../services/resources/finance.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { listRefunds, type RefundFilter, type RefundSum, sumRefunds } from '../../../../db/queries/statements.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { withAccountNames } from '../../../account-names.ts';
import { exportFile } from '../../../export.ts';
import { Choice } from '../../../html/components.tsx';
import { Candidates, DayFilters, Downloads, FieldFilter, Filters } from '../../../html/filters.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { findFilteredAccount, type PartFilter } from '../../../part-filter.ts';
import { periodOrMonth } from '../../../period.ts';
import { type Texts, wordFor } from '../../../texts/texts.ts';

const CAUSE = /^[a-z_]{1,100}$/;

export const staffRefundPages = [
  staff.page('/staff/refunds', 'read', showRefunds),
  staff.page('/staff/refunds/export', 'read', async (visit, services) => {
    const { reports } = services;
    const { temporal } = services.operations;
    const { filter } = await readFilter(visit, services);
    return exportFile('refunds', visit.query, streamShownRefunds(reports, filter, temporal), REFUND);
  }),
];

async function showRefunds(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { reports } = services;
  const { queueReport } = services.money;
  const { filter, account } = await readFilter(visit, services);
  const [{ entries: refunds, next }, sums] = await Promise.all([
    readListPage(visit.query, 'transfer', (slice) => listRefunds(reports, { ...filter, ...slice })),
    queueReport(visit.user.email, () => sumRefunds(reports, filter)),
  ]);
  const { texts } = visit;
  const { refunds: messages, fields, titles, common } = texts;
  const causes = new Set([filter.cause, ...sums.map(({ cause }) => cause)].flatMap((cause) => cause ?? []));
  return withAccountNames(
    reports,
    refunds.map(({ accountId }) => accountId),
    showPage(
      titles.refunds,
      <Filters downloads={<Downloads />}>
        <DayFilters standing={filter} />
        <Choice
          name="cause"
          value={filter.cause}
          options={[
            ['', messages.allCauses],
            ...Array.from(causes, (cause) => [cause, causeInWords(cause, texts)] as const),
          ]}
        />
        <FieldFilter name="account" label={common.partOfAccount} />
      </Filters>,
      <Candidates filters={[account]} />,
      <TableCard
        of={REFUND_SUM}
        title={messages.byCause}
        rows={sums.map((sum) => ({ ...sum, name: causeInWords(sum.cause, texts) }))}
        none={messages.none}
        total={{
          name: common.total,
          cause: null,
          refunds: sums.reduce((all, { refunds }) => all + refunds, 0),
          amount: sums.reduce((all, { amount }) => all + amount, 0n),
        }}
        columns={[[fields.cause, ({ name }) => name], 'refunds', 'amount_usd']}
      />,
      refunds.length === 0 ? null : (
        <TableCard
          title={titles.refunds}
          of={LISTED_REFUND}
          rows={refunds}
          hasColumnMenu
          columns={[
            [common.when, 'created_at'],
            'amount_usd',
            [
              fields.cause,
              ({ cause, message }) => (
                <>
                  {causeInWords(cause, texts)}
                  {message === null ? null : <p class="hint">{message}</p>}
                </>
              ),
              null,
              'cause',
            ],
            'model',
            [messages.of, 'task_id'],
            'account_id',
          ]}
          next={next}
        />
      ),
    ),
  );
}

/** Reads the filters. Without days, the period is the current month. */
async function readFilter(
  { query }: UserVisit,
  services: ApiServices,
): Promise<{ readonly filter: RefundFilter; readonly account: PartFilter }> {
  const account = await findFilteredAccount(query, services);
  const cause = query.get('cause') ?? '';
  return {
    account,
    filter: {
      ...periodOrMonth(query, services.clock.nowMs()),
      // While several accounts match, the filter is an empty id, which no account has.
      accountId: account.value === null ? '' : account.value,
      cause: CAUSE.test(cause) ? cause : undefined,
    },
  };
}

const REFUND_SUM = nested<Omit<RefundSum, 'cause'>>({
  refunds: field.count('refunds'),
  amount_usd: field.usd('amount'),
});

function causeInWords(cause: string | null, texts: Texts): string {
  return cause === null ? texts.refunds.unknownCause : wordFor('failure_reason', cause, texts);
}
