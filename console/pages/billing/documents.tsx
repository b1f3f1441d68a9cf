/** Receipts, credit notes and invoices of an account, for its people and for the staff, and what they say of the account. */
import { DOCUMENT_LINE, LISTED_DOCUMENT } from '../../../api/routes/balance/documents.ts';
import { toDetails } from '../../../api/routes/admin/accounts.ts';
import { billingDetailsSchema } from '../../../api/routes/admin/schema.ts';
import { editAccount } from '../../../api/services/account-details.ts';
import { existingAccount } from '../../../api/services/existing-account.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { createValidator } from '../../../api/validation.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { type BillingDocument, findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import { DOCUMENT_KINDS, netOf, type Party } from '../../../domain/billing-document.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Form as SentForm } from '../../form.ts';
import { Card, exactUsd, Field, Form, Pages, Time, useRefusal } from '../../html/components.tsx';
import { Facts } from '../../html/facts.tsx';
import { ChoiceFilter, Filters } from '../../html/filters.tsx';
import { monthName } from '../../html/months.ts';
import { useTexts } from '../../html/page-context.ts';
import { Chosen, ResourceTable } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { member, type PageResult, showPage, staff, type UserVisit } from '../../page.ts';

const LIST = { kind: 'billingDocument', size: 50 } as const;
const validate = createValidator(billingDetailsSchema);

export const documentPages = [
  member.page('/accounts/{account_id}/billing/documents', 'pay', (visit, services) =>
    showList(visit, services, visit.account.accountId, 'billing'),
  ),
  member.page('/accounts/{account_id}/billing/documents/{document_id}', 'pay', (visit, services) =>
    showDocument(visit, services, visit.account.accountId),
  ),
  staff.page('/staff/accounts/{account_id}/documents', 'read', async (visit, services) => {
    const { id } = await existingAccount(services.reports, visit.params['account_id'] ?? '');
    return showList(visit, services, id, 'accounts');
  }),
  staff.page('/staff/accounts/{account_id}/documents/{document_id}', 'read', (visit, services) =>
    showDocument(visit, services, visit.params['account_id'] ?? ''),
  ),
];

/** Sets what documents say of the account from now on. @throws ServiceError `bad_request` */
export async function changeBillingDetails(
  { form, user }: UserVisit & { readonly form: SentForm },
  services: ApiServices,
  accountId: string,
): Promise<void> {
  const body = validate(readBillingDetails(form));
  await editAccount(services, { accountId, details: toDetails(body), names: Object.keys(body), author: user.email });
}

/** As the API calls them; an empty field removes its detail. */
export function readBillingDetails(form: SentForm) {
  return {
    billing_name: form.optional('billing_name'),
    billing_address: form.optional('billing_address'),
    tax_id: form.optional('tax_id'),
  };
}

async function showList(
  { query, texts }: UserVisit,
  { database }: ApiServices,
  accountId: string,
  current: string,
): Promise<PageResult> {
  const kind = DOCUMENT_KINDS.find((known) => known === query.get('kind'));
  const { entries: documents, next } = await readListPage(query, LIST, (slice) =>
    listDocuments(database, { accountId, kind, ...slice }),
  );
  const { billing: words } = texts;
  return showPage(
    current,
    words.documents,
    <>
      <Filters>
        <ChoiceFilter name="kind" all={words.allDocuments} values={DOCUMENT_KINDS} />
      </Filters>
      <Card>
        <Documents documents={documents} path={pathOf(accountId, current === 'accounts')} />
        <Pages next={next} />
      </Card>
    </>,
  );
}

/** The page of the documents of an account. */
export function pathOf(accountId: string, isOfStaff: boolean): string {
  return isOfStaff
    ? `/console/staff/accounts/${accountId}/documents`
    : `/console/accounts/${accountId}/billing/documents`;
}

export function Documents({
  documents,
  path,
}: {
  readonly documents: readonly BillingDocument[];
  readonly path: string;
}) {
  const { billing: words, fields, language } = useTexts();
  return (
    <ResourceTable
      of={LISTED_DOCUMENT}
      label={words.documents}
      rows={documents}
      none={words.noDocuments}
      pageOf={({ id }) => `${path}/${id}`}
      columns={[
        'number',
        'kind',
        'issued_at',
        [words.about, ({ month, reference }) => (month === null ? reference : monthName(month, language))],
        [fields.amount_usd, 'total_usd'],
      ]}
    />
  );
}

async function showDocument(
  { params, texts }: UserVisit,
  { database }: ApiServices,
  accountId: string,
): Promise<PageResult> {
  const document = await findDocument(database, { id: params['document_id'] ?? '', accountId });
  if (!document) throw new ServiceError('not_found', 'There is no such document.');
  const { kind, number } = document;
  return showPage('billing', `${texts.values.kind[kind]} ${number}`, <Document {...document} />);
}

function Document(document: BillingDocument) {
  const { kind, seller, customer, issuedAt, month, reference, lines, subtotal, total, taxes, corrects } = document;
  const { billing: words, fields, language, common } = useTexts();
  const sums: readonly (readonly [string, string])[] = [
    ...(subtotal === total ? [] : [[words.subtotal, exactUsd(subtotal)] as const]),
    ...(taxes.length === 0 ? [] : [[words.net, exactUsd(netOf(document))] as const]),
    ...taxes.map(({ name, percent, amount }) => [`${name} ${percent} %`, exactUsd(amount)] as const),
  ];
  return (
    <Card>
      <div class="parties">
        <PartyLines title={words.seller} party={seller} />
        <PartyLines title={common.customer} party={customer} />
        <Facts
          facts={[
            [fields.issued_at, <Time at={issuedAt} />],
            month === null ? null : [common.month, monthName(month, language)],
            reference === null ? null : [fields.reference, reference],
            corrects === null ? null : [words.corrects, corrects],
          ]}
        />
      </div>
      <ResourceTable
        of={DOCUMENT_LINE}
        label={words.documents}
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
        <dt class="total">{words.total}</dt>
        <dd class="total">{exactUsd(total)} USD</dd>
      </dl>
      <p class="soft">{kind === 'invoice' ? words.paidInAdvance : null}</p>
      <p class="soft">{taxes.length === 0 ? words.noTaxesHere : words.taxesIncluded}</p>
      <p class="row">
        <button type="button" class="quiet" data-print>
          {common.print}
        </button>
      </p>
    </Card>
  );
}

function PartyLines({ title, party: { name, address, taxId } }: { readonly title: string; readonly party: Party }) {
  const { fields } = useTexts();
  return (
    <div>
      <h2>{title}</h2>
      <address>
        {[name, ...address, ...(taxId === null ? [] : [`${fields.tax_id}: ${taxId}`])].map((line) => (
          <>
            {line}
            <br />
          </>
        ))}
      </address>
    </div>
  );
}

export function BillingDetailsFields({ stored }: { readonly stored: Account | null }) {
  const { billing: words } = useTexts();
  return (
    <>
      <Field name="billing_name" hint={words.billingNameHint} autocomplete="organization" value={stored?.billingName} />
      <Field name="billing_address" lines={3} autocomplete="street-address" value={stored?.billingAddress} />
      <Field name="tax_id" value={stored?.taxId} />
    </>
  );
}

/** The latest documents, and what the next ones will say of the account. */
export function DocumentsCard({
  account,
  documents,
}: {
  readonly account: Account;
  readonly documents: readonly BillingDocument[];
}) {
  const { billing: words, common } = useTexts();
  const action = `/console/accounts/${account.id}/billing/details`;
  const path = pathOf(account.id, false);
  return (
    <Card title={words.documents}>
      <Documents documents={documents} path={path} />
      {documents.length === 0 ? null : (
        <p class="pages">
          <a href={path}>{words.allDocuments}</a>
        </p>
      )}
      <details open={useRefusal(action) !== null}>
        <summary>{words.details}</summary>
        <p class="hint">{words.detailsHint}</p>
        <Form action={action}>
          <BillingDetailsFields stored={account} />
          <button type="submit" class="quiet">
            {common.save}
          </button>
        </Form>
      </details>
    </Card>
  );
}
