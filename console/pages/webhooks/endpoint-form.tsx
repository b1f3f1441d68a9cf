/** The form of a webhook endpoint, validated by the schema of the API. */
import {
  type CreateEndpointBody,
  createEndpointSchema,
  type UpdateEndpointBody,
  updateEndpointSchema,
} from '../../../api/routes/webhooks/schema.ts';
import { createValidator } from '../../../api/validation.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { SUBSCRIBABLE_EVENTS, TASK_EVENTS } from '../../../domain/webhook-event.ts';
import type { Form as SentForm } from '../../form.ts';
import { Check, Field, Form } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';

const validateNew = createValidator(createEndpointSchema);
const validateChanges = createValidator(updateEndpointSchema);

/** @throws ServiceError `bad_request` for an invalid form */
export function readNewEndpoint(form: SentForm): CreateEndpointBody {
  return validateNew(fieldsOf(form));
}

/** @throws ServiceError `bad_request` for an invalid form */
export function readChanges(form: SentForm): UpdateEndpointBody {
  return validateChanges(fieldsOf(form));
}

function fieldsOf(form: SentForm) {
  return { url: form.text('url'), description: form.optional('description'), events: form.all('events') };
}

/** @param endpoint the endpoint to change; null for a new endpoint */
export function EndpointForm({
  endpoint,
  action,
}: {
  readonly endpoint: WebhookEndpoint | null;
  readonly action: string;
}) {
  const { webhooks: words, common, fields, values } = useTexts();
  const events: readonly string[] = endpoint?.events ?? TASK_EVENTS;
  return (
    <Form action={action}>
      <Field name="url" hint={words.addressHint} type="url" value={endpoint?.url} required />
      <Field name="description" hint={common.optional} value={endpoint?.description} />
      <fieldset>
        <legend>{fields.events}</legend>
        {SUBSCRIBABLE_EVENTS.map((event) => (
          <Check name="events" value={event} label={values.events[event]} isChecked={events.includes(event)} />
        ))}
      </fieldset>
      <button type="submit">{endpoint === null ? common.create : common.save}</button>
    </Form>
  );
}
