/** The form of a key, for new keys and for keys that exist. */
import { createKeySchema, MAX_KEY_ENTRIES } from '../../../api/routes/admin/schema.ts';
import { toKeySettings } from '../../../api/routes/admin/keys.ts';
import { createValidator } from '../../../api/validation.ts';
import type { Catalogue } from '../../../catalogue/types.ts';
import type { ApiKey, KeySettings } from '../../../db/queries/api-keys.ts';
import { formatUsd } from '../../../domain/money.ts';
import type { Form as SentForm } from '../../form.ts';
import { FormError } from '../../form-problem.ts';
import { Check, Choice, Field, Form } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import type { Visit } from '../../page.ts';

const validate = createValidator(createKeySchema);

/**
 * Reads the settings of a key, validated by the schema of the API. An empty form makes no key without limits: whoever sends the
 * form says so.
 *
 * @param stored the key that the form changes; null for a new key
 * @throws ServiceError `bad_request`
 */
export function readSettings({ form, texts }: Visit, catalogue: Catalogue, stored: ApiKey | null): KeySettings {
  const { keys: words } = texts;
  const limit = form.optional('usage_limit_usd');
  const models = form.all('models').slice(0, MAX_KEY_ENTRIES + 1);
  const addresses = form.words('ip_allowlist', MAX_KEY_ENTRIES, /[^\s,]+/g);
  const isUnlimited = form.text('unlimited') !== '';
  const hasAllModels = form.text('all_models') !== '';
  if ((limit === null) !== isUnlimited) throw new FormError(words.limitOrNone, { field: 'usage_limit_usd' });
  if ((models.length === 0) !== hasAllModels) throw new FormError(words.modelsOrAll);
  const body = validate({
    name: form.text('name'),
    usage_limit_usd: limit,
    limit_period: form.optional('limit_period'),
    rate_limit_rpm: form.number('rate_limit_rpm'),
    expires_at: expiryOf(form.optional('expires_on'), stored),
    models: hasAllModels ? null : models,
    ip_allowlist: addresses.length === 0 ? null : addresses,
  });
  return toKeySettings(body, catalogue);
}

/** A key expires at the end of the day. A day that stays keeps its time. */
function expiryOf(day: string | null, stored: ApiKey | null): string | null {
  if (day === null) return null;
  const before = stored?.expiresAt?.toISOString();
  return before?.startsWith(day) ? before : `${day}T23:59:59Z`;
}

interface Values {
  readonly name: string;
  readonly limit: string;
  readonly isUnlimited: boolean;
  readonly limitPeriod: string;
  readonly rate: string;
  readonly expiresOn: string;
  readonly models: readonly string[];
  readonly hasAllModels: boolean;
  readonly addresses: string;
}

function valuesOf(stored: ApiKey | null): Values {
  const {
    name = '',
    usageLimit = null,
    limitPeriod,
    models = null,
    rateLimitRpm,
    expiresAt,
    ipAllowlist,
  } = stored ?? {};
  return {
    name,
    limit: usageLimit === null ? '' : formatUsd(usageLimit),
    isUnlimited: stored !== null && usageLimit === null,
    limitPeriod: limitPeriod ?? '',
    rate: rateLimitRpm?.toString() ?? '',
    expiresOn: expiresAt?.toISOString().slice(0, 10) ?? '',
    models: models ?? [],
    hasAllModels: models === null,
    addresses: ipAllowlist?.join('\n') ?? '',
  };
}

function valuesIn(form: SentForm): Values {
  return {
    name: form.text('name'),
    limit: form.text('usage_limit_usd'),
    isUnlimited: form.text('unlimited') !== '',
    limitPeriod: form.text('limit_period'),
    rate: form.text('rate_limit_rpm'),
    expiresOn: form.text('expires_on'),
    models: form.all('models'),
    hasAllModels: form.text('all_models') !== '',
    addresses: form.text('ip_allowlist'),
  };
}

/** @param sent the form that was refused, whose entries stay */
export function KeyForm({
  action,
  stored,
  sent,
  catalogue,
}: {
  readonly action: string;
  readonly stored: ApiKey | null;
  readonly sent: SentForm | null;
  readonly catalogue: Catalogue;
}) {
  const { keys: words, common, fields, values: choices } = useTexts();
  const values = sent === null ? valuesOf(stored) : valuesIn(sent);
  const chosen = new Set(values.models);
  const { videoModels, imageModels, textModels } = catalogue;
  const ids = [videoModels, imageModels, textModels].flatMap((models) => [...models.keys()]);
  return (
    <Form action={action}>
      <div class="grid">
        <Field name="name" label={fields.name} value={values.name} />
        <div>
          <Field name="usage_limit_usd" label={fields.usage_limit_usd} inputMode="decimal" value={values.limit} />
          <Check name="unlimited" value="on" label={words.unlimited} isChecked={values.isUnlimited} />
        </div>
        <Choice
          name="limit_period"
          label={fields.limit_period}
          value={values.limitPeriod}
          options={[['', words.neverRenews], ...Object.entries(choices.limit_period)]}
        />
        <Field
          name="rate_limit_rpm"
          label={fields.rate_limit_rpm}
          hint={common.optional}
          inputMode="numeric"
          value={values.rate}
        />
        <Field
          name="expires_on"
          wireName="expires_at"
          label={fields.expires_at}
          hint={common.optional}
          type="date"
          value={values.expiresOn}
        />
        <Field
          name="ip_allowlist"
          label={fields.ip_allowlist}
          hint={words.addressesHint}
          lines={3}
          value={values.addresses}
        />
      </div>
      <fieldset>
        <legend>{fields.models}</legend>
        <Check name="all_models" value="on" label={words.allModels} isChecked={values.hasAllModels} />
        <details open={!values.hasAllModels}>
          <summary>{words.chooseModels}</summary>
          <div class="checks">
            {ids.map((id) => (
              <Check name="models" value={id} label={id} isChecked={chosen.has(id)} />
            ))}
          </div>
        </details>
      </fieldset>
      <button type="submit">{stored === null ? common.create : common.save}</button>
    </Form>
  );
}
