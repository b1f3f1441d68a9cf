/**
 * The configuration, read from the environment once at start. This is the only file that reads `process.env`; the
 * variables, their defaults and meanings are in `config-variables.ts` and, for readers, in `docs/configuration.md`.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Seller } from './domain/billing-document.ts';
import { parseUsd } from './domain/money.ts';
import { OperatorError } from './domain/operator-error.ts';
import { WORKER_DEPLOYMENT } from './domain/task-queues.ts';
import {
  type OneOrMore,
  VARIABLE_GROUPS,
  type ValueOf,
  type Variable,
  type VariableName,
  type Variables,
} from './config-variables.ts';

/** Opens the simulator; it protects nothing of value. */
export const SIMULATOR_KEY = 'simulator';
/** Signs the callbacks of the simulator. */
export const SIMULATOR_CALLBACK_SECRET = 'simulator-callbacks';
/** The placeholder in GENWAY_S3_ENDPOINT of the bucket in the host name. */
const BUCKET_PLACE = '{bucket}.';

export type Environment = Readonly<Record<string, string | undefined>>;

type Values = { readonly [Name in VariableName]: ValueOf<Variables[Name]> };

/** The configuration of the processes api, text, worker and migrate. Durations are in milliseconds. */
export type Config = Readonly<ReturnType<typeof loadConfig>>;

/** The connection to Temporal. */
export type TemporalConfig = Config['temporal'];

/** The configuration of `npm start` itself, which sets the {@link Config} of its processes. */
export type StackConfig = Readonly<ReturnType<typeof loadStackConfig>>;

/** The configuration of `genway secrets`. */
export type SecretsConfig = Readonly<ReturnType<typeof loadSecretsConfig>>;

/** The configuration of `genway recover`: the database, Temporal and the file store. */
export type RecoveryConfig = Readonly<ReturnType<typeof loadRecoveryConfig>>;

/** The operator's files, and the address of the simulator that stands in for upstreams. */
export type FilesConfig = Readonly<ReturnType<typeof loadFilesConfig>>;

/** The address and the token with which the `genway` command calls the administration endpoints. */
export type CommandConfig = Readonly<ReturnType<typeof loadCommandConfig>>;

/** The environment contains values with which Genway cannot run. The message lists each value and what to do. */
export class ConfigurationError extends OperatorError {
  override readonly name = 'ConfigurationError';

  constructor(mistakes: readonly string[]) {
    super(`The configuration is not usable:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`);
  }
}

/**
 * Reads and checks the configuration of one process.
 *
 * @throws ConfigurationError naming every variable that is missing or invalid
 */
