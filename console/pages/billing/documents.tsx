/** Receipts, credit notes and invoices of an account, for its members and for operators, and its billing details. */
import { toDetails } from '../../../services/input/account-details.ts';
import { billingDetailsSchema } from '../../../services/input/admin.ts';
import { DOCUMENT_LINE, LISTED_DOCUMENT } from '../../../services/resources/billing-documents.ts';
import { editAccount } from '../../../services/people/account-details.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../api/services.ts';
import { createValidator } from '../../../services/input/validation.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { type BillingDocument, findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import { DOCUMENT_KINDS, netAmount } from '../../../domain/billing-document.ts';
import { formatDollars } from '../../../domain/money.ts';
import type { Form as SentForm } from '../../form.ts';
import { PartyLines, PrintButton } from '../../html/printed.tsx';
import { Card, Facts, Field, Form, Pages, Time, useRefusal } from '../../html/components.tsx';
import { ChoiceFilter, Filters } from '../../html/filters.tsx';
import { monthName } from '../../html/months.ts';
import { useTexts } from '../../html/page-context.ts';
import { Chosen, ResourceTable } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { requireFound, member, type PageResult, showPage, staff, type UserVisit } from '../../page.ts';
import type { StoredFields } from '../../stored-fields.ts';
import { saveAccountIfUnchanged } from '../save-account.ts';

const validate = createValidator(billingDetailsSchema);

export const documentPages = [
  member.page('/accounts/{account_id}/billing/documents', 'pay', showList),
  member.page('/accounts/{account_id}/billing/documents/{document_id}', 'pay', showDocument),
  staff.page('/staff/accounts/{account_id}/documents', 'read', async (visit, services) => {
    await existingAccount(services.reports, visit.params['account_id'] ?? '');
    return showList(visit, services);
  }),
  staff.page('/staff/accounts/{account_id}/documents/{document_id}', 'read', showDocument),
];

/** Changes the billing details of the account in future documents. @throws ServiceError `bad_request` */
export function changeBillingDetails(visit: UserVisit, { database }: ApiServices): Promise<void> {
  return saveAccountIfUnchanged(visit, database, billingFields, (transaction, { id: accountId }) => {
    const body = validate(readBillingDetails(visit.form));
    const details = { details: toDetails(body), names: Object.keys(body), author: visit.user.email };
    return editAccount({ database: transaction }, { accountId, ...details });
  });
}

export function billingFields({ billingName, billingAddress, taxId }: Account): StoredFields {
  return { billing_name: billingName, billing_address: billingAddress, tax_id: taxId };
}

/** Reads the billing details under the API's names. An empty field removes its detail. */
export function readBillingDetails(form: SentForm) {
  return {
    billing_name: form.optional('billing_name'),
    billing_address: form.optional('billing_address'),
    tax_id: form.optional('tax_id'),
  };
}

async function showList({ query, texts, params, path }: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const accountId = params['account_id'] ?? '';
  const kind = DOCUMENT_KINDS.find((known) => known === query.get('kind'));
  const { entries: documents, next } = await readListPage(query, 'billingDocument', (slice) =>
    listDocuments(database, { accountId, kind, ...slice }),
  );
  const { billing: messages } = texts;
  return showPage(
    messages.documents,
    <Filters>
      <ChoiceFilter name="kind" all={messages.allDocuments} values={DOCUMENT_KINDS} />
    </Filters>,
    <Card>
      <Documents documents={documents} path={path} />
      <Pages next={next} />
    </Card>,
  );
}

function Documents({ documents, path }: { documents: readonly BillingDocument[]; path: string }) {
  const { billing: messages, fields, language } = useTexts();
  return (
    <ResourceTable
      of={LISTED_DOCUMENT}
      label={messages.documents}
      rows={documents}
      none={messages.noDocuments}
      pageOf={({ id }) => `${path}/${id}`}
      columns={[
        'number',
        'kind',
        'issued_at',
        [messages.about, ({ month, reference }) => (month === null ? reference : monthName(month, language))],
        [fields.amount_usd, 'total_usd'],
      ]}
    />
  );
}

async function showDocument({ params, texts }: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const { document_id: id = '', account_id: accountId = '' } = params;
  const document = requireFound(await findDocument(database, { id, accountId }));
  const { kind, number, seller, customer, issuedAt, month, reference, lines } = document;
  const { subtotal, total, taxes, corrects } = document;
  const { billing: messages, fields, language, common, values } = texts;
  const sums: readonly (readonly [string, string])[] = [
    ...(subtotal === total ? [] : [[messages.subtotal, formatDollars(subtotal)] as const]),
    ...(taxes.length === 0 ? [] : [[messages.net, formatDollars(netAmount(document))] as const]),
    ...taxes.map(({ name, percent, amount }) => [`${name} ${percent} %`, formatDollars(amount)] as const),
  ];
  return showPage(
    `${values.kind[kind]} ${number}`,
    <Card>
      <div class="parties">
        <PartyLines title={messages.seller} party={seller} />
        <PartyLines title={common.customer} party={customer} />
        <Facts
          facts={[
            [fields.issued_at, <Time at={issuedAt} />],
            month === null ? null : [common.month, monthName(month, language)],
            reference === null ? null : [fields.reference, reference],
            corrects === null ? null : [messages.corrects, corrects],
          ]}
        />
      </div>
      <ResourceTable
        of={DOCUMENT_LINE}
        label={messages.documents}
        rows={lines}
        columns={[
          [
            common.what,
            ({ subject, model }) => (
              <>
                <Chosen name="subject" value={subject} /> {model}
              </>
            ),
          ],
          'quantity',
          'amount_usd',
        ]}
      />
      <dl class="sums">
        {sums.map(([name, amount]) => (
          <>
            <dt>{name}</dt>
            <dd>{amount}</dd>
          </>
        ))}
        <dt class="total">{messages.total}</dt>
        <dd class="total">{formatDollars(total)} USD</dd>
      </dl>
      <p class="soft">{kind === 'invoice' ? messages.paidInAdvance : null}</p>
      <p class="soft">{taxes.length === 0 ? messages.noTaxesHere : messages.taxesIncluded}</p>
      <p class="row">
        <PrintButton />
      </p>
    </Card>,
  );
}

export function BillingDetailsFields() {
  const { billing: messages } = useTexts();
  return (
    <>
      <Field name="billing_name" hint={messages.billingNameHint} autocomplete="organization" />
      <Field name="billing_address" lines={3} autocomplete="street-address" />
      <Field name="tax_id" />
    </>
  );
}

/** The latest documents, and the billing details of future documents. */
export function DocumentsCard({ account, documents }: { account: Account; documents: readonly BillingDocument[] }) {
  const { billing: messages, common } = useTexts();
  const billing = `/console/accounts/${account.id}/billing`;
  const action = `${billing}/details`;
  const path = `${billing}/documents`;
  return (
    <Card title={messages.documents}>
      <Documents documents={documents} path={path} />
      {documents.length === 0 ? null : (
        <p class="pages">
          <a href={path}>{messages.allDocuments}</a>
        </p>
      )}
      <details open={useRefusal(action) !== null}>
        <summary>{messages.details}</summary>
        <p class="hint">{messages.detailsHint}</p>
        <Form action={action} submit={common.save} look="quiet" stored={billingFields(account)}>
          <BillingDetailsFields />
        </Form>
      </details>
    </Card>
  );
}
