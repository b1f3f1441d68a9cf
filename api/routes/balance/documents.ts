/** The receipts, credit notes and invoices of the calling account. */
import { type BillingDocument, findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import {
  DOCUMENT_KINDS,
  type DocumentLine,
  LINE_SUBJECTS,
  netAmount,
  type Party,
  type TaxLine,
} from '../../../domain/billing-document.ts';
import { text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { choiceParameter } from '../../endpoint/query.ts';

const PARTY = nested<Party>({
  name: field.text('name'),
  address: field.words(text())('address', 'The lines of the address'),
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

/** The filter and pages of documents. */
export const DOCUMENTS = {
  kind: choiceParameter(DOCUMENT_KINDS, 'Filters by kind'),
  ...pageById('billingDocument'),
};

export const billingDocumentEndpoints = endpoints('Account', {
  listBillingDocuments: endpoint({
    request: 'GET /v1/balance/documents',
    access: 'key',
    summary: 'List receipts, credit notes and invoices, newest first',
    description: 'Genway issues a receipt for each payment, and an invoice for each closed month with charges.',
    query: DOCUMENTS,
    answers: { 200: pageOf(LISTED_DOCUMENT.schema, 'A page of documents') },
    handle: ({ caller, query }, { database }) => {
      const filter = { accountId: caller.account.id, kind: query.kind };
      return listPage(query, (slice) => listDocuments(database, { ...filter, ...slice }), LISTED_DOCUMENT.present);
    },
  }),
  getBillingDocument: endpoint({
    request: 'GET /v1/balance/documents/{document_id}',
    access: 'key',
    summary: 'Get a receipt, a credit note or an invoice',
    answers: { 200: dataOf(BILLING_DOCUMENT.schema, 'The document') },
    handle: async ({ caller, params: { document_id: id } }, { database }) => {
      const document = await findDocument(database, { id, accountId: caller.account.id });
      if (!document) throw notFoundError('billingDocument', caller);
      return { data: BILLING_DOCUMENT.present(document) };
    },
  }),
});
