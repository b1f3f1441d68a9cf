/** Lets operators disable models and enable them again: in all processes, by way of the database. */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { listModelOrders, type ModelOrder } from '../../db/queries/model-orders.ts';
import { ServiceError } from '../../domain/errors.ts';
import { repeat } from '../../domain/repeat.ts';

export interface ModelControl {
  /** @throws ServiceError 503 `processing_unavailable` for a model that is disabled */
  assertEnabled(model: string): void;
  /** By which order a model is disabled; null when it is not. */
  disabledBy(model: string): ModelOrder | null;
  /** Does what operators ordered, now rather than in a while. */
  obey(): Promise<void>;
  /** Leaves the orders that come to others. */
  stop(): void;
}

interface ModelControlOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly pauseMs?: number;
}

const PAUSE_MS = 1_000;

/** Looks for orders from time to time. Without the database the last ones stay in force. */
export function startModelControl({ database, log, pauseMs = PAUSE_MS }: ModelControlOptions): ModelControl {
  let orders: ReadonlyMap<string, ModelOrder> = new Map();
  const obey = async (): Promise<void> => {
    orders = new Map((await listModelOrders(database)).map((order) => [order.model, order]));
  };
  const disabledBy = (model: string): ModelOrder | null => {
    const order = orders.get(model);
    return order?.kind === 'disable' ? order : null;
  };
  const obeying = repeat(obey, {
    pauseMs,
    onError: (error) => log.debug({ err: error }, 'cannot look for orders to models'),
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
    obey,
    stop: () => void obeying.stop(),
  };
}
