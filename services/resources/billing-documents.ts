/** The shapes of receipts, credit notes and invoices. */
import { type BillingDocument } from '../../db/queries/billing-documents.ts';
import {
  DOCUMENT_KINDS,
  type DocumentLine,
  LINE_SUBJECTS,
  netAmount,
  type Party,
  type TaxLine,
} from '../../domain/billing-document.ts';
import { text } from '../../domain/json-schema.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';

const PARTY = nested<Party>({
  name: field.text('name'),
  address: field.texts(text())('address', 'The lines of the address'),
  tax_id: field.text.orNull('taxId', 'The tax number. Null if none is known'),
});

export const DOCUMENT_LINE = nested<DocumentLine>({
  subject: field.oneOf(LINE_SUBJECTS)(
    'subject',
    'The subject of the line. `others` sums up the smallest lines of an invoice',
  ),
  model: field.text.orNull('model', 'The model'),
  quantity: field.count('quantity', 'The number of payments, tasks or text requests'),
  amount_usd: field.exactUsd('amount', 'The amount of the line'),
});

const TAX = nested<TaxLine>({
  name: field.text('name'),
  percent: field.text('percent', 'The tax rate in percent, as a decimal'),
  amount_usd: field.exactUsd('amount', 'The tax in whole cents, part of the total'),
});

/** A document without its lines. */
const SUMMARY = {
  id: field.id('billingDocument')('id'),
  object: field.constant('billing_document'),
  kind: field.oneOf(DOCUMENT_KINDS)(
    'kind',
    'A receipt for a payment, a credit note for a returned payment, or an invoice for a month',
  ),
  number: field.text('number', 'The number of the document, without gaps for each kind and year'),
  issued_at: field.isoTime('issuedAt', 'When the document was issued. A document never changes'),
  month: field.text.orNull('month', 'The month of an invoice, in UTC. Null for other documents'),
  reference: field.text.orNull('reference', 'The reference of the payment. Null for an invoice'),
  total_usd: field.exactUsd('total', 'The total in whole cents, taxes included'),
};

export const LISTED_DOCUMENT = resource<BillingDocument>('ListedBillingDocument', SUMMARY);

export const BILLING_DOCUMENT = resource<BillingDocument>('BillingDocument', {
  ...SUMMARY,
  seller: field.object(PARTY)('seller'),
  customer: field.object(PARTY)('customer'),
  lines: field.list(DOCUMENT_LINE)('lines', 'The lines, at most 31'),
  subtotal_usd: field.exactUsd('subtotal', 'The exact sum of the lines. The total is rounded half up'),
  taxes: field.list(TAX)('taxes', 'The taxes in the total. Empty if other documents state them'),
  net_usd: field.exactUsd(netAmount, 'The total without its taxes'),
  due_usd: field.exactUsd(() => 0n, 'The amount due. Always 0: accounts pay in advance'),
  corrects: field.text.orNull('corrects', 'The number of the corrected receipt. Null unless a credit note'),
});
