/** Operators' overrides for upstreams: see `db/schema/0010-operations.sql`. */
import { type Database, onlyRow, secondsFromNow } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { Authorship } from './operator-actions.ts';

export interface NewUpstreamOverride extends Authorship {
  readonly upstream: string;
  /** How long to keep the upstream out of service; null to put it back into service. */
  readonly disabledSeconds: number | null;
}

export interface UpstreamOverride extends Authorship {
  readonly id: string;
  readonly upstream: string;
  /** When the upstream returns to service; null if the override put it back into service. */
  readonly until: Date | null;
  readonly createdAt: Date;
}

type UpstreamOverrideRow = RowOf<UpstreamOverride>;

export async function recordUpstreamOverride(
  database: Database,
  override: NewUpstreamOverride,
): Promise<UpstreamOverride> {
  const { upstream, disabledSeconds, author, reason } = override;
  const rows = await database('upstream_overrides')
    .insert({
      upstream,
      kind: disabledSeconds === null ? 'resume' : 'rest',
      until: disabledSeconds === null ? null : secondsFromNow(database, disabledSeconds),
      author,
      reason,
    })
    .returning<UpstreamOverrideRow[]>('*');
  return camelCased(onlyRow(rows));
}

/** Lists the latest override of each upstream. */
export async function listUpstreamOverrides(database: Database): Promise<readonly UpstreamOverride[]> {
  const { rows } = await database.raw<{ rows: UpstreamOverrideRow[] }>(
    'SELECT DISTINCT ON (upstream) * FROM upstream_overrides ORDER BY upstream, id DESC',
  );
  return rows.map(camelCased);
}
