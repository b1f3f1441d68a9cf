/** Operators' overrides for upstreams: see `db/migrations/0010-operations.ts`. */
import { type Database, onlyRow } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { Authorship } from './operator-actions.ts';

export interface NewUpstreamOverride extends Authorship {
  readonly upstream: string;
  /** How long to keep it out of service; null to put it back. */
  readonly restSeconds: number | null;
}

export interface UpstreamOverride extends Authorship {
  readonly id: string;
  readonly upstream: string;
  /** When it returns to service; null once it was put back. */
  readonly until: Date | null;
  readonly createdAt: Date;
}

type UpstreamOverrideRow = RowOf<UpstreamOverride>;

export async function recordUpstreamOverride(
  database: Database,
  override: NewUpstreamOverride,
): Promise<UpstreamOverride> {
  const { upstream, restSeconds, author, reason } = override;
  const rows = await database('upstream_orders')
    .insert({
      upstream,
      kind: restSeconds === null ? 'resume' : 'rest',
      until: restSeconds === null ? null : database.raw(`now() + make_interval(secs => ?)`, [restSeconds]),
      author,
      reason,
    })
    .returning<UpstreamOverrideRow[]>('*');
  return camelCased(onlyRow(rows));
}

/** The latest override for each upstream that ever had one. */
export async function listUpstreamOverrides(database: Database): Promise<readonly UpstreamOverride[]> {
  const { rows } = await database.raw<{ rows: UpstreamOverrideRow[] }>(
    'SELECT DISTINCT ON (upstream) * FROM upstream_orders ORDER BY upstream, id DESC',
  );
  return rows.map(camelCased);
}
