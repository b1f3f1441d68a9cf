/** The form of a correction, on the page of corrections and on the page of an account. */
import type { ApiServices } from '../../../../api/services.ts';
import { parseUsd, type PicoUsd } from '../../../../domain/money.ts';
import { adjustmentSchema, topUpSchema } from '../../../../services/input/admin.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import { correct } from '../../../../services/money/corrections.ts';
import { Field } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { createdIdOf } from '../../../idempotent-forms.ts';
import type { UserVisit } from '../../../page.ts';

const validateAdjustment = createValidator(adjustmentSchema);
const validateTopUp = createValidator(topUpSchema);

/**
 * Books the correction of a form, or requests the approval of a second person.
 *
 * @returns the booked amount; null if the correction waits for approval
 */
export async function correctByForm(
  visit: UserVisit,
  services: ApiServices,
  accountId: string,
): Promise<PicoUsd | null> {
  const { form, user } = visit;
  const given = { amount_usd: form.text('amount_usd') };
  const { amount_usd: amountUsd, reason } = validateAdjustment({ ...given, reason: form.text('reason') });
  const reference = form.optional('reference');
  if (reference !== null) validateTopUp({ ...given, reference });
  const asked = { id: createdIdOf('correction', visit), accountId, amount: parseUsd(amountUsd) };
  const correction = { ...asked, reference, reason, author: user.email };
  return (await correct(services, correction, createdIdOf('transfer', visit))) ? asked.amount : null;
}

/** What happened, for the message on the next page. */
export function correctedTo(booked: PicoUsd | null): string {
  return booked === null ? 'waits' : `booked:${booked}`;
}

/** The fields of a correction, except the account. @param reasonId the id of the reason, on a page with several */
export function CorrectionFields({ reasonId }: { readonly reasonId?: string }) {
  const { corrections: messages, common } = useTexts();
  return (
    <>
      <Field name="amount_usd" label={common.amountInUsd} hint={common.amountHint} inputMode="text" required />
      <Field name="reason" {...(reasonId !== undefined && { id: reasonId })} required />
      <Field name="reference" label={`${messages.reference} (${common.optional})`} hint={messages.referenceHint} />
    </>
  );
}
