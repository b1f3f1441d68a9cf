/** The outcome of each order, as PostgreSQL and the simulator report it. */
import Joi from 'joi';
import type { Database } from '../../../db/database.ts';
import type { RowOf } from '../../../db/row.ts';
import { listReader } from '../../stack/answers.ts';
import { ask } from '../../stack/client.ts';
import type { VendorOrder } from './orders.ts';

export interface Outcome {
  readonly order: VendorOrder;
  /** `succeeded`, the code of a failure, or the status of a task that is not final. */
  readonly ending: string;
  /** The states of its renders at the vendor. */
  readonly renders: readonly string[];
  /** The kinds of transfers that resolved its reservation. */
  readonly resolutions: readonly string[];
  readonly submissions: number;
  /** Submissions whose outcome is unknown. */
  readonly open: number;
  /** Submissions whose outcome could not be determined. */
  readonly givenUp: number;
}

type TaskRow = RowOf<Omit<Outcome, 'order' | 'ending' | 'renders'>> & {
  readonly id: string;
  readonly status: string;
  readonly error_code: string | null;
};

const readMarkedRenders = listReader<{ mark: string | null; state: string }>({
  mark: Joi.string().allow(null),
  state: Joi.string(),
});

export async function readOutcomes(
  orders: readonly VendorOrder[],
  { database, simulatorUrl }: { database: Database; simulatorUrl: string },
): Promise<readonly Outcome[]> {
  const tasks = await readTasks(database);
  const renders = await readRenders(simulatorUrl);
  return orders.map((order) => {
    const task = tasks.get(order.taskId);
    return {
      order,
      ending: task?.error_code ?? task?.status ?? 'gone',
      renders: renders.get(order.mark) ?? [],
      resolutions: task?.resolutions ?? [],
      submissions: task?.submissions ?? 0,
      open: task?.open ?? 0,
      givenUp: task?.given_up ?? 0,
    };
  });
}

async function readTasks(database: Database): Promise<ReadonlyMap<string, TaskRow>> {
  const { rows } = await database.raw<{ rows: TaskRow[] }>(/* sql */ `
    SELECT id, status, error_code,
      ARRAY(SELECT kind FROM transfers
        WHERE task_id = tasks.id AND kind <> 'reservation' ORDER BY created_at) AS resolutions,
      count(attempt)::int AS submissions,
      count(attempt) FILTER (WHERE outcome IS NULL)::int AS open,
      count(attempt) FILTER (WHERE outcome = 'unknown')::int AS given_up
    FROM tasks LEFT JOIN submissions ON task_id = id GROUP BY id, tasks.created_at, status, error_code`);
  return new Map(rows.map((row) => [row.id, row]));
}

async function readRenders(simulatorUrl: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const { text } = await ask(`${simulatorUrl}/_sim/renders`);
  const states = new Map<string, string[]>();
  for (const { mark, state } of readMarkedRenders(text))
    if (mark !== null) states.set(mark, [...(states.get(mark) ?? []), state]);
  return states;
}
