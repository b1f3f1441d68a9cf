/** Two PostgreSQL servers: a primary, and a synchronous standby that is promoted when the primary is lost. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { findFreePort } from '../../bin/stack/ports.ts';
import { startPostgres } from '../../bin/stack/postgres.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { copyFolder } from './copy-folder.ts';
import type { Killable } from '../../bin/stack/supervise.ts';
import { type Member, startMember } from './member.ts';
import { startTcpBalancer, type TcpProxy } from './tcp-proxy.ts';

export interface PostgresPair {
  /** Connects to the primary, whichever server that is. */
  readonly url: string;
  readonly members: readonly Member[];
  /** Through which all connections lead to the primary. */
  readonly balancer: TcpProxy;
  /**
   * Kills the primary, promotes the standby, and makes the old primary its standby. Resolves when commits wait for the new
   * standby.
   *
   * @returns how long no server was primary, in milliseconds
   */
  readonly failOver: () => Promise<number>;
}

interface Server {
  readonly name: string;
  readonly dataDir: string;
  readonly port: number;
}

interface PairOptions {
  readonly home: string;
  readonly password: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly report: (line: string) => void;
}

/** Commits wait until every standby that is connected has written them. */
const SYNCHRONOUS = { synchronous_standby_names: '*' };
const REPLICATION_TIMEOUT_MS = 60_000;

/** @throws Error that says which server did not start */
export async function startPostgresPair(options: PairOptions): Promise<PostgresPair> {
  const { home, password, settings, report } = options;
  const servers = await Promise.all(
    ['postgres-1', 'postgres-2'].map(async (name) => ({ name, dataDir: join(home, name), port: await findFreePort() })),
  );
  const [first, second] = servers;
  if (!first || !second) throw new Error('a pair has two servers');
  let [primary, standby]: readonly [Server, Server] = [first, second];

  const startServer = async (server: Server): Promise<Killable> => {
    const ofRole = server === primary ? SYNCHRONOUS : { primary_conninfo: connectionTo(primary, server, password) };
    return startPostgres({ ...server, password, settings: { ...settings, ...ofRole } });
  };
  await copyNewDatabase(first, second, options);
  const members: Member[] = [];
  for (const server of servers)
    members.push(await startMember({ role: 'postgres', name: server.name, start: () => startServer(server), report }));
  const urlOf = ({ port }: Server): string => `postgres://genway:${password}@127.0.0.1:${port}/genway`;
  await waitForStandby(urlOf(primary));
  const balancer = await startTcpBalancer(() => [`127.0.0.1:${primary.port}`]);

  const failOver = async (): Promise<number> => {
    const [lost, promoted] = [primary, standby];
    const began = performance.now();
    let lastedMs = 0;
    await memberNamed(members, lost.name).interrupt({
      by: 'kill',
      meanwhile: async () => {
        await query(urlOf(promoted), 'SELECT pg_promote()');
        [primary, standby] = [promoted, lost];
        balancer.reset();
        lastedMs = performance.now() - began;
        await copyRunningServer(urlOf(promoted), promoted.dataDir, lost.dataDir);
      },
    });
    await query(urlOf(promoted), `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await query(urlOf(promoted), 'SELECT pg_reload_conf()');
    await waitForStandby(urlOf(promoted));
    return lastedMs;
  };
  return { url: balancer.urlOf(urlOf(first)), members, balancer, failOver };
}

function memberNamed(members: readonly Member[], wanted: string): Member {
  const member = members.find(({ name }) => name === wanted);
  if (!member) throw new Error(`there is no ${wanted}`);
  return member;
}

function connectionTo({ port }: Server, { name }: Server, password: string): string {
  return `host=127.0.0.1 port=${port} user=genway password=${password} application_name=${name}`;
}

/** Creates the database in one folder, and copies the folder of the stopped server to that of its standby. */
async function copyNewDatabase(from: Server, to: Server, { password, settings }: PairOptions): Promise<void> {
  const server = await startPostgres({ ...from, password, settings });
  await server.stop();
  await copyFolder(from.dataDir, to.dataDir);
  await becomeStandby(to.dataDir);
}

/** Copies a server that runs, as in "Making a Base Backup Using the Low Level API" of the manual of PostgreSQL. */
async function copyRunningServer(url: string, from: string, to: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('standby', fast => true)`);
    // Files that vanish meanwhile make cp fail; the log brings what they held.
    await copyFolder(from, to).catch(() => {});
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
    await rm(join(to, 'postmaster.pid'), { force: true });
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
  await becomeStandby(to);
}

/** Lets a server follow its primary when it starts. */
async function becomeStandby(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, 'standby.signal'), '');
}

async function waitForStandby(url: string): Promise<void> {
  await waitUntil(
    async () => {
      const [row] = await query(
        url,
        `SELECT count(*)::int AS count FROM pg_stat_replication WHERE sync_state = 'sync'`,
      );
      if (row?.['count'] !== 1) throw new Error('the standby does not follow its primary');
    },
    { timeoutMs: REPLICATION_TIMEOUT_MS, pauseMs: 100 },
  );
}

async function query(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}
