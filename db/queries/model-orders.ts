/** What operators ordered of models: see `db/migrations/0010-operations.ts`. */
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface NewModelOrder {
  /** By its id. */
  readonly model: string;
  readonly kind: 'disable' | 'enable';
  /** Who. */
  readonly author: string;
  /** Why, for other operators. */
  readonly reason: string;
}

export interface ModelOrder extends NewModelOrder {
  readonly createdAt: Date;
}

type ModelOrderRow = RowOf<ModelOrder>;

export async function recordModelOrder(database: Database, order: NewModelOrder): Promise<ModelOrder> {
  const { model, kind, author, reason } = order;
  const [row] = await database('model_orders')
    .insert({ model, kind, author, reason })
    .returning<ModelOrderRow[]>(['model', 'kind', 'author', 'reason', 'created_at']);
  if (!row) throw new Error('an insert always returns its row');
  return camelCased(row);
}

/** The newest order of each model that ever had one. */
export async function listModelOrders(database: Database): Promise<readonly ModelOrder[]> {
  const { rows } = await database.raw<{ rows: ModelOrderRow[] }>(
    'SELECT DISTINCT ON (model) model, kind, author, reason, created_at FROM model_orders ORDER BY model, id DESC',
  );
  return rows.map(camelCased);
}