export function loadConfig(env: Environment = process.env) {
  const { values } = readVariables(env, isRequired, mistakesAcross);
  return {
    /** Whether the process runs as in the image: `NODE_ENV`, the variable of Node's packages. */
    isProduction: env['NODE_ENV'] === 'production',
    unreadVariables: unreadVariables(env),
    /** The address on which the HTTP servers listen. */
    host: values.GENWAY_HOST,
    api: {
      port: values.GENWAY_API_PORT,
      /** The URL at which clients reach the api process, without a trailing slash. */
      publicUrl: publicUrlOf(values),
    },
    text: textOf(values),
    worker: workerOf(values),
    database: databaseOf(values),
    temporal: temporalOf(values),
    secrets: {
      /** The administration tokens from the environment, which need no database. */
      adminTokens: values.GENWAY_ADMIN_TOKEN,
      metricsToken: values.GENWAY_METRICS_TOKEN ?? values.GENWAY_ADMIN_TOKEN[0],
      ...secretsOf(values),
    },
    storage: storageOf(values),
    ...filesOf(values, env),
    /** The mail server and the sender, if Genway sends e-mail. */
    mail:
      values.GENWAY_SMTP_URL && values.GENWAY_MAIL_FROM
        ? { smtpUrl: values.GENWAY_SMTP_URL, from: values.GENWAY_MAIL_FROM }
        : undefined,
    payments: paymentsOf(values),
    /** The moderation service, if any. */
    moderation: values.GENWAY_MODERATION_URL
      ? { url: values.GENWAY_MODERATION_URL, key: values.GENWAY_MODERATION_KEY }
      : undefined,
    /** The service for searches of the web, if any. */
    search: values.GENWAY_SEARCH ? { url: values.GENWAY_SEARCH, token: values.GENWAY_SEARCH_TOKEN ?? null } : undefined,
    limits: {
      requestsPerMinute: values.GENWAY_RATE_LIMIT_RPM,
      concurrentTasks: values.GENWAY_MAX_CONCURRENT_TASKS,
    },
    tasks: {
      /** The interval between polls, overriding adapters and upstreams; null to let them decide. */
      pollIntervalMs: values.GENWAY_POLL_MS ?? null,
      deadlineMs: values.GENWAY_TASK_DEADLINE_S * 1000,
      providerPatienceMs: values.GENWAY_PROVIDER_PATIENCE_S * 1000,
    },
    webhooks: {
      /** The wait before each attempt of a delivery. */
      scheduleMs: values.GENWAY_WEBHOOK_SCHEDULE_S.map((seconds) => seconds * 1000),
    },
    edge: {
      trustedProxies: values.GENWAY_TRUSTED_PROXIES,
      allowPrivateAddresses: values.GENWAY_ALLOW_PRIVATE_ADDRESSES,
      rejectedUserAgents: values.GENWAY_REJECTED_USER_AGENTS,
    },
    /** The collector of traces; without an endpoint, tracing is off. */
    tracing: { endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT, ratio: values.OTEL_TRACES_SAMPLER_ARG },
    logLevel: values.GENWAY_LOG_LEVEL,
    /** How long a stopping process still accepts requests. */
    drainMs: values.GENWAY_DRAIN_S * 1000,
    shutdownGraceMs: graceMsOf(values, GRACE_MS),
    /** How long a stopping worker waits for renders whose answers are the files. */
    renderGraceMs: graceMsOf(values, RENDER_GRACE_MS),
  };
}

/**
 * Reads the configuration of a process that only uses the database.
 *
 * @throws ConfigurationError naming every variable that is missing or invalid
 */
export function loadDatabaseConfig(env: Environment = process.env) {
  return databaseOf(readVariables(env, (name) => name === 'DATABASE_URL').values);
}

/** @throws ConfigurationError naming every variable that is missing or invalid */
export function loadSecretsConfig(env: Environment = process.env) {
  const needed = new Set(['DATABASE_URL', 'GENWAY_KEY_PEPPER', 'GENWAY_ENCRYPTION_KEY']);
  const { values } = readVariables(env, (name) => needed.has(name));
  return { database: databaseOf(values), secrets: secretsOf(values) };
}

/** @throws ConfigurationError naming every variable that is missing or invalid */
export function loadRecoveryConfig(env: Environment = process.env) {
  const { values } = readVariables(env, (name) => name === 'DATABASE_URL', mistakesAcross);
  return {
    database: databaseOf(values),
    temporal: temporalOf(values),
    storage: storageOf(values),
    api: { publicUrl: publicUrlOf(values) },
  };
}

/** Reads the configuration of `genway replay`. @throws ConfigurationError naming every variable that is invalid */
export function loadReplayConfig(env: Environment = process.env) {
  const { workflowBundle } = workerOf(readVariables(env).values);
  return { workflowBundle };
}

/**
 * Reads the simulator's configuration, which contains no secrets of Genway.
 *
 * @throws ConfigurationError naming every variable that is invalid
 */
export function loadSimulatorConfig(env: Environment = process.env) {
  const { values } = readVariables(env);
  return {
    host: values.GENWAY_HOST,
    simulator: simulatorOf(values),
    logLevel: values.GENWAY_LOG_LEVEL,
    shutdownGraceMs: graceMsOf(values, GRACE_MS),
  };
}

/** For streams. */
const GRACE_MS = 120_000;
/** Longer than any upstream takes that returns the files in the answer. */
const RENDER_GRACE_MS = 300_000;
/** Short, because a person waits after Ctrl-C. */
const STACK_GRACE_MS = 10_000;
/** Short, because the simulated upstream never changes its answer. */
const STACK_PROVIDER_PATIENCE_MS = 5_000;

