/** Refuses a large request before it is parsed, because of its model or because the account has no credit. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import { findModel } from './choose-model.ts';
import type { TextServices } from './services.ts';

/** Below this size, parsing is as cheap as checking. */
const LARGE_BYTES = 128 * 1024;

/** @param announcedBytes the length of a body; undefined if it is not known beforehand */
export function isLarge(announcedBytes: number | undefined): boolean {
  return announcedBytes === undefined || !(announcedBytes < LARGE_BYTES);
}

/**
 * @param modelId null if it cannot be determined without parsing
 * @throws ServiceError the refusal that the request would get later, in general terms
 */
export async function checkEarly(
  format: RequestFormatName,
  modelId: string | null,
  caller: Caller,
  { catalogue, hasCredit }: TextServices,
): Promise<void> {
  if (modelId === null) return;
  const model = findModel(format, modelId, caller.key, catalogue);
  if (!model.free && !(await hasCredit(caller.account.id))) {
    throw new ServiceError('insufficient_credits', `The account has no credit left for ${model.id}. Top up.`);
  }
}
