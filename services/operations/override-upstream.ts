import {
  type NewUpstreamOverride,
  recordUpstreamOverride,
  type UpstreamOverride,
} from '../../db/queries/upstream-overrides.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Services } from '../services.ts';

/**
 * Takes an upstream, or one of its models, out of service for a while, or puts it back: in all processes within seconds, in
 * this one at once.
 *
 * @param override.disabledSeconds null to put it back
 * @throws ServiceError `not_found`
 */
export async function overrideUpstream(
  { database, operations: { upstreams } }: Pick<Services, 'database' | 'operations'>,
  override: NewUpstreamOverride,
): Promise<UpstreamOverride> {
  const known = await upstreams.list();
  const { upstream, model: asked } = override;
  if (!known.some(({ name, model }) => name === upstream && (asked === null || asked === model))) {
    throw new ServiceError('not_found', 'There is no such upstream or model. GET /admin/v1/upstreams lists them.');
  }
  const recorded = await recordUpstreamOverride(database, override);
  await upstreams.applyOverrides();
  return recorded;
}
