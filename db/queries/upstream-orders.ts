/** Operators' orders about upstreams: see `db/migrations/0010-operations.ts`. */
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface NewUpstreamOrder {
  readonly upstream: string;
  /** How long to keep it out of service; null to put it back. */
  readonly restSeconds: number | null;
  readonly author: string;
  /** For other operators. */
  readonly reason: string;
}

export interface UpstreamOrder {
  readonly id: string;
  readonly upstream: string;
  /** When it returns to service; null once it was put back. */
  readonly until: Date | null;
  readonly author: string;
  readonly reason: string;
  readonly createdAt: Date;
}

type UpstreamOrderRow = RowOf<UpstreamOrder>;

export async function recordUpstreamOrder(database: Database, order: NewUpstreamOrder): Promise<UpstreamOrder> {
  const { upstream, restSeconds, author, reason } = order;
  const [row] = await database('upstream_orders')
    .insert({
      upstream,
      kind: restSeconds === null ? 'resume' : 'rest',
      until: restSeconds === null ? null : database.raw(`now() + make_interval(secs => ?)`, [restSeconds]),
      author,
      reason,
    })
    .returning<UpstreamOrderRow[]>('*');
  if (!row) throw new Error(`the order for ${upstream} was not written`);
  return camelCased(row);
}

/** The latest order for each upstream that ever had one. */
export async function listUpstreamOrders(database: Database): Promise<readonly UpstreamOrder[]> {
  const { rows } = await database.raw<{ rows: UpstreamOrderRow[] }>(
    'SELECT DISTINCT ON (upstream) * FROM upstream_orders ORDER BY upstream, id DESC',
  );
  return rows.map(camelCased);
}