/**
 * Reads the configuration of `npm start` itself. Variables that `npm start` sets for its processes, such as secrets,
 * may be missing.
 *
 * @throws ConfigurationError naming every variable that is invalid
 */
export function loadStackConfig(env: Environment = process.env) {
  const { values, given } = readVariables(env);
  const { DATABASE_URL: databaseUrl, GENWAY_ADMIN_TOKEN: adminTokens }: Partial<Values> = values;
  const { GENWAY_KEY_PEPPER: keyPeppers, GENWAY_ENCRYPTION_KEY: encryptionKeys }: Partial<Values> = values;
  return {
    /** The state folder. */
    home: resolve(values.GENWAY_HOME),
    /** The folder that keeps a Temporal server across runs and projects. */
    cacheFolder: join(homedir(), '.cache/genway'),
    ports: {
      api: values.GENWAY_API_PORT,
      text: values.GENWAY_TEXT_PORT,
      simulator: values.GENWAY_SIMULATOR_PORT,
      postgres: values.GENWAY_POSTGRES_PORT,
      temporal: values.TEMPORAL_PORT,
      temporalUi: values.TEMPORAL_UI_PORT,
    },
    /** A database to use instead of the stack's own. */
    databaseUrl,
    /** A Temporal server to use instead of the stack's own. */
    temporal: given.has('TEMPORAL_ADDRESS')
      ? { address: values.TEMPORAL_ADDRESS, uiUrl: values.TEMPORAL_UI_URL }
      : undefined,
    temporalNamespace: values.TEMPORAL_NAMESPACE,
    /** Secrets to use instead of the generated ones. */
    secrets: {
      adminToken: adminTokens?.join(','),
      keyPepper: keyPeppers?.join(','),
      encryptionKey: encryptionKeys?.join(','),
    },
    /** The simulator moderates, unless there is another moderation service. */
    moderationUrl: values.GENWAY_MODERATION_URL ?? `${simulatorOf(values).url}/v1/moderations`,
    /** The simulator searches the web for its own models, unless there is another search service. */
    searchUrl: values.GENWAY_SEARCH ?? (values.GENWAY_PROVIDERS ? undefined : `${simulatorOf(values).url}/search`),
    /** The seller on receipts and invoices. */
    seller: (values.GENWAY_SELLER ?? ['Genway on this machine']).join(' | '),
    shutdownGraceMs: graceMsOf(values, STACK_GRACE_MS),
    providerPatienceMs: given.has('GENWAY_PROVIDER_PATIENCE_S')
      ? values.GENWAY_PROVIDER_PATIENCE_S * 1000
      : STACK_PROVIDER_PATIENCE_MS,
  };
}

/** @throws ConfigurationError naming every variable that is invalid */
export function loadFilesConfig(env: Environment = process.env) {
  return filesOf(readVariables(env).values, env);
}

/** @throws ConfigurationError naming every variable that is invalid */
export function loadCommandConfig(env: Environment = process.env) {
  const { values } = readVariables(env);
  const { GENWAY_ADMIN_TOKEN: adminTokens }: Partial<Values> = values;
  return {
    baseUrl: values.GENWAY_ADMIN_URL ?? publicUrlOf(values),
    /** If undefined, the command uses the token of the running local stack. */
    adminToken: adminTokens?.[0],
    /** The state folder of the local stack. */
    home: resolve(values.GENWAY_HOME),
  };
}

/** The environment for a child process: the inherited one, overridden by `additions`. */
export function childEnvironment(
  additions: Readonly<Partial<Record<VariableName, string>>>,
  env: Environment = process.env,
): NodeJS.ProcessEnv {
  return { ...env, ...additions };
}

/** The names of variables that look like Genway's, and that no program reads: probably misspelt. */
function unreadVariables(env: Environment): readonly string[] {
  const known = new Set(Object.values(VARIABLE_GROUPS).flatMap(Object.keys));
  return Object.keys(env).filter((name) => LIKE_GENWAYS.test(name) && !known.has(name));
}

/** The tests have variables of their own. */
const LIKE_GENWAYS = /^GENWAY_(?!TEST_)/;

