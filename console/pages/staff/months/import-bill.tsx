/** The form that imports a vendor's bill. Suggests the columns and upstreams of the latest bill, or known columns. */
import { importBillSchema } from '../../../../services/input/admin.ts';
import { importBill, layoutsOf } from '../../../../services/money/bills.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import { listLatestBills, type VendorBill } from '../../../../db/queries/vendor-bills.ts';
import { KNOWN_BILLS } from '../../../../domain/known-bills.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { BODIES } from '../../../../domain/policy.ts';
import type { BillColumns } from '../../../../domain/vendor-bill.ts';
import { FormError } from '../../../form-problem.ts';
import { ButtonLink, Card, Field, FileField, Form } from '../../../html/components.tsx';
import { ChoiceLinks } from '../../../html/filters.tsx';
import { monthName } from '../../../html/months.ts';
import { openPage, type Page, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { monthIn } from '../../usage/period.ts';

/** The API's limit for the body of a bill. */
export const MAX_BILL_BYTES = BODIES.bill.maxBytes;
const MEGABYTES = MAX_BILL_BYTES / 2 ** 20;
const MAX_UPSTREAMS = 50;
const MAX_VENDORS_SHOWN = 30;

const validate = createValidator(importBillSchema);

/** The initial values of the form. */
interface Entries {
  readonly upstreams: string;
  readonly job: string;
  readonly model: string;
  readonly amount: string;
  /** The source of the suggested columns: the previous bill, or the known layout of the vendor. */
  readonly columnsOf: 'previous' | 'known' | 'none';
}

export const importPage = staff.page('/staff/months/{month}/import-bill', 'moveMoney', showImport);

export const importForm: Page = {
  ...importPage.form('', 'moveMoney', receiveBill, (visit, vendor) =>
    openPage(`/staff/months/${monthIn(visit).name}/bills/${encodeURIComponent(vendor)}`, 'imported'),
  ),
  maxFileBytes: MAX_BILL_BYTES,
};

async function showImport(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { months: messages, common, fields, language } = visit.texts;
  const month = monthIn(visit);
  const path = `/console/staff/months/${month.name}`;
  const bills = await listLatestBills(services.reports);
  const vendors = new Set([...bills, ...KNOWN_BILLS].map((bill) => bill.vendor));
  const vendor = visit.problem ? visit.form.text('vendor') : (visit.query.get('vendor') ?? '').trim();
  const upstreams = [...new Set((await services.operations.upstreams.list()).map(({ name }) => name))];
  const entries = suggest(vendor, bills, upstreams);
  return showPage(
    messages.importTitle(monthName(month.name, language)),
    <Card title={fields.vendor}>
      <ChoiceLinks name="vendor" all={messages.otherVendor} values={[...vendors].slice(0, MAX_VENDORS_SHOWN)} />
    </Card>,
    <Card title={messages.importBill}>
      <p class="soft">{messages.importHint}</p>
      <Form action={`${path}/import-bill`} enctype="multipart/form-data">
        <Field name="vendor" hint={messages.vendorHint} value={vendor} required />
        <Field
          name="upstreams"
          label={messages.upstreams}
          hint={messages.upstreamsHint(upstreams.join(', '))}
          value={entries.upstreams}
          required
        />
        <FileField
          name="csv"
          label={messages.billFile}
          hint={messages.billFileHint(MEGABYTES)}
          accept=".csv,.tsv,.txt,text/csv"
          maxBytes={MAX_BILL_BYTES}
          tooLarge={messages.billTooLarge(MEGABYTES)}
        />
        <p class="soft">{messages.columnsOf[entries.columnsOf]}</p>
        <Field name="job" label={messages.jobColumn} hint={messages.jobColumnHint} value={entries.job} />
        <Field name="model" label={messages.modelColumn} value={entries.model} required />
        <Field name="amount" label={messages.amountColumn} value={entries.amount} required />
        <Field name="usd_per_unit" label={messages.usdPerUnit} hint={messages.usdPerUnitHint} inputMode="decimal" />
        <div class="row actions">
          <button type="submit">{messages.importBill}</button>
          <ButtonLink href={path} label={common.cancel} look="quiet" />
        </div>
      </Form>
    </Card>,
  );
}

const REQUIRED = ['vendor', 'upstreams', 'model', 'amount'] as const;

/** @returns the vendor */
async function receiveBill(visit: UserVisit, { database }: ApiServices): Promise<string> {
  const { form, user, texts } = visit;
  if (!form.isFileText) throw new FormError(texts.months.notUtf8, { field: 'csv' });
  const empty = REQUIRED.find((name) => form.text(name) === '');
  if (empty !== undefined) throw new FormError(texts.faults.kinds['string.empty'], { field: empty });
  const vendor = form.text('vendor');
  const usdPerUnit = form.text('usd_per_unit');
  const columns = { model: form.text('model'), amount: form.text('amount'), job: form.optional('job') };
  const { job, ...required } = columns;
  const body = validate({
    vendor,
    csv: form.file,
    upstreams: form.words('upstreams', MAX_UPSTREAMS, /[^\s,]+/g),
    columns: { ...(job !== null && { job }), ...required },
    ...(usdPerUnit !== '' && { usd_per_unit: usdPerUnit }),
  });
  const latest = (await listLatestBills(database)).find((bill) => bill.vendor === vendor) ?? null;
  await importBill(database, {
    month: monthIn(visit),
    vendor,
    author: user.email,
    csv: body.csv,
    usdPerUnit: body.usd_per_unit === undefined ? null : parseUsd(body.usd_per_unit),
    upstreams: body.upstreams,
    // Unless the user changed the columns, leave them open: the import then also tries the vendor's other layouts.
    columns: isSame(columns, layoutsOf(vendor, latest)[0]) ? undefined : columns,
  });
  return vendor;
}

function isSame(one: BillColumns, other: BillColumns | undefined): boolean {
  return one.job === other?.job && one.model === other.model && one.amount === other.amount;
}

function suggest(vendor: string, bills: readonly VendorBill[], upstreams: readonly string[]): Entries {
  const latest = bills.find((bill) => bill.vendor === vendor) ?? null;
  const [columns] = layoutsOf(vendor, latest);
  return {
    upstreams: (latest?.upstreams ?? upstreams.filter((name) => name === vendor)).join(' '),
    job: columns?.job ?? '',
    model: columns?.model ?? '',
    amount: columns?.amount ?? '',
    columnsOf: latest ? 'previous' : columns ? 'known' : 'none',
  };
}
