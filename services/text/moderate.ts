/** Moderates media requests at creation, before anything is created or charged, and content for clients that ask. */
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.ts';
import type { RenderInputs } from '../../domain/task.ts';
import { ProviderUnreachableError } from '../../providers/media/outcomes.ts';
import type { Moderator } from '../../providers/moderation.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export type Moderate = (inputs: Pick<RenderInputs, 'prompt' | 'images'>) => Promise<void>;

/** @throws ServiceError `processing_unavailable` when there is no verdict, and `not_found` without a moderation service */
export type Judge = Moderator['judge'];

/** Creates the function that judges content for clients. */
export function createJudge(moderator: Moderator | null): Judge {
  return async (content) => {
    if (moderator !== null) return moderator.judge(content).catch(noVerdict);
    throw new ServiceError(
      'not_found',
      'This service has no moderation. Use another moderation service, or ask the operator to set GENWAY_MODERATION_URL.',
    );
  };
}

/** A moderation service whose checks are counted and logged. */
export interface WatchedModerator extends Moderator {
  /** Why the latest check of this process had no verdict; null if it had one, or was long ago. */
  problem(): string | null;
}

/** Without further checks, nobody knows whether the service still fails. */
const PROBLEM_LASTS_MS = 15 * 60_000;

/** Counts the checks of a moderation service, and logs why there was no verdict, which clients do not learn. */
export function watchModerator(
  moderator: Moderator,
  { metrics, log }: { readonly metrics: Pick<Metrics, 'moderationEnded'>; readonly log: Pick<Logger, 'warn'> },
): WatchedModerator {
  let failure: { readonly reason: string; readonly atMs: number } | null = null;

  async function watch<Verdict>(verdict: Promise<Verdict>): Promise<Verdict> {
    try {
      const given = await verdict;
      failure = null;
      metrics.moderationEnded('answered');
      return given;
    } catch (error) {
      failure = { reason: error instanceof Error ? error.message : String(error), atMs: performance.now() };
      metrics.moderationEnded('unavailable');
      log.warn({ err: error }, 'the moderation service gave no verdict; requests that need one get 503');
      throw error;
    }
  }
  return {
    check: (input) => watch(moderator.check(input)),
    judge: (content) => watch(moderator.judge(content)),
    problem: () => (failure !== null && performance.now() - failure.atMs < PROBLEM_LASTS_MS ? failure.reason : null),
  };
}

const RETRY_AFTER_SECONDS = 5;

/**
 * Creates the check of prompts and images.
 *
 * @returns a function that throws ServiceError `content_policy_violation` for flagged content, and
 *   `processing_unavailable` when there is no verdict: content without a verdict is refused
 */
export function createModeration(moderator: Moderator): Moderate {
  return async ({ prompt, images = [] }) => {
    const { flagged, categories } = await moderator.check({ text: prompt, images }).catch(noVerdict);
    if (!flagged) return;
    const reason = categories.length > 0 ? ` for ${categories.join(', ')}` : '';
    throw new ServiceError(
      'content_policy_violation',
      `Moderation refused the prompt or an image${reason}. Change it and send the request again.`,
    );
  };
}

function noVerdict(error: unknown): never {
  if (!(error instanceof ProviderUnreachableError)) throw error;
  throw new ServiceError(
    'processing_unavailable',
    'The request could not be moderated. Nothing was charged; send it again.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error },
  );
}
