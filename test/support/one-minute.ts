import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';

/** Works within one minute of the database: starts over if the minute ends meanwhile, since counts restart with it. */
export async function withinOneMinute<Result>(database: Database, work: () => Promise<Result>): Promise<Result> {
  const minute = await currentMinute(database);
  const result = await work();
  return (await currentMinute(database)) === minute ? result : work();
}

/** How long the requests of a test that counts them may take, many times what they take on an idle machine. */
const ROOM_S = 15;

/** Waits for the next minute if this one is about to end, for tests whose requests must all be in one minute. */
export async function awaitRoomInMinute(database: Database): Promise<void> {
  const { rows } = await database.raw<{ rows: { left: number }[] }>(
    'SELECT 60 - extract(second FROM now())::float8 AS left',
  );
  const left = rows[0]?.left ?? 60;
  if (left < ROOM_S) await sleep(left * 1000 + 100);
}

export async function currentMinute(database: Database): Promise<string> {
  const { rows } = await database.raw<{ rows: { minute: string }[] }>(
    `SELECT date_trunc('minute', now())::text AS minute`,
  );
  return rows[0]?.minute ?? '';
}
