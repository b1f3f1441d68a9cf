/** The columns of vendors' bills (sources: docs/finance.md). Operators give the columns of other bills once. */
import type { BillColumns } from './vendor-bill.ts';

export interface KnownBill {
  /** The operators' name for the vendor, in lower case. */
  readonly vendor: string;
  readonly columns: BillColumns;
}

export const KNOWN_BILLS: readonly KnownBill[] = [
  // The fields of the billing events: https://fal.ai/docs/platform-apis/v1/models/billing-events
  { vendor: 'fal', columns: { job: 'request_id', model: 'endpoint_id', amount: 'cost_total' } },
  // The cost export of the usage page, grouped by line item.
  { vendor: 'openai', columns: { job: null, model: 'line_item', amount: 'amount_value' } },
  // The cost table of an invoice.
  { vendor: 'google', columns: { job: null, model: 'SKU description', amount: 'Unrounded cost ($)' } },
  // The report, grouped by SKU.
  { vendor: 'google', columns: { job: null, model: 'SKU description', amount: 'Unrounded subtotal ($)' } },
  // The bill by endpoint in Volcengine's Ark CLI: https://github.com/volcengine/ark-cli (skills/arkcli-billing)
  { vendor: 'ark', columns: { job: null, model: 'SplitItemID', amount: 'PayableAmount' } },
];

/** Returns the known columns of the vendor's bills. */
export function knownColumnsOf(vendor: string): readonly BillColumns[] {
  return KNOWN_BILLS.filter((known) => known.vendor === vendor.toLowerCase()).map(({ columns }) => columns);
}
