/** The shapes of vendors’ bills. */
import { type VendorBill } from '../../db/queries/vendor-bills.ts';
import { text } from '../../domain/json-schema.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { BILL_DIFFERENCES, BILL_TOLERANCES, type BillColumns, type BillDifference } from '../../domain/vendor-bill.ts';
import { type ComparedBill } from '../money/bills.ts';

const COLUMNS = nested<BillColumns>(
  {
    job: field.text.orNull('job', 'The column of job ids. Null if the lines are sums'),
    model: field.text('model', 'The column of models'),
    amount: field.text('amount', 'The column of amounts'),
  },
  'The titles of the columns.',
);

export const BILL = resource<VendorBill>(
  'VendorBill',
  {
    object: field.constant('vendor_bill'),
    vendor: field.text('vendor', 'The name that you gave the vendor'),
    month: field.text('month', 'The month in UTC, such as 2026-10'),
    upstreams: field.texts(text())('upstreams', 'The upstreams on the bill'),
    columns: field.object(COLUMNS)('columns'),
    usd_per_unit: field.exactUsd.orNull('usdPerUnit', 'The value of 1 unit of the currency. Null for US dollars'),
    lines: field.count('lines', 'The number of lines that name a job or a model'),
    billed_usd: field.exactUsd('amount', 'The sum of the lines'),
    imported_at: field.isoTime('importedAt', 'When the bill was imported'),
    author: field.text('author', 'Who imported the bill'),
  },
  'The bill of a vendor for a month.',
);

const percent = (part: 'job' | 'renders' | 'text'): string => `${BILL_TOLERANCES[part] * 100} %`;

export const DIFFERENCE = nested<BillDifference>({
  difference: field.oneOf(BILL_DIFFERENCES)(
    'difference',
    '`extra`: billed, but not recorded here. `missing`: recorded here, but not billed. `wrong_price`: differs by more than half a cent, and by ' +
      `more than ${percent('job')} for a job, ${percent('renders')} for the renders and ${percent('text')} for the text of a model`,
  ),
  model: field.text('model', 'The upstream’s name for the model, or the bill’s if no route has it'),
  job_id: field.text.orNull('jobId', 'The upstream’s id of the job. Null if lines of the model were added up'),
  task_id: field.id('task').orNull('taskId'),
  line: field.count.orNull('line', 'The first line of the file about the difference. Null if none'),
  billed_usd: field.exactUsd.orNull('billed', 'The amount on the bill. Null if not billed'),
  cost_usd: field.exactUsd.orNull('cost', 'The cost on record. Null if there is none'),
});

/** The number of differences in an answer. */
const MAX_SHOWN = 100;

export const COMPARED_BILL = resource<ComparedBill>('ComparedVendorBill', {
  ...BILL.fields,
  differences_total: field.count(({ differences }: ComparedBill) => differences.length, 'The number of differences'),
  differences: field.list(DIFFERENCE)(
    ({ differences }: ComparedBill) => differences.slice(0, MAX_SHOWN),
    `The first ${MAX_SHOWN}, by model`,
  ),
});

export const FORGOTTEN_BILL = resource<Pick<VendorBill, 'vendor' | 'month'>>('ForgottenVendorBill', {
  object: field.constant('vendor_bill'),
  vendor: field.text('vendor'),
  month: field.text('month'),
  deleted: field.boolean(() => true),
});
