/** Months: earnings, exports, customers' statements, bills of vendors, and closing. */
import { MONTH_LINE, streamMonthLines } from '../../../../services/money/month-rows.ts';
import { exportFile } from '../../../export.ts';
import { staff } from '../../../page.ts';
import { monthIn } from '../../usage/period.ts';
import { billPages } from './bills.tsx';
import { closingPages } from './closing.tsx';
import { showMonths } from './list.tsx';
import { showMonth } from './month.tsx';
import { statementPages } from './statements.tsx';

export const staffMonthPages = [
  staff.page('/staff/months', 'read', showMonths),
  staff.page('/staff/months/{month}', 'read', showMonth),
  staff.page('/staff/months/{month}/export', 'read', async (visit, { reports }) => {
    const month = monthIn(visit);
    return exportFile(`transfers-${month.name}`, visit.query, streamMonthLines(reports, month), MONTH_LINE);
  }),
  ...statementPages,
  ...billPages,
  ...closingPages,
];