interface Reading {
  /** Lacks variables that are not set and have no default. */
  readonly values: Values;
  /** The names of the variables that the environment sets. */
  readonly given: ReadonlySet<string>;
}

function isRequired(_name: string, { required }: Variable): boolean {
  return required;
}

/**
 * Reads all variables. An empty variable counts as unset, except that an empty secret is an error.
 *
 * @param mustBeSet whether the caller needs the variable; by default the caller needs none
 * @param findMistakes finds further errors
 * @throws ConfigurationError naming every variable that is missing or invalid
 */
function readVariables(
  env: Environment,
  mustBeSet: (name: string, row: Variable) => boolean = () => false,
  findMistakes: (values: Values) => readonly string[] = () => [],
): Reading {
  const values: Record<string, unknown> = {};
  const mistakes: string[] = [];
  const given = new Set<string>();
  const rows: [string, Variable][] = Object.values(VARIABLE_GROUPS).flatMap((group) => Object.entries(group));
  for (const [name, row] of rows) {
    const { kind, meaning, defaultText } = row;
    const found = env[name];
    if (found) given.add(name);
    const text = found || defaultText;
    if (kind.refusesEmpty && found === '') {
      mistakes.push(`${name} is empty: set it to ${kind.form}. ${meaning}`);
    } else if (text === undefined) {
      if (mustBeSet(name, row)) mistakes.push(`${name} is not set: set it to ${kind.form}. ${meaning}`);
    } else {
      const { value, error } = kind.schema.validate(kind.parse(text), { convert: false });
      if (error) mistakes.push(`${name} ${kind.hidden ? '' : `is "${text}" but `}must be ${kind.form}. ${meaning}`);
      else values[name] = value;
    }
  }
  const found = values as Values;
  mistakes.push(...findMistakes(found));
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return { values: found, given };
}

/** Finds errors in combinations of variables. */
function mistakesAcross(values: Values): string[] {
  const needs: readonly [boolean, VariableName, string][] = [
    [values.GENWAY_S3_BUCKET !== undefined, 'GENWAY_S3_PUBLIC_URL', 'GENWAY_S3_BUCKET'],
    [values.GENWAY_SMTP_URL !== undefined, 'GENWAY_MAIL_FROM', 'GENWAY_SMTP_URL'],
  ];
  return needs
    .filter(([needed, name]) => needed && values[name] === undefined)
    .map(([, name, cause]) => `${name} is not set, but ${cause} requires it.`);
}

function textOf(values: Values) {
  return {
    port: values.GENWAY_TEXT_PORT,
    /** The number of processes that serve the port; `auto` for a number by the available cores. */
    processes: values.GENWAY_TEXT_PROCESSES,
    cutoffMs: values.GENWAY_TEXT_CUTOFF_S * 1000,
  };
}

function workerOf(values: Values) {
  return {
    /** The file with the workflows bundled at build time, if any. */
    workflowBundle: values.GENWAY_WORKFLOW_BUNDLE,
    /** The port for health checks and metrics, if any. */
    port: values.GENWAY_WORKER_PORT,
    /** The version of the worker's code in Temporal; without one, workers are not versioned. */
    version: values.GENWAY_WORKER_BUILD_ID
      ? { deploymentName: WORKER_DEPLOYMENT, buildId: values.GENWAY_WORKER_BUILD_ID }
      : undefined,
  };
}

function databaseOf(values: Values) {
  return { url: values.DATABASE_URL, poolSize: values.GENWAY_DATABASE_POOL };
}

function secretsOf(values: Values) {
  return {
    /** The peppers of stored API keys; new keys use the first. */
    keyPeppers: mapEach(values.GENWAY_KEY_PEPPER, (pepper) => Buffer.from(pepper)),
    /** The encryption keys of stored secrets, 32 bytes each; new secrets use the first. */
    encryptionKeys: mapEach(values.GENWAY_ENCRYPTION_KEY, (key) => Buffer.from(key, 'hex')),
  };
}

function mapEach<From, To>([first, ...others]: OneOrMore<From>, convert: (item: From) => To): OneOrMore<To> {
  return [convert(first), ...others.map(convert)];
}

