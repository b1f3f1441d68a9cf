/** Operators' overrides for upstreams: see `db/schema/0010-operations.sql`. */
import type { UpstreamOverride as Override } from '../../domain/upstream-override.ts';
import { type Database, onlyRow, secondsFromNow } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { Authorship } from './operator-actions.ts';

export interface NewUpstreamOverride extends Authorship {
  readonly upstream: string;
  /** The upstream's name for the model; null for all of its models. */
  readonly model: string | null;
  /** How long to keep the upstream out of service; null to put it back into service. */
  readonly disabledSeconds: number | null;
}

export type UpstreamOverride = Override & Authorship;

type UpstreamOverrideRow = RowOf<UpstreamOverride>;

export async function recordUpstreamOverride(
  database: Database,
  override: NewUpstreamOverride,
): Promise<UpstreamOverride> {
  const { upstream, model, disabledSeconds, author, reason } = override;
  const rows = await database('upstream_overrides')
    .insert({
      upstream,
      model,
      kind: disabledSeconds === null ? 'resume' : 'rest',
      until: disabledSeconds === null ? null : secondsFromNow(database, disabledSeconds),
      author,
      reason,
    })
    .returning<UpstreamOverrideRow[]>('*');
  return camelCased(onlyRow(rows));
}

/** Lists the latest override of each upstream and model. */
export async function listUpstreamOverrides(database: Database): Promise<readonly UpstreamOverride[]> {
  const { rows } = await database.raw<{ rows: UpstreamOverrideRow[] }>(
    'SELECT DISTINCT ON (upstream, model) * FROM upstream_overrides ORDER BY upstream, model, id DESC',
  );
  return rows.map(camelCased);
}
