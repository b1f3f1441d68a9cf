/** Why a key cannot call a model now: contract 4.6. */
import type { MediaModel, TextModel } from '../../catalogue/types.ts';
import { isAllowedModel, type KeyGroup } from '../../domain/api-key.ts';
import { isTopUpRequired } from '../../domain/text-refusal.ts';
import type { ModelControl } from './model-control.ts';
import type { UpstreamControl } from './upstream-control.ts';

/**
 * `not_allowed`: the key may not call the model; `top_up_required`: its account never topped up; `disabled`: operators
 * disabled the model; `no_route`: no upstream in service has it.
 */
export const UNAVAILABLE_REASONS = ['not_allowed', 'top_up_required', 'disabled', 'no_route'] as const;
export type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number];

/** The first reason for which calls of the model are refused; null if there is none. */
export function findUnavailableReason(
  model: MediaModel | TextModel,
  { key, account }: { readonly key: KeyGroup; readonly account: { readonly toppedUpAt: Date | null } },
  {
    models,
    upstreams,
  }: {
    readonly models: Pick<ModelControl, 'disabledBy'>;
    readonly upstreams: Pick<UpstreamControl, 'hasRoute'>;
  },
): UnavailableReason | null {
  if (!isAllowedModel(key, model.id)) return 'not_allowed';
  if (account.toppedUpAt === null && ('kind' in model || isTopUpRequired(model))) return 'top_up_required';
  if (models.disabledBy(model.id) !== null) return 'disabled';
  // Media tasks wait for an upstream that is out of service.
  return 'kind' in model || upstreams.hasRoute(model) ? null : 'no_route';
}
