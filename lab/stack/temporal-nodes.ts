/** The Temporal server as in production: several nodes, each with all its services, on PostgreSQL. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningProcess, runCommand, startProcess } from '../../bin/stack/child-process.ts';
import { buildWithGo, findCached, addToCache } from '../../bin/stack/go-program.ts';
import { logTail } from '../../bin/stack/log-tail.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntilReady } from '../../bin/stack/readiness.ts';
import { createNamespace, DYNAMIC_CONFIG } from '../../bin/stack/temporal-server.ts';
import { withTemporal } from '../../bin/stack/with-temporal.ts';
import type { Killable } from '../../bin/stack/supervise.ts';
import { type Member, startMember } from './member.ts';
import { startTcpBalancer, startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface TemporalNodes {
  /** `host:port`, from where connections lead to the nodes that are up. */
  readonly address: string;
  readonly uiUrl: string;
  readonly members: readonly Member[];
  readonly balancer: TcpProxy;
  readonly ui: RunningProcess;
}

interface NodesOptions {
  readonly home: string;
  readonly cacheFolder: string;
  /** The PostgreSQL server on which the nodes make databases of their own. */
  readonly databaseUrl: string;
  /** Whether each node reaches PostgreSQL over a TCP proxy of its own. */
  readonly isDisturbable: boolean;
  readonly report: (line: string) => void;
}

/** The release that the development server of Genway includes. */
const VERSION = '1.29.1';
const UI_VERSION = '2.42.1';
const PROGRAMS = {
  server: { title: `Temporal ${VERSION}`, source: `go.temporal.io/server/cmd/server@v${VERSION}` },
  sqlTool: { title: `the SQL tool of Temporal ${VERSION}`, source: `go.temporal.io/server/cmd/tools/sql@v${VERSION}` },
  ui: {
    title: `the UI of Temporal ${UI_VERSION}`,
    source: `github.com/temporalio/ui-server/v2/cmd/server@v${UI_VERSION}`,
  },
};
/** Nodes know each other by address, and a service has the same port on each of them. */
const ADDRESSES = ['127.0.0.2', '127.0.0.3'];
const SERVICES = ['frontend', 'matching', 'history', 'worker'] as const;
const PLUGIN = 'postgres12';
const DATABASES = { temporal: 'temporal', visibility: 'temporal_visibility' };
const HISTORY_SHARDS = 16;
const NAMESPACE = 'default';
const START_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 20_000;

type ServicePorts = Readonly<Record<(typeof SERVICES)[number], { readonly grpc: number; readonly membership: number }>>;

/** @throws Error that says what could not be built or started */
export async function startTemporalNodes(options: NodesOptions): Promise<TemporalNodes> {
  const { home, databaseUrl, isDisturbable, report } = options;
  const programs = await findPrograms(options);
  for (const [schema, database] of Object.entries(DATABASES))
    await createDatabase(programs.sqlTool, { schema, database, databaseUrl, home });
  const ports = await choosePorts();
  const members: Member[] = [];
  for (const [index, ip] of ADDRESSES.entries()) {
    const name = `temporal-${index + 1}`;
    const postgres = isDisturbable ? await startTcpProxy(databaseUrl) : undefined;
    const ownUrl = postgres?.urlOf(databaseUrl) ?? databaseUrl;
    const folder = await writeConfiguration(join(home, name), { ip, ports, databaseUrl: ownUrl });
    const start = (): Promise<Killable> => startNode(programs.server, { folder, logFile: `${folder}.log`, ip, ports });
    members.push(
      await startMember({ role: 'temporal', name, links: { ...(postgres && { postgres }) }, start, report }),
    );
  }
  const balancer = await startTcpBalancer(() =>
    ADDRESSES.filter((_, index) => members[index]?.isUp() === true).map((ip) => `${ip}:${ports.frontend.grpc}`),
  );
  const address = `127.0.0.1:${balancer.port}`;
  await createNamespace(address, NAMESPACE);
  const { uiUrl, ui } = await startUi(programs.ui, { home, address });
  return { address, uiUrl, members, balancer, ui };
}

type Programs = Readonly<Record<keyof typeof PROGRAMS, string>>;

/** Builds the programs that are not in the cache. */
async function findPrograms({ cacheFolder, report }: NodesOptions): Promise<Programs> {
  const find = async (name: keyof typeof PROGRAMS): Promise<string> => {
    const cached = join(cacheFolder, `temporal-server-${VERSION}`, name);
    return findCached(cached).catch(() => addToCache(cached, (folder) => buildWithGo(folder, PROGRAMS[name], report)));
  };
  return { server: await find('server'), sqlTool: await find('sqlTool'), ui: await find('ui') };
}

