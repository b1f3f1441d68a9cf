/** The settings of a key in the body of a request. */
import type { Catalogue } from '../../catalogue/types.ts';
import { type KeySettings } from '../../db/queries/api-keys.ts';
import { badRequest } from '../../domain/errors.ts';
import { parseUsd } from '../../domain/money.ts';
import { type UpdateKeyBody } from './admin.ts';

/** With a misspelt name, the key could not call the intended model. @throws ServiceError `bad_request` */
function assertModelsExist({ models }: UpdateKeyBody, catalogue: Catalogue): void {
  const unknown = models?.find(
    (id) => !catalogue.textModels.has(id) && !catalogue.videoModels.has(id) && !catalogue.imageModels.has(id),
  );
  if (unknown !== undefined) {
    throw badRequest(
      `"models" names ${unknown}, which is not in the catalogue. GET /admin/v1/models lists the models of the catalogue.`,
    );
  }
}

/** Converts a checked body to settings. @throws ServiceError `bad_request` for a model that is not sold */
export function toKeySettings(body: UpdateKeyBody, catalogue: Catalogue): KeySettings {
  assertModelsExist(body, catalogue);
  const { usage_limit_usd: usageLimit } = body;
  return {
    name: body.name,
    usageLimit: usageLimit === undefined || usageLimit === null ? usageLimit : parseUsd(usageLimit),
    limitPeriod: body.limit_period,
    models: body.models,
    ipAllowlist: body.ip_allowlist,
    rateLimitRpm: body.rate_limit_rpm,
    expiresAt: body.expires_at,
    disabled: body.disabled,
  };
}