function graceMsOf({ GENWAY_SHUTDOWN_GRACE_S: seconds }: Values, defaultMs: number): number {
  return seconds === undefined ? defaultMs : seconds * 1000;
}

function paymentsOf(values: Values) {
  return {
    /** The secret with which the payment provider signs its events; without it, Genway accepts no events. */
    webhookSecret: values.GENWAY_PAYMENT_WEBHOOK_SECRET,
    /** Stripe's secret key; without it, the console does not ask for amounts. */
    stripeKey: values.GENWAY_STRIPE_SECRET_KEY,
    /** The payment page, with a placeholder for the id of the account; without it, the console has no link to one. */
    topUpUrl: values.GENWAY_TOP_UP_URL,
    seller: sellerOf(values),
    /** Manual adjustments above this amount require a second approval; null to never require one. */
    secondApprovalAbove:
      values.GENWAY_SECOND_APPROVAL_USD === undefined ? null : parseUsd(values.GENWAY_SECOND_APPROVAL_USD),
  };
}

/** The start of the line with the tax number in GENWAY_SELLER. */
const TAX_ID = 'Tax ID:';

/** The seller on receipts and invoices; null to issue none. */
function sellerOf(values: Values): Seller | null {
  const [name, ...lines] = values.GENWAY_SELLER ?? [];
  if (name === undefined) return null;
  const taxLine = lines.find((line) => line.startsWith(TAX_ID));
  const { point, taxes } = values.GENWAY_TAXES ?? { point: 'paid', taxes: [] };
  return {
    name,
    address: lines.filter((line) => line !== taxLine),
    taxId: taxLine?.slice(TAX_ID.length).trim() ?? null,
    taxes,
    taxPoint: point,
  };
}

function filesOf(values: Values, env: Environment) {
  return {
    /** Reads any variable, for variables that operators name in their files. */
    readVariable: (name: string): string | undefined => env[name],
    /** The file with the models; Genway's own catalogue if undefined. */
    catalogueFile: values.GENWAY_CATALOGUE,
    /** The file about the site; Genway's own name and look if undefined. */
    siteFile: values.GENWAY_SITE,
    providers: {
      /** The file with the upstreams; without one, the simulator serves every model. */
      routesFile: values.GENWAY_PROVIDERS,
      /** Whether Genway asks upstreams to announce the end of their jobs. */
      callbacks: values.GENWAY_PROVIDER_CALLBACKS,
    },
    simulator: simulatorOf(values),
  };
}

function publicUrlOf(values: Values): string {
  return values.GENWAY_PUBLIC_URL ?? `http://127.0.0.1:${values.GENWAY_API_PORT}`;
}

function temporalOf(values: Values) {
  const { TEMPORAL_TLS: tls, TEMPORAL_API_KEY: apiKey } = values;
  const folder = tls === 'true' || tls === 'false' ? undefined : tls;
  const isEncrypted = tls !== 'false' || apiKey !== undefined;
  return {
    address: values.TEMPORAL_ADDRESS,
    namespace: values.TEMPORAL_NAMESPACE,
    apiKey,
    /** TLS, if any; the folder may have certificates. */
    tls: isEncrypted ? { folder } : undefined,
    uiUrl: values.TEMPORAL_UI_URL,
  };
}

function simulatorOf(values: Values) {
  const port = values.GENWAY_SIMULATOR_PORT;
  return {
    port,
    url: values.GENWAY_SIMULATOR_URL ?? `http://127.0.0.1:${port}`,
    key: SIMULATOR_KEY,
    callbackSecret: SIMULATOR_CALLBACK_SECRET,
  };
}

function storageOf(values: Values) {
  const { GENWAY_S3_BUCKET: bucket, GENWAY_S3_ENDPOINT: endpoint } = values;
  if (bucket === undefined) return { kind: 'local' as const, folder: resolve(values.GENWAY_HOME, 'files') };
  return {
    kind: 's3' as const,
    bucket,
    publicUrl: values.GENWAY_S3_PUBLIC_URL ?? '',
    endpoint: endpoint?.replace(BUCKET_PLACE, ''),
    forcePathStyle: endpoint !== undefined && !endpoint.includes(BUCKET_PLACE),
  };
}