async function choosePorts(): Promise<ServicePorts> {
  const entries = SERVICES.map(
    async (service) => [service, { grpc: await findFreePort(), membership: await findFreePort() }] as const,
  );
  const { frontend, matching, history, worker } = Object.fromEntries(await Promise.all(entries));
  if (!frontend || !matching || !history || !worker) throw new Error('a service has no port');
  return { frontend, matching, history, worker };
}

/** https://docs.temporal.io/self-hosted-guide/upgrade-server and `temporal-sql-tool --help` */
async function createDatabase(
  tool: string,
  { schema, database, databaseUrl, home }: { schema: string; database: string; databaseUrl: string; home: string },
): Promise<void> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const logFile = join(home, 'temporal-schema.log');
  const server = ['--plugin', PLUGIN, '--ep', hostname, '-p', port, '-u', username, '--pw', password, '--db', database];
  const steps = [
    ['create-database'],
    ['setup-schema', '-v', '0.0'],
    ['update-schema', '--schema-name', `postgresql/v12/${schema}`],
  ];
  for (const step of steps) {
    const exit = await runCommand({ command: tool, args: [...server, ...step], output: logFile });
    if (exit !== 0)
      throw new Error(`Temporal's database could not be made; ${logFile} ends:\n${await logTail(logFile)}`);
  }
}

/**
 * Writes what https://docs.temporal.io/references/configuration describes.
 *
 * @returns the folder
 */
async function writeConfiguration(
  folder: string,
  { ip, ports, databaseUrl }: { ip: string; ports: ServicePorts; databaseUrl: string },
): Promise<string> {
  const { host, username, password } = new URL(databaseUrl);
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: PLUGIN,
      databaseName,
      connectAddr: host,
      connectProtocol: 'tcp',
      user: username,
      password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const frontend = `${ip}:${ports.frontend.grpc}`;
  const dynamicConfig = join(folder, 'dynamic.yaml');
  const configuration = {
    log: { stdout: true, level: 'warn', format: 'json' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: HISTORY_SHARDS,
      datastores: { default: store(DATABASES.temporal, 20), visibility: store(DATABASES.visibility, 5) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: ip } },
    services: Object.fromEntries(
      Object.entries(ports).map(([service, { grpc, membership }]) => [
        service,
        { rpc: { grpcPort: grpc, membershipPort: membership, bindOnIP: ip } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: frontend },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
  await mkdir(folder, { recursive: true });
  // JSON is YAML.
  await writeFile(join(folder, 'node.yaml'), JSON.stringify(configuration));
  const settings = Object.entries(DYNAMIC_CONFIG).map(([name, value]) => [name, [{ value }]]);
  await writeFile(dynamicConfig, JSON.stringify(Object.fromEntries(settings)));
  return folder;
}

/** Resolves when the frontend of the node answers. */
async function startNode(
  program: string,
  { folder, logFile, ip, ports }: { folder: string; logFile: string; ip: string; ports: ServicePorts },
): Promise<Killable> {
  const node = await startProcess({
    command: program,
    args: ['--root', folder, '--config', '.', '--env', 'node', '--allow-no-auth', 'start'],
    output: logFile,
  });
  const ready = (): Promise<void> => askFrontend(`${ip}:${ports.frontend.grpc}`);
  await waitUntilReady(node, { ready, name: 'a node of Temporal', logFile, timeoutMs: START_TIMEOUT_MS });
  return { ...node, stop: () => node.stop(STOP_GRACE_MS) };
}

async function askFrontend(address: string): Promise<void> {
  await withTemporal(
    address,
    (connection) => connection.withDeadline(Date.now() + 2_000, () => connection.workflowService.getClusterInfo({})),
    { connectTimeout: '2s' },
  );
}

async function startUi(
  program: string,
  { home, address }: { home: string; address: string },
): Promise<{ uiUrl: string; ui: RunningProcess }> {
  const folder = join(home, 'temporal-ui');
  const port = await findFreePort();
  await mkdir(folder, { recursive: true });
  const configuration = {
    temporalGrpcAddress: address,
    host: '127.0.0.1',
    port,
    enableUi: true,
    defaultNamespace: NAMESPACE,
  };
  await writeFile(join(folder, 'ui.yaml'), JSON.stringify(configuration));
  const ui = await startProcess({
    command: program,
    args: ['--root', folder, '--config', '.', '--env', 'ui', 'start'],
    output: `${folder}.log`,
  });
  return { uiUrl: `http://127.0.0.1:${port}`, ui };
}
