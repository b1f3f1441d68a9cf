/** PostgreSQL and Temporal for the processes of a stack, as in development or as in production. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { startPostgres } from '../../bin/stack/postgres.ts';
import { findTemporalServer, startTemporalServer } from '../../bin/stack/temporal-server.ts';
import { loadStackConfig } from '../../config.ts';
import { type Killable, type Member, startMember } from './member.ts';
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts';
import { startTemporalNodes } from './temporal-nodes.ts';

export interface GroundOptions {
  readonly home: string;
  /** Gets the servers, in the order of their start. */
  readonly members: Member[];
  /** Gets what has to be closed after the members have stopped. */
  readonly closers: (() => Promise<void>)[];
  readonly report: (line: string) => void;
  readonly needsTemporal: boolean;
  /** Server settings of PostgreSQL. */
  readonly postgres?: Readonly<Record<string, string>> | undefined;
  /** Whether Temporal's development server keeps its state when it is killed. */
  readonly isTemporalKept: boolean;
  /** Whether the connections of a cluster's servers lead over TCP proxies. */
  readonly isDisturbable: boolean;
}

export interface Ground {
  readonly databaseUrl: string;
  /** `host:port`; empty where nothing needs Temporal. */
  readonly temporalAddress: string;
  /** Empty without a UI. */
  readonly temporalUiUrl: string;
  /** Only in a cluster. */
  readonly pair?: PostgresPair;
}

/** One PostgreSQL server and Temporal's development server. */
export async function layDevelopmentGround(options: GroundOptions): Promise<Ground> {
  const [databaseUrl, temporalAddress] = await Promise.all([joinPostgres(options), joinTemporal(options)]);
  return { databaseUrl, temporalAddress, temporalUiUrl: '' };
}

/** A pair of PostgreSQL servers, and nodes of the Temporal server on it. */
export async function layClusterGround(options: GroundOptions): Promise<Ground> {
  const { home, members, closers, report, postgres, isDisturbable } = options;
  const settings = { max_connections: '500', ...postgres };
  const pair = await startPostgresPair({ home, password: randomBytes(16).toString('hex'), settings, report });
  members.push(...pair.members);
  closers.push(() => pair.balancer.close());
  const { cacheFolder } = loadStackConfig();
  const temporal = await startTemporalNodes({ home, cacheFolder, databaseUrl: pair.url, isDisturbable, report });
  members.push(...temporal.members);
  closers.push(
    () => temporal.balancer.close(),
    () => temporal.ui.stop(UI_STOP_GRACE_MS),
  );
  return { databaseUrl: pair.url, temporalAddress: temporal.address, temporalUiUrl: temporal.uiUrl, pair };
}

const UI_STOP_GRACE_MS = 5_000;

async function joinPostgres({ home, report, members, postgres }: GroundOptions): Promise<string> {
  const port = await findFreePort();
  const password = randomBytes(16).toString('hex');
  let url = '';
  const start = async (): Promise<Killable> => {
    const settings = { max_connections: '300', ...postgres };
    const server = await startPostgres({ dataDir: join(home, 'postgres'), port, password, settings });
    url = server.url;
    return server;
  };
  members.push(await startMember({ role: 'postgres', name: 'postgres', start, report }));
  return url;
}

/** @returns its address; an empty one where no process needs it */
async function joinTemporal({ home, report, members, needsTemporal, isTemporalKept }: GroundOptions): Promise<string> {
  if (!needsTemporal) return '';
  const binary = await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report });
  const port = await findFreePort();
  const start = (): Promise<Killable> =>
    startTemporalServer({
      binary,
      port,
      ...(isTemporalKept && { databaseFile: join(home, 'temporal.db') }),
      logFile: join(home, 'temporal.log'),
    });
  members.push(await startMember({ role: 'temporal', name: 'temporal', start, report }));
  return `127.0.0.1:${port}`;
}
