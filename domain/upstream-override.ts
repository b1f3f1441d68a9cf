/** Operators' overrides: an upstream, or one of its models, out of service gets no requests, even if no other is left. */

/** An operator's decision about an upstream, or about one of its models. */
export interface UpstreamOverride {
  readonly id: string;
  readonly upstream: string;
  /** The upstream's name for the model; null for all of its models. */
  readonly model: string | null;
  readonly createdAt: Date;
  /** When the upstream returns to service; null to return it now and clear its record of failures. */
  readonly until: Date | null;
}

export interface OutOfService {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Returns the latest override that covers a model of an upstream. @param overrides the latest of each upstream and model */
export function overrideOf<Override extends UpstreamOverride>(
  overrides: readonly Override[],
  upstream: string,
  model: string,
): Override | undefined {
  return overrides
    .filter((one) => one.upstream === upstream && (one.model === null || one.model === model))
    .toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())[0];
}

/** The period for which an override takes an upstream out of service; null if the upstream is in service. */
export function outOfServiceOf(
  override: Pick<UpstreamOverride, 'createdAt' | 'until'> | undefined,
  nowMs: number,
): OutOfService | null {
  if (override === undefined || override.until === null || override.until.getTime() <= nowMs) return null;
  return { sinceMs: override.createdAt.getTime(), untilMs: override.until.getTime() };
}
