/** The receipts, credit notes and invoices of the calling account. */
import { type BillingDocument, findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import {
  DOCUMENT_KINDS,
  type DocumentLine,
  LINE_SUBJECTS,
  netOf,
  type Party,
  type TaxLine,
} from '../../../domain/billing-document.ts';
import { text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { noSuch } from '../../endpoint/path.ts';
import { oneOf } from '../../endpoint/query.ts';

const PARTY = nested<Party>({
  name: field.text('name'),
  address: field.words(text())('address', 'Line by line'),
  tax_id: field.text.orNull('taxId', 'The tax number'),
});

export const DOCUMENT_LINE = nested<DocumentLine>({
  subject: field.oneOf(LINE_SUBJECTS)(
    'subject',
    'What the line is about; `others` adds up the smallest lines of an invoice',
  ),
  model: field.text.orNull('model', 'The model'),
  quantity: field.count('quantity', 'How many payments, tasks or text requests'),
  amount_usd: field.exactUsd('amount', 'The exact amount'),
});

const TAX = nested<TaxLine>({
  name: field.text('name'),
  percent: field.text('percent', 'A decimal'),
  amount_usd: field.exactUsd('amount', 'In whole cents; a part of the total'),
});

/** A document without its lines. */
const SUMMARY = {
  id: field.id('billingDocument')('id'),
  object: field.constant('billing_document'),
  kind: field.oneOf(DOCUMENT_KINDS)(
    'kind',
    'A receipt for a payment, a credit note for what went back of one, or the invoice of a month',
  ),
  number: field.text('number', 'Each kind counts without gaps in each year'),
  issued_at: field.isoTime('issuedAt', 'When it was issued; it never changes'),
  month: field.text.orNull('month', 'The month of an invoice, in UTC; null for other documents'),
  reference: field.text.orNull('reference', 'The reference of the payment; null for an invoice'),
  total_usd: field.exactUsd('total', 'In whole cents, with taxes'),
};

export const LISTED_DOCUMENT = resource<BillingDocument>('ListedBillingDocument', SUMMARY);

export const BILLING_DOCUMENT = resource<BillingDocument>('BillingDocument', {
  ...SUMMARY,
  seller: field.object(PARTY)('seller'),
  customer: field.object(PARTY)('customer'),
  lines: field.list(DOCUMENT_LINE)('lines', 'At most 31'),
  subtotal_usd: field.exactUsd('subtotal', 'The exact sum of the lines, from which the total is rounded half up'),
  taxes: field.list(TAX)('taxes', 'The taxes that the total includes; none where other documents state them'),
  net_usd: field.exactUsd(netOf, 'The total without its taxes'),
  due_usd: field.exactUsd(() => 0n, 'Always 0: everything is paid in advance'),
  corrects: field.text.orNull('corrects', 'The number of the receipt that a credit note corrects'),
});

/** The filter and pages of documents. */
export const DOCUMENTS = {
  kind: oneOf(DOCUMENT_KINDS, 'Only documents of that kind'),
  ...pageById('billingDocument'),
};

export const listBillingDocuments = endpoint({
  id: 'listBillingDocuments',
  request: 'GET /v1/balance/documents',
  access: 'key',
  summary: 'List receipts, credit notes and invoices, newest first',
  description:
    'A receipt is issued with each payment, and an invoice for each month in which the account was charged, once the month is closed.',
  query: DOCUMENTS,
  answers: { 200: pageOf(LISTED_DOCUMENT.schema, 'A page of documents') },
  handle: ({ caller, query }, { database }) => {
    const filter = { accountId: caller.account.id, kind: query.kind };
    return listPage(query, (slice) => listDocuments(database, { ...filter, ...slice }), LISTED_DOCUMENT.present);
  },
});

export const getBillingDocument = endpoint({
  id: 'getBillingDocument',
  request: 'GET /v1/balance/documents/{document_id}',
  access: 'key',
  summary: 'Get a receipt, a credit note or an invoice',
  answers: { 200: dataOf(BILLING_DOCUMENT.schema, 'The document') },
  handle: async ({ caller, params: { document_id: id } }, { database }) => {
    const document = await findDocument(database, { id, accountId: caller.account.id });
    if (!document) throw noSuch('billingDocument', caller);
    return { data: BILLING_DOCUMENT.present(document) };
  },
});
