import type { Database } from '../../db/database.ts';

/** Works within one minute of the database: starts over if the minute ends meanwhile, since counts restart with it. */
export async function withinOneMinute<Result>(database: Database, work: () => Promise<Result>): Promise<Result> {
  const minute = await currentMinute(database);
  const result = await work();
  return (await currentMinute(database)) === minute ? result : work();
}

export async function currentMinute(database: Database): Promise<string> {
  const { rows } = await database.raw<{ rows: { minute: string }[] }>(
    `SELECT date_trunc('minute', now())::text AS minute`,
  );
  return rows[0]?.minute ?? '';
}
