/** The form for new keys and for changing keys. */
import { createKeySchema, MAX_KEY_ENTRIES } from '../../../services/input/admin.ts';
import { toKeySettings } from '../../../services/input/key-settings.ts';
import { createValidator } from '../../../services/input/validation.ts';
import type { Catalogue } from '../../../catalogue/types.ts';
import type { ApiKey, KeySettings } from '../../../db/queries/api-keys.ts';
import { formatUsd } from '../../../domain/money.ts';
import { FormError } from '../../form-problem.ts';
import { Check, Choice, Field, Form, useRefusal } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import type { Visit } from '../../page.ts';
import type { StoredFields } from '../../stored-fields.ts';

const validate = createValidator(createKeySchema);

/**
 * Reads the settings of a key, validated by the schema of the API. An empty form does not make a key without limits:
 * the sender must choose "no limit" and "all models" explicitly.
 *
 * @param stored the key that the form changes; null for a new key
 * @throws ServiceError `bad_request`
 */
export function readSettings({ form, texts }: Visit, catalogue: Catalogue, stored: ApiKey | null): KeySettings {
  const { keys: messages } = texts;
  const limit = form.optional('usage_limit_usd');
  const models = form.all('models').slice(0, MAX_KEY_ENTRIES + 1);
  const addresses = form.words('ip_allowlist', MAX_KEY_ENTRIES, /[^\s,]+/g);
  const isUnlimited = form.text('unlimited') !== '';
  const hasAllModels = form.text('all_models') !== '';
  if ((limit === null) !== isUnlimited) throw new FormError(messages.limitOrNone, { field: 'usage_limit_usd' });
  if ((models.length === 0) !== hasAllModels) throw new FormError(messages.modelsOrAll);
  const body = validate({
    name: form.text('name'),
    usage_limit_usd: limit,
    limit_period: form.optional('limit_period'),
    rate_limit_rpm: form.number('rate_limit_rpm'),
    expires_at: expiryOf(form.optional('expires_on'), stored),
    models: hasAllModels ? null : models,
    ip_allowlist: addresses.length === 0 ? null : addresses,
  });
  const settings = toKeySettings(body, catalogue);
  const { expiresAt } = settings;
  const isUnchanged = expiresAt?.getTime() === stored?.expiresAt?.getTime();
  if (expiresAt && !isUnchanged && expiresAt <= new Date())
    throw new FormError(messages.expired, { field: 'expires_at' });
  return settings;
}

/** A key expires at the end of the day. An unchanged day keeps its stored time. */
function expiryOf(day: string | null, stored: ApiKey | null): string | null {
  if (day === null) return null;
  const before = stored?.expiresAt?.toISOString();
  return before?.startsWith(day) ? before : `${day}T23:59:59Z`;
}

export function keyFields(key: ApiKey): StoredFields {
  return {
    name: key.name,
    usage_limit_usd: key.usageLimit === null ? null : formatUsd(key.usageLimit),
    limit_period: key.limitPeriod,
    rate_limit_rpm: key.rateLimitRpm,
    expires_at: key.expiresAt?.toISOString().slice(0, 10),
    ip_allowlist: key.ipAllowlist?.join('\n'),
    models: key.models?.join('\n'),
  };
}

interface KeyFormProps {
  readonly action: string;
  readonly stored: ApiKey | null;
  readonly catalogue: Catalogue;
}

export function KeyForm({ action, stored, catalogue }: KeyFormProps) {
  const { keys: messages, common, fields, values } = useTexts();
  const { usageLimit = null, models = null } = stored ?? {};
  const sent = useRefusal(action)?.sent;
  const hasAllModels = sent ? sent.text('all_models') !== '' : models === null;
  const { videoModels, imageModels, textModels } = catalogue;
  const ids = [videoModels, imageModels, textModels].flatMap((models) => [...models.keys()]);
  return (
    <Form action={action} submit={stored === null ? common.create : common.save} stored={stored && keyFields(stored)}>
      <div class="grid">
        <Field name="name" />
        <div>
          <Field name="usage_limit_usd" inputMode="decimal" />
          <Check
            name="unlimited"
            value="on"
            label={messages.unlimited}
            isChecked={stored !== null && usageLimit === null}
          />
        </div>
        <Choice name="limit_period" options={[['', messages.neverRenews], ...Object.entries(values.limit_period)]} />
        <Field name="rate_limit_rpm" hint={common.optional} inputMode="numeric" />
        <Field name="expires_on" wireName="expires_at" label={fields.expires_at} hint={common.optional} type="date" />
        <Field name="ip_allowlist" hint={messages.addressesHint} lines={3} />
      </div>
      <fieldset>
        <legend>{fields.models}</legend>
        <Check name="all_models" value="on" label={messages.allModels} isChecked={hasAllModels} />
        <details open={!hasAllModels}>
          <summary>{messages.chooseModels}</summary>
          <div class="checks">
            {ids.map((id) => (
              <Check name="models" value={id} label={id} isChecked={models?.includes(id) ?? false} />
            ))}
          </div>
        </details>
      </fieldset>
    </Form>
  );
}
