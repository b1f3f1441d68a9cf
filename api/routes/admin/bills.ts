/** The bills of vendors: importing, comparing with our records, and deleting. */
import { listVendorBills as findVendorBills, type VendorBill } from '../../../db/queries/vendor-bills.ts';
import { arrayOf, text } from '../../../domain/json-schema.ts';
import { KNOWN_BILLS } from '../../../domain/known-bills.ts';
import { parseUsd } from '../../../domain/money.ts';
import { BODIES } from '../../../domain/policy.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import {
  BILL_DIFFERENCES,
  BILL_TOLERANCES,
  type BillColumns,
  type BillDifference,
} from '../../../domain/vendor-bill.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { EXPORTS, orAllRows, sendAll } from '../../exports.ts';
import { reportQueueKey, authorOf } from '../../../services/people/administrator.ts';
import { compareBill, type ComparedBill, requireBill, deleteBill, importBill } from '../../../services/money/bills.ts';
import { existingMonth } from './months.ts';
import { importBillSchema } from '../../../services/input/admin.ts';

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
    upstreams: field.words(text())('upstreams', 'The upstreams on the bill'),
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

const COMPARED_BILL = resource<ComparedBill>('ComparedVendorBill', {
  ...BILL.fields,
  differences_total: field.count(({ differences }: ComparedBill) => differences.length, 'The number of differences'),
  differences: field.list(DIFFERENCE)(
    ({ differences }: ComparedBill) => differences.slice(0, MAX_SHOWN),
    `The first ${MAX_SHOWN}, by model`,
  ),
});

const FORGOTTEN_BILL = resource<Pick<VendorBill, 'vendor' | 'month'>>('ForgottenVendorBill', {
  object: field.constant('vendor_bill'),
  vendor: field.text('vendor'),
  month: field.text('month'),
  deleted: field.boolean(() => true),
});

export const billEndpoints = endpoints('Administration', {
  importVendorBill: endpoint({
    request: 'POST /admin/v1/months/{month}/bills',
    access: 'admin-finance',
    summary: 'Import a vendor’s bill, in place of an earlier bill of the month',
    description:
      'Reconciliation compares the bill with the costs of renders and text requests. The month can be closed after each difference is ' +
      'remedied or acknowledged. Later bills use the columns and upstreams of the first bill. ' +
      `The columns are known for the bills of ${[...new Set(KNOWN_BILLS.map(({ vendor }) => vendor))].join(', ')}.`,
    body: jsonBody('ImportVendorBill', importBillSchema, undefined, BODIES.bill),
    answers: { 201: dataOf(COMPARED_BILL.schema, 'The imported bill') },
    refusals: ['bad_request'],
    handle: async ({ params, caller, body }, services) => {
      const { vendor, csv, upstreams, columns } = body;
      const bill = await importBill(services.database, {
        month: existingMonth(params.month),
        vendor,
        author: authorOf(caller, body.author),
        csv,
        usdPerUnit: body.usd_per_unit === undefined ? null : parseUsd(body.usd_per_unit),
        upstreams,
        columns: columns && { ...columns, job: columns.job ?? null },
      });
      return { data: COMPARED_BILL.present(await compareBill(services, reportQueueKey(caller), bill)) };
    },
  }),
  listVendorBills: endpoint({
    request: 'GET /admin/v1/months/{month}/bills',
    access: 'admin-read',
    summary: 'List the bills of vendors for a month',
    answers: { 200: dataOf(arrayOf(BILL.schema), 'The bills, sorted by vendor') },
    refusals: ['bad_request'],
    handle: async ({ params }, { reports }) => ({
      data: (await findVendorBills(reports, existingMonth(params.month))).map(BILL.present),
    }),
  }),
  getVendorBill: endpoint({
    request: 'GET /admin/v1/months/{month}/bills/{vendor}',
    access: 'admin-read',
    summary: 'Compare a vendor’s bill with the recorded costs',
    description: `${EXPORTS} The rows are the differences.`,
    answers: { 200: orAllRows(dataOf(COMPARED_BILL.schema, 'The bill and its differences')) },
    refusals: ['bad_request', 'not_found'],
    handle: async ({ params, context, caller }, services) => {
      const month = existingMonth(params.month);
      const bill = await requireBill(services.reports, params.vendor, month);
      const shown = await compareBill(services, reportQueueKey(caller), bill);
      if (sendAll(context, () => shown.differences, DIFFERENCE)) return undefined;
      return { data: COMPARED_BILL.present(shown) };
    },
  }),
  forgetVendorBill: endpoint({
    request: 'DELETE /admin/v1/months/{month}/bills/{vendor}',
    access: 'admin-finance',
    summary: 'Delete a bill that was imported by mistake',
    answers: { 200: dataOf(FORGOTTEN_BILL.schema, 'The deleted bill') },
    refusals: ['bad_request', 'not_found'],
    handle: async ({ params }, { database }) => {
      const month = existingMonth(params.month);
      await deleteBill(database, params.vendor, month);
      return { data: FORGOTTEN_BILL.present({ vendor: params.vendor, month: month.name }) };
    },
  }),
});
