/** What can be refused of a large request before it is parsed: its model, and an account that can pay for nothing. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { WireFormat } from '../../text/wire-format.ts';
import { findModel } from './choose-model.ts';
import type { TextServices } from './services.ts';

/** Below this, parsing is as cheap as asking. */
const LARGE_BYTES = 128 * 1024;

/**
 * @param modelId as far as it can be told without parsing; null when it cannot
 * @throws ServiceError what the same request would be refused with later, in general terms
 */
export async function checkEarly(
  { name }: WireFormat,
  modelId: string | null,
  bodyBytes: number,
  caller: Caller,
  { catalogue, hasCredit }: TextServices,
): Promise<void> {
  if (modelId === null || bodyBytes < LARGE_BYTES) return;
  const model = findModel(name, modelId, caller.key, catalogue);
  if (!model.free && !(await hasCredit(caller.account.id))) {
    throw new ServiceError('insufficient_credits', `The account has no credit left for ${model.id}. Top up.`);
  }
}
