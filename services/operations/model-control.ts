/** Lets operators disable models and enable them again: in all processes, through the database. */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { listModelOverrides, type ModelOverride } from '../../db/queries/model-overrides.ts';
import { ServiceError } from '../../domain/errors.ts';
import { repeat } from '../../domain/background-loop.ts';

export interface ModelControl {
  /** @throws ServiceError 503 `processing_unavailable` for a model that is disabled */
  assertEnabled(model: string): void;
  /** The override that disables a model; null if the model is enabled. */
  disabledBy(model: string): ModelOverride | null;
  /** Applies new overrides now instead of at the next interval. */
  applyOverrides(): Promise<void>;
  /** Stops applying overrides. */
  stop(): void;
}

interface ModelControlOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly pauseMs?: number;
}

const PAUSE_MS = 1_000;

/** Starts polling for overrides. While the database is unavailable, the last ones stay in force. */
export function startModelControl({ database, log, pauseMs = PAUSE_MS }: ModelControlOptions): ModelControl {
  let overrides: ReadonlyMap<string, ModelOverride> = new Map();
  const applyOverrides = async (): Promise<void> => {
    overrides = new Map((await listModelOverrides(database)).map((override) => [override.model, override]));
  };
  const disabledBy = (model: string): ModelOverride | null => {
    const override = overrides.get(model);
    return override?.kind === 'disable' ? override : null;
  };
  const repeating = repeat(applyOverrides, {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot read overrides for models'),
  });

  return {
    assertEnabled: (model) => {
      if (disabledBy(model) === null) return;
      throw new ServiceError(
        'processing_unavailable',
        `The model ${model} is out of service for now; use another model.`,
      );
    },
    disabledBy,
    applyOverrides,
    stop: () => void repeating.stop(),
  };
}
