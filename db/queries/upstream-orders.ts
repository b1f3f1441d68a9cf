/** What operators ordered of upstreams: see migration 0017. */
import type { Database } from '../database.ts';

export interface NewUpstreamOrder {
  /** By its name. */
  readonly upstream: string;
  /** For how long it is to be left alone; null to ask it again. */
  readonly restSeconds: number | null;
  /** Who. */
  readonly author: string;
  /** Why, for other operators. */
  readonly reason: string;
}

export interface UpstreamOrder {
  readonly id: string;
  readonly upstream: string;
  /** Until when it rests; null where it is to be asked again. */
  readonly until: Date | null;
  readonly author: string;
  readonly reason: string;
  readonly createdAt: Date;
}

interface UpstreamOrderRow {
  id: string;
  upstream: string;
  until: Date | null;
  author: string;
  reason: string;
  created_at: Date;
}

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
  return toOrder(row);
}

/** The newest order of each upstream that ever had one. */
export async function listUpstreamOrders(database: Database): Promise<readonly UpstreamOrder[]> {
  const { rows } = await database.raw<{ rows: UpstreamOrderRow[] }>(
    'SELECT DISTINCT ON (upstream) * FROM upstream_orders ORDER BY upstream, id DESC',
  );
  return rows.map(toOrder);
}

function toOrder({ created_at: createdAt, ...row }: UpstreamOrderRow): UpstreamOrder {
  return { ...row, createdAt };
}
