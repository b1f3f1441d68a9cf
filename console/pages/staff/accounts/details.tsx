/** The form with the details of an account, for operators who create or change an account. */
import { createAccountSchema } from '../../../../services/input/admin.ts';
import { toDetails } from '../../../../services/input/account-details.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import type { Form as SentForm } from '../../../form.ts';
import type { StoredFields } from '../../../stored-fields.ts';
import { Field, Form } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { BillingDetailsFields, billingFields, readBillingDetails } from '../../billing/documents.tsx';

const validate = createValidator(createAccountSchema);
/** The API's names of the details. */
export const DETAIL_NAMES = [
  'name',
  'email',
  'external_id',
  'max_concurrent_tasks',
  'content_days',
  'response_minutes',
  'billing_name',
  'billing_address',
  'tax_id',
] as const;

/** Reads all details. An empty field removes its detail. @throws ServiceError `bad_request` */
export function readDetails(form: SentForm) {
  const body = validate({
    name: form.text('name'),
    email: form.optional('email'),
    external_id: form.optional('external_id'),
    max_concurrent_tasks: form.number('max_concurrent_tasks'),
    content_days: form.number('content_days'),
    response_minutes: form.number('response_minutes'),
    ...readBillingDetails(form),
  });
  return { ...toDetails(body), name: body.name };
}

export function detailFields(account: Account): StoredFields {
  return {
    name: account.name,
    email: account.email,
    external_id: account.externalId,
    max_concurrent_tasks: account.maxConcurrentTasks,
    content_days: account.contentDays,
    response_minutes: account.responseMinutes,
    ...billingFields(account),
  };
}

export function DetailsForm({ action, stored }: { action: string; stored: Account | null }) {
  const { staffAccounts: messages, common } = useTexts();
  return (
    <Form
      action={action}
      class="grid"
      submit={stored === null ? common.create : common.save}
      stored={stored && detailFields(stored)}
    >
      <Field name="name" required />
      <Field name="email" id="details-email" type="email" />
      <Field name="external_id" />
      <Field name="max_concurrent_tasks" hint={common.optional} inputMode="numeric" />
      <Field name="content_days" hint={messages.contentDaysHint} inputMode="numeric" />
      <Field name="response_minutes" hint={messages.responseMinutesHint} inputMode="numeric" />
      <BillingDetailsFields />
    </Form>
  );
}
