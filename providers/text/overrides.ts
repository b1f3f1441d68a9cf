/** Applies operators' overrides to requests for text. */
import { ServiceError } from '../../domain/errors.ts';
import {
  type OutOfService,
  outOfServiceOf,
  overrideOf,
  type UpstreamOverride,
} from '../../domain/upstream-override.ts';
import type { Candidate } from './candidates.ts';

export class Overrides {
  /** The latest known override of each upstream and model. */
  #latest: readonly UpstreamOverride[] = [];

  /** @returns the overrides that return an upstream to service and were not known before */
  applyOverrides(latest: readonly UpstreamOverride[]): readonly UpstreamOverride[] {
    const known = new Set(this.#latest.map(({ id }) => id));
    this.#latest = latest;
    return latest.filter(({ id, until }) => until === null && !known.has(id));
  }

  /** The period for which a route is out of service; null if it is in service. */
  of({ provider, model }: Candidate['route'], nowMs: number): OutOfService | null {
    return outOfServiceOf(overrideOf(this.#latest, provider, model), nowMs);
  }

  /**
   * The candidates that are in service.
   *
   * @throws ServiceError 503 `processing_unavailable` if all of them are out of service
   */
  open<SomeCandidate extends Candidate>(candidates: readonly SomeCandidate[], nowMs: number): readonly SomeCandidate[] {
    if (this.#latest.length === 0) return candidates;
    const open = candidates.filter(({ route }) => this.of(route, nowMs) === null);
    if (open.length > 0 || candidates.length === 0) return open;
    const untilMs = Math.min(...candidates.map(({ route }) => this.of(route, nowMs)?.untilMs ?? nowMs));
    throw new ServiceError('processing_unavailable', 'The model is out of service for now; use another model.', {
      retryAfterSeconds: Math.max(Math.ceil((untilMs - nowMs) / 1000), 1),
    });
  }
}
