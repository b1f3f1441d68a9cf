/** Refunds of all accounts, with their causes. */
import { REFUND, streamShownRefunds } from '../../../../api/routes/admin/present-finance.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { listRefunds, type RefundFilter, sumRefunds } from '../../../../db/queries/statements.ts';
import { exportFile } from '../../../export.ts';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { periodOrMonth } from '../../../period.ts';
import { RefundContent } from './content.tsx';

const REFUND_LIST = { kind: 'transfer', size: 50 } as const;
const CAUSE = /^[a-z_]{1,100}$/;

export const staffRefundPages = [
  staff.page('/staff/refunds', 'read', showRefunds),
  staff.page('/staff/refunds/export', 'read', async (visit, { reports, clock, temporal }) => {
    const filter = filterOf(visit, clock.nowMs());
    return exportFile('refunds', visit.query, streamShownRefunds(reports, filter, temporal), REFUND);
  }),
];

async function showRefunds(visit: UserVisit, { reports, inTurn, clock }: ApiServices): Promise<PageResult> {
  const filter = filterOf(visit, clock.nowMs());
  const [{ entries: refunds, next }, sums] = await Promise.all([
    readListPage(visit.query, REFUND_LIST, (slice) => listRefunds(reports, { ...filter, ...slice })),
    inTurn(visit.user.email, () => sumRefunds(reports, filter)),
  ]);
  return showPage('refunds', visit.texts.refunds.title, <RefundContent {...{ refunds, sums, filter, next, visit }} />);
}

/** Reads the filters. Without days, the period is the current month. */
function filterOf({ query }: UserVisit, nowMs: number): RefundFilter {
  const cause = query.get('cause') ?? '';
  return {
    ...periodOrMonth(query, nowMs),
    accountId: (query.get('account_id') ?? '').trim() || undefined,
    cause: CAUSE.test(cause) ? cause : undefined,
  };
}
