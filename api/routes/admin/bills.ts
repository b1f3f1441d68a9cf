/** The bills of vendors: importing, comparing with our records, and deleting. */
import { listVendorBills as findVendorBills } from '../../../db/queries/vendor-bills.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { KNOWN_BILLS } from '../../../domain/known-bills.ts';
import { parseUsd } from '../../../domain/money.ts';
import { BODIES } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { EXPORTS, withExports, sendAll } from '../../exports.ts';
import { reportQueueKey, authorOf } from '../../../services/people/administrator.ts';
import { compareBill, requireBill, deleteBill, importBill } from '../../../services/money/bills.ts';
import { existingMonth } from './months.ts';
import { importBillSchema } from '../../../services/input/admin.ts';
import { BILL, DIFFERENCE, COMPARED_BILL, FORGOTTEN_BILL } from '../../../services/resources/bills.ts';

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
    answers: { 200: withExports(dataOf(COMPARED_BILL.schema, 'The bill and its differences')) },
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
