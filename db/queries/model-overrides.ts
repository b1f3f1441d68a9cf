/** Operators' overrides for models: see `db/schema/0010-operations.sql`. */
import { type Database, onlyRow } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { Authorship } from './operator-actions.ts';

export interface NewModelOverride extends Authorship {
  /** The id of the model. */
  readonly model: string;
  readonly kind: 'disable' | 'enable';
}

export interface ModelOverride extends NewModelOverride {
  readonly createdAt: Date;
}

type ModelOverrideRow = RowOf<ModelOverride>;

export async function recordModelOverride(database: Database, override: NewModelOverride): Promise<ModelOverride> {
  const { model, kind, author, reason } = override;
  const rows = await database('model_overrides')
    .insert({ model, kind, author, reason })
    .returning<ModelOverrideRow[]>(['model', 'kind', 'author', 'reason', 'created_at']);
  return camelCased(onlyRow(rows));
}

/** Lists the latest override of each model. */
export async function listModelOverrides(database: Database): Promise<readonly ModelOverride[]> {
  const { rows } = await database.raw<{ rows: ModelOverrideRow[] }>(
    'SELECT DISTINCT ON (model) model, kind, author, reason, created_at FROM model_overrides ORDER BY model, id DESC',
  );
  return rows.map(camelCased);
}
