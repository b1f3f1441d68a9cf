/** Operators' overrides: an upstream out of service gets no requests, even if no other upstream is left. */
import { ServiceError } from '../../domain/errors.ts';
import type { Candidate } from './candidates.ts';

/** An operator's decision about an upstream. */
export interface UpstreamOverride {
  readonly id: string;
  readonly upstream: string;
  readonly createdAt: Date;
  /** When the upstream returns to service; null to return it now and clear its record of failures. */
  readonly until: Date | null;
}

export interface OutOfService {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** @param override an upstream's latest override, if any */
export function outOfServiceOf(
  override: Pick<UpstreamOverride, 'createdAt' | 'until'> | undefined,
  nowMs: number,
): OutOfService | null {
  if (override === undefined || override.until === null || override.until.getTime() <= nowMs) return null;
  return { sinceMs: override.createdAt.getTime(), untilMs: override.until.getTime() };
}

export class Overrides {
  /** The latest known override for each upstream. */
  readonly #overrides = new Map<string, UpstreamOverride>();

  /**
   * @param overrides the latest for each upstream
   * @returns the upstreams that return to service by an override that was not known before
   */
  applyOverrides(overrides: readonly UpstreamOverride[]): readonly string[] {
    const others = overrides.filter(({ id, upstream }) => this.#overrides.get(upstream)?.id !== id);
    for (const override of others) this.#overrides.set(override.upstream, override);
    return others.filter(({ until }) => until === null).map(({ upstream }) => upstream);
  }

  /** The period for which an upstream is out of service; null if it is in service. */
  of(upstream: string, nowMs: number): OutOfService | null {
    return outOfServiceOf(this.#overrides.get(upstream), nowMs);
  }

  /**
   * The candidates that are in service.
   *
   * @throws ServiceError 503 `processing_unavailable` if all of them are out of service
   */
  open<SomeCandidate extends Candidate>(candidates: readonly SomeCandidate[], nowMs: number): readonly SomeCandidate[] {
    if (this.#overrides.size === 0) return candidates;
    const open = candidates.filter(({ route }) => this.of(route.provider, nowMs) === null);
    if (open.length > 0 || candidates.length === 0) return open;
    const untilMs = Math.min(...candidates.map(({ route }) => this.of(route.provider, nowMs)?.untilMs ?? nowMs));
    throw new ServiceError('processing_unavailable', 'The model is out of service for now; use another model.', {
      retryAfterSeconds: Math.max(Math.ceil((untilMs - nowMs) / 1000), 1),
    });
  }
}
