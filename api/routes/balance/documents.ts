/** The receipts, credit notes and invoices of the calling account. */
import { findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import { DOCUMENT_KINDS } from '../../../domain/billing-document.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { choiceParameter } from '../../endpoint/query.ts';
import { LISTED_DOCUMENT, BILLING_DOCUMENT } from '../../../services/resources/billing-documents.ts';

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
