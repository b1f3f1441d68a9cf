/** PostgreSQL and Temporal for the processes of a stack, as in development or as in production. */
import { randomBytes } from 'node:crypto';
import { findFreePort } from '../../bin/stack/ports.ts';
import { type KeepRunning, runPostgres, runTemporal } from '../../bin/stack/servers.ts';
import { loadStackConfig } from '../../config.ts';
import { type Member, startMember } from './member.ts';
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts';
import { startTemporalNodes } from './temporal-nodes.ts';

export interface ServersOptions {
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

export interface Servers {
  readonly databaseUrl: string;
  /** `host:port`; empty where nothing needs Temporal. */
  readonly temporalAddress: string;
  /** Empty without a UI. */
  readonly temporalUiUrl: string;
  /** Only in a cluster. */
  readonly pair?: PostgresPair;
}

/** One PostgreSQL server and Temporal's development server. */
export async function startDevelopmentServers(options: ServersOptions): Promise<Servers> {
  const { home, members, report, isTemporalKept: isStateKept } = options;
  const keepRunning: KeepRunning = async (name, start) =>
    members.push(await startMember({ role: name, name, start, report }));
  const [port, temporalPort] = await Promise.all([findFreePort(), findFreePort()]);
  const settings = { max_connections: '300', ...options.postgres };
  const { cacheFolder } = loadStackConfig();
  const [databaseUrl, temporalAddress] = await Promise.all([
    runPostgres({ home, port, password: randomBytes(16).toString('hex'), settings }, keepRunning),
    options.needsTemporal
      ? runTemporal({ home, cacheFolder, port: temporalPort, isStateKept, report }, keepRunning)
      : '',
  ]);
  return { databaseUrl, temporalAddress, temporalUiUrl: '' };
}

/** A pair of PostgreSQL servers, and nodes of the Temporal server on it. */
export async function startClusterServers(options: ServersOptions): Promise<Servers> {
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
