import { createKeySchema, MAX_KEY_ENTRIES } from '../../../api/routes/admin/schema.ts';
import { toKeySettings } from '../../../api/routes/admin/keys.ts';
import { createValidator } from '../../../api/validation.ts';
import type { Catalogue } from '../../../catalogue/types.ts';
import type { KeySettings } from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { Form } from '../../form.ts';

const validate = createValidator(createKeySchema);

/** Reads the settings of a key, validated by the schema of the API. Returns the error of an invalid form. */
export function readSettings(form: Form, catalogue: Catalogue): KeySettings | ServiceError {
  const lines = (name: string): string[] => form.words(name, MAX_KEY_ENTRIES, /[^\s,]+/g);
  const [models, addresses] = [lines('models'), lines('ip_allowlist')];
  const [rate, expires] = [form.optional('rate_limit_rpm'), form.optional('expires_on')];
  try {
    const body = validate({
      ...(form.optional('name') === null ? {} : { name: form.text('name') }),
      ...(form.optional('usage_limit_usd') === null ? {} : { usage_limit_usd: form.text('usage_limit_usd') }),
      ...(rate === null ? {} : { rate_limit_rpm: Number(rate) }),
      ...(expires === null ? {} : { expires_at: `${expires}T23:59:59Z` }),
      ...(models.length === 0 ? {} : { models }),
      ...(addresses.length === 0 ? {} : { ip_allowlist: addresses }),
    });
    return toKeySettings(body, catalogue);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
