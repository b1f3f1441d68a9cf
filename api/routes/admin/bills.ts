/** The bills of vendors: importing, comparing with our records, and deleting. */
import { listVendorBills, type VendorBill } from '../../../db/queries/vendor-bills.ts';
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
import { endpoint } from '../../endpoint/endpoint.ts';
import { EXPORTS, orAllRows, sendAll } from '../../exports.ts';
import { askerOf, authorOf } from '../../services/administrator.ts';
import { compareBill, type ComparedBill, existingBill, forgetBill, importBill } from '../../services/finance/bills.ts';
import { existingMonth } from './months.ts';
import { importBillSchema } from './schema.ts';

const COLUMNS = nested<BillColumns>(
  {
    job: field.text.orNull('job', "That of the vendor's jobs; null if lines are sums"),
    model: field.text('model', 'That of models'),
    amount: field.text('amount', 'That of amounts'),
  },
  'The titles of the columns that were read.',
);

export const BILL = resource<VendorBill>(
  'VendorBill',
  {
    object: field.constant('vendor_bill'),
    vendor: field.text('vendor', 'The name that you gave the vendor'),
    month: field.text('month', 'In UTC, such as 2026-10'),
    upstreams: field.words(text())('upstreams', 'The upstreams that it bills'),
    columns: field.object(COLUMNS)('columns'),
    usd_per_unit: field.exactUsd.orNull('usdPerUnit', 'What 1 of its currency was worth; null for US dollars'),
    lines: field.count('lines', 'Lines that name a job or a model'),
    billed_usd: field.exactUsd('amount', 'What they add up to'),
    imported_at: field.isoTime('importedAt', 'When it was imported'),
    author: field.text('author', 'Who imported it'),
  },
  'What a vendor billed for a month.',
);

const percent = (part: 'job' | 'renders' | 'text'): string => `${BILL_TOLERANCES[part] * 100} %`;

export const DIFFERENCE = nested<BillDifference>({
  difference: field.oneOf(BILL_DIFFERENCES)(
    'difference',
    '`extra` is billed and unknown to us; `missing` is known to us and not billed; `wrong_price` differs by more than half a cent, and by ' +
      `more than ${percent('job')} for a job, ${percent('renders')} for the renders and ${percent('text')} for the text of a model`,
  ),
  model: field.text('model', 'As the upstream calls it, or the bill where we know no such model'),
  job_id: field.text.orNull('jobId', 'What the upstream calls the job; null where lines of the model were added up'),
  task_id: field.id('task').orNull('taskId'),
  line: field.count.orNull('line', 'The first line of the file that is about it'),
  billed_usd: field.exactUsd.orNull('billed', 'What the bill says'),
  cost_usd: field.exactUsd.orNull('cost', 'What it cost by our records'),
});

/** The number of differences in an answer. */
const MAX_SHOWN = 100;

const COMPARED_BILL = resource<ComparedBill>('ComparedVendorBill', {
  ...BILL.fields,
  differences_total: field.count(({ differences }: ComparedBill) => differences.length, 'Number of differences'),
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

export const importVendorBill = endpoint({
  id: 'importVendorBill',
  request: 'POST /admin/v1/months/{month}/bills',
  access: 'admin-finance',
  summary: 'Import the bill of a vendor, instead of an earlier one of the same month',
  description:
    'Reconciliation compares it with the costs of renders and text requests; the month is closed once each difference is ' +
    'remedied or acknowledged. The columns and upstreams of the first bill hold for later ones. ' +
    `Those of ${[...new Set(KNOWN_BILLS.map(({ vendor }) => vendor))].join(', ')} have known columns.`,
  body: jsonBody('ImportVendorBill', importBillSchema, undefined, BODIES.bill),
  answers: { 201: dataOf(COMPARED_BILL.schema, 'Imported') },
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
    return { data: COMPARED_BILL.present(await compareBill(services, askerOf(caller), bill)) };
  },
});

export const listBillsOfMonth = endpoint({
  id: 'listVendorBills',
  request: 'GET /admin/v1/months/{month}/bills',
  access: 'admin-read',
  summary: 'List the bills of vendors for a month',
  answers: { 200: dataOf(arrayOf(BILL.schema), 'The bills, by vendor') },
  refusals: ['bad_request'],
  handle: async ({ params }, { reports }) => ({
    data: (await listVendorBills(reports, existingMonth(params.month))).map(BILL.present),
  }),
});

export const getVendorBill = endpoint({
  id: 'getVendorBill',
  request: 'GET /admin/v1/months/{month}/bills/{vendor}',
  access: 'admin-read',
  summary: 'Compare the bill of a vendor with our records',
  description: `${EXPORTS} The rows are the differences.`,
  answers: { 200: orAllRows(dataOf(COMPARED_BILL.schema, 'The bill and where it differs')) },
  refusals: ['bad_request', 'not_found'],
  handle: async ({ params, context, caller }, services) => {
    const month = existingMonth(params.month);
    const bill = await existingBill(services.reports, params.vendor, month);
    const shown = await compareBill(services, askerOf(caller), bill);
    if (sendAll(context, () => shown.differences, DIFFERENCE)) return undefined;
    return { data: COMPARED_BILL.present(shown) };
  },
});

export const forgetVendorBill = endpoint({
  id: 'forgetVendorBill',
  request: 'DELETE /admin/v1/months/{month}/bills/{vendor}',
  access: 'admin-finance',
  summary: 'Forget a bill that was imported by mistake',
  answers: { 200: dataOf(FORGOTTEN_BILL.schema, 'Forgotten') },
  refusals: ['bad_request', 'not_found'],
  handle: async ({ params }, { database }) => {
    const month = existingMonth(params.month);
    await forgetBill(database, params.vendor, month);
    return { data: FORGOTTEN_BILL.present({ vendor: params.vendor, month: month.name }) };
  },
});
