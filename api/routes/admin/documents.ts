/** The receipts, credit notes and invoices of any account. */
import { findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { listPage, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { BILLING_DOCUMENT, DOCUMENTS, LISTED_DOCUMENT } from '../balance/documents.ts';

export const listBillingDocumentsOfAccount = endpoint({
  request: 'GET /admin/v1/accounts/{account_id}/documents',
  access: 'admin-read',
  summary: 'List the receipts, credit notes and invoices of an account, newest first',
  query: DOCUMENTS,
  answers: { 200: pageOf(LISTED_DOCUMENT.schema, 'A page of documents') },
  handle: async ({ params, query }, { database }) => {
    const { id: accountId } = await existingAccount(database, params.account_id);
    const filter = { accountId, kind: query.kind };
    return listPage(query, (slice) => listDocuments(database, { ...filter, ...slice }), LISTED_DOCUMENT.present);
  },
});

export const getAnyBillingDocument = endpoint({
  request: 'GET /admin/v1/documents/{document_id}',
  access: 'admin-read',
  summary: 'Get a receipt, a credit note or an invoice of any account',
  answers: { 200: dataOf(BILLING_DOCUMENT.schema, 'The document') },
  handle: async ({ params: { document_id: id } }, { database }) => {
    const document = await findDocument(database, { id });
    if (!document) throw notFoundError('billingDocument');
    return { data: BILLING_DOCUMENT.present(document) };
  },
});
