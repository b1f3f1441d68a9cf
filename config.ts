/**
 * The configuration, read from the environment once at start. This is the only file that reads `process.env`; the
 * variables, their defaults and meanings are in `config-variables.ts` and, for readers, in `docs/configuration.md`.
 */
import { join, resolve } from 'node:path';
import type { Seller } from './domain/billing-document.ts';
import { parseUsd, type PicoUsd } from './domain/money.ts';
import { OperatorError } from './domain/operator-error.ts';
import { VARIABLE_GROUPS, type ValueOf, type Variable, type VariableName, type Variables } from './config-variables.ts';

const BYTES_PER_MB = 2 ** 20;

/** Reads any environment variable, for variables that operators name in their files. */
export function readVariable(name: string): string | undefined {
  return process.env[name];
}

export type OneOrMore<Item> = readonly [Item, ...Item[]];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration of the processes api, text, worker, simulator and migrate. Durations are in milliseconds. */
export interface Config {
  /** The address on which the HTTP servers listen. */
  readonly host: string;
  readonly api: {
    readonly port: number;
    /** The URL at which clients reach the api process, without a trailing slash. */
    readonly publicUrl: string;
  };
  readonly text: {
    readonly port: number;
    /** The number of processes that serve the port. */
    readonly processes: number;
    readonly cutoffMs: number;
    /** How long Genway reads on after the client has disconnected. */
    readonly readOnMs: number;
    /** How long an upstream may be silent. */
    readonly silenceMs: number;
  };
  readonly worker: {
    /** The file with the workflows bundled at build time, if any. */
    readonly workflowBundle: string | undefined;
    /** The port for health checks and metrics, if any. */
    readonly port: number | undefined;
    /** The version of the worker's code in Temporal; without one, workers are not versioned. */
    readonly version: { readonly deploymentName: string; readonly buildId: string } | undefined;
  };
  readonly database: { readonly url: string; readonly poolSize: number };
  readonly temporal: TemporalConfig;
  readonly secrets: {
    /** The administration tokens from the environment, which need no database. */
    readonly adminTokens: readonly string[];
    readonly metricsToken: string;
    /** The peppers of stored API keys; new keys use the first. */
    readonly keyPeppers: OneOrMore<Buffer>;
    /** The encryption keys of stored secrets, 32 bytes each; new secrets use the first. */
    readonly encryptionKeys: OneOrMore<Buffer>;
  };
  readonly storage: StorageConfig;
  readonly uploads: {
    /** The storage quotas of accounts, before and after their first top-up. */
    readonly neverToppedUp: { readonly bytes: number; readonly files: number };
    readonly toppedUp: { readonly bytes: number; readonly files: number };
    /** How long Genway keeps an unused upload. */
    readonly expiryMs: number;
  };
  /** The file with the models; Genway's own catalogue if undefined. */
  readonly catalogueFile: string | undefined;
  readonly providers: {
    /** The file with the upstreams; without one, the simulator serves every model. */
    readonly routesFile: string | undefined;
    /** Whether Genway asks upstreams to announce the end of their jobs. */
    readonly callbacks: boolean;
  };
  readonly simulator: { readonly port: number; readonly url: string; readonly key: string };
  readonly payments: {
    /** The secret with which the payment provider signs its events; without it, Genway accepts no events. */
    readonly webhookSecret: string | undefined;
    /** Stripe's secret key; without it, the console does not ask for amounts. */
    readonly stripeKey: string | undefined;
    /** The payment page, with a placeholder for the id of the account; without it, the console has no link to one. */
    readonly topUpUrl: string | undefined;
    /** The seller on receipts and invoices; null to issue none. */
    readonly seller: Seller | null;
    /** Manual adjustments above this amount require a second approval; null to never require one. */
    readonly secondApprovalAbove: PicoUsd | null;
  };
  /** The provider of OpenID Connect, if any. */
  readonly openId:
    | {
        readonly issuer: string;
        readonly clientId: string;
        readonly clientSecret: string;
        readonly name: string;
        /** Whether Genway relies on the provider to ask for a second factor. */
        readonly asksSecondFactor: boolean;
      }
    | undefined;
  /** The mail server and the sender, if Genway sends e-mail. */
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined;
  /** The moderation service, if any. */
  readonly moderation: { readonly url: string; readonly key: string | undefined } | undefined;
  readonly limits: {
    readonly requestsPerMinute: number;
    /** The limit for reads. */
    readonly readsPerMinute: number;
    readonly concurrentTasks: number;
  };
  readonly tasks: {
    /** The interval between polls, overriding adapters and upstreams; null to let them decide. */
    readonly pollIntervalMs: number | null;
    readonly deadlineMs: number;
    readonly providerPatienceMs: number;
  };
  readonly webhooks: {
    /** The wait before each attempt of a delivery. */
    readonly scheduleMs: readonly number[];
  };
  readonly edge: {
    readonly trustedProxies: number;
    readonly allowPrivateAddresses: boolean;
    readonly rejectedUserAgents: readonly string[];
  };
  /** The collector of traces; without an endpoint, tracing is off. */
  readonly tracing: { readonly endpoint: string | undefined; readonly ratio: number };
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly shutdownGraceMs: number;
  /** How long a stopping worker waits for renders whose answers are the files. */
  readonly renderGraceMs: number;
}

export interface TemporalConfig {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey: string | undefined;
  /** TLS, if any; the files are in PEM. */
  readonly tls: TemporalTlsConfig | undefined;
  readonly uiUrl: string;
}

export interface TemporalTlsConfig {
  readonly serverCaCertPath: string | undefined;
  readonly client: { readonly certPath: string; readonly keyPath: string } | undefined;
}

export type StorageConfig =
  | { readonly kind: 'local'; readonly folder: string }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      readonly publicUrl: string;
      readonly region: string;
      readonly endpoint: string | undefined;
      readonly forcePathStyle: boolean;
      readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
    };

/** The configuration of `npm start` itself, which sets the {@link Config} of its processes. */
export interface StackConfig {
  /** The state folder. */
  readonly home: string;
  /** The folder that keeps a Temporal server across runs and projects. */
  readonly cacheFolder: string;
  readonly ports: {
    readonly api: number;
    readonly text: number;
    readonly simulator: number;
    readonly postgres: number;
    readonly temporal: number;
    readonly temporalUi: number;
  };
  /** A database to use instead of the stack's own. */
  readonly databaseUrl: string | undefined;
  /** A Temporal server to use instead of the stack's own. */
  readonly temporal: { readonly address: string; readonly uiUrl: string } | undefined;
  readonly temporalNamespace: string;
  /** Secrets to use instead of the generated ones. */
  readonly secrets: {
    readonly adminToken: string | undefined;
    readonly keyPepper: string | undefined;
    readonly encryptionKey: string | undefined;
  };
  /** The seller on receipts and invoices. */
  readonly seller: string;
  /** The worker's patience; short, because the simulated upstream never changes its answer. */
  readonly providerPatienceMs: number;
  readonly shutdownGraceMs: number;
}

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
export function loadConfig(env: Environment = process.env): Config {
  const { values, mistakes } = readVariables(env, isRequired);
  mistakes.push(...mistakesAcross(values));
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    host: values.GENWAY_HOST,
    api: {
      port: values.GENWAY_API_PORT,
      publicUrl: publicUrlOf(values),
    },
    text: {
      port: values.GENWAY_TEXT_PORT,
      processes: values.GENWAY_TEXT_PROCESSES,
      cutoffMs: values.GENWAY_TEXT_CUTOFF_S * 1000,
      readOnMs: values.GENWAY_TEXT_READ_ON_S * 1000,
      silenceMs: values.GENWAY_TEXT_SILENCE_S * 1000,
    },
    worker: {
      workflowBundle: values.GENWAY_WORKFLOW_BUNDLE,
      port: values.GENWAY_WORKER_PORT,
      version: values.GENWAY_WORKER_BUILD_ID
        ? { deploymentName: values.GENWAY_WORKER_DEPLOYMENT, buildId: values.GENWAY_WORKER_BUILD_ID }
        : undefined,
    },
    database: { url: values.DATABASE_URL, poolSize: values.GENWAY_DATABASE_POOL },
    temporal: temporalConfig(values),
    secrets: {
      adminTokens: adminTokensOf(values),
      metricsToken: values.GENWAY_METRICS_TOKEN ?? values.GENWAY_ADMIN_TOKEN,
      ...secretsConfig(values),
    },
    storage: storageConfig(values),
    uploads: uploadsConfig(values),
    ...filesConfig(values),
    openId: openIdConfig(values),
    mail:
      values.GENWAY_SMTP_URL && values.GENWAY_MAIL_FROM
        ? { smtpUrl: values.GENWAY_SMTP_URL, from: values.GENWAY_MAIL_FROM }
        : undefined,
    payments: paymentsConfig(values),
    moderation: values.GENWAY_MODERATION_URL
      ? { url: values.GENWAY_MODERATION_URL, key: values.GENWAY_MODERATION_KEY }
      : undefined,
    limits: {
      requestsPerMinute: values.GENWAY_RATE_LIMIT_RPM,
      readsPerMinute: values.GENWAY_READ_RATE_LIMIT_RPM,
      concurrentTasks: values.GENWAY_MAX_CONCURRENT_TASKS,
    },
    tasks: {
      pollIntervalMs: values.GENWAY_POLL_MS ?? null,
      deadlineMs: values.GENWAY_TASK_DEADLINE_S * 1000,
      providerPatienceMs: values.GENWAY_PROVIDER_PATIENCE_S * 1000,
    },
    webhooks: { scheduleMs: values.GENWAY_WEBHOOK_SCHEDULE_S.map((seconds) => seconds * 1000) },
    edge: {
      trustedProxies: values.GENWAY_TRUSTED_PROXIES,
      allowPrivateAddresses: values.GENWAY_ALLOW_PRIVATE_ADDRESSES,
      rejectedUserAgents: values.GENWAY_REJECTED_USER_AGENTS,
    },
    tracing: { endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT, ratio: values.OTEL_TRACES_SAMPLER_ARG },
    logLevel: values.GENWAY_LOG_LEVEL,
    shutdownGraceMs: values.GENWAY_SHUTDOWN_GRACE_S * 1000,
    renderGraceMs: values.GENWAY_RENDER_GRACE_S * 1000,
  };
}

/**
 * Reads the configuration of a process that only uses the database.
 *
 * @throws ConfigurationError naming every variable that is missing or invalid
 */
export function loadDatabaseConfig(env: Environment = process.env): Config['database'] {
  const { values, mistakes } = readVariables(env, (name) => name === 'DATABASE_URL');
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return { url: values.DATABASE_URL, poolSize: values.GENWAY_DATABASE_POOL };
}

/** The configuration of `genway secrets`. */
export type SecretsConfig = Pick<Config, 'database'> & {
  readonly secrets: Pick<Config['secrets'], 'keyPeppers' | 'encryptionKeys'>;
};

/** @throws ConfigurationError naming every variable that is missing or invalid */
export function loadSecretsConfig(env: Environment = process.env): SecretsConfig {
  const needed = new Set(['DATABASE_URL', 'GENWAY_KEY_PEPPER', 'GENWAY_ENCRYPTION_KEY']);
  const { values, mistakes } = readVariables(env, (name) => needed.has(name));
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    database: { url: values.DATABASE_URL, poolSize: values.GENWAY_DATABASE_POOL },
    secrets: secretsConfig(values),
  };
}

/** The configuration of `genway recover`: the database, Temporal and the file store. */
export type RecoveryConfig = Pick<Config, 'database' | 'temporal' | 'storage'> & {
  readonly api: Pick<Config['api'], 'publicUrl'>;
};

/** @throws ConfigurationError naming every variable that is missing or invalid */
export function loadRecoveryConfig(env: Environment = process.env): RecoveryConfig {
  const { values, mistakes } = readVariables(env, (name) => name === 'DATABASE_URL');
  mistakes.push(...mistakesAcross(values));
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    database: { url: values.DATABASE_URL, poolSize: values.GENWAY_DATABASE_POOL },
    temporal: temporalConfig(values),
    storage: storageConfig(values),
    api: { publicUrl: publicUrlOf(values) },
  };
}

/**
 * Reads the simulator's configuration, which contains no secrets of Genway.
 *
 * @throws ConfigurationError naming every variable that is invalid
 */
export function loadSimulatorConfig(
  env: Environment = process.env,
): Pick<Config, 'host' | 'simulator' | 'logLevel' | 'shutdownGraceMs'> {
  const { values, mistakes } = readVariables(env, () => false);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    host: values.GENWAY_HOST,
    simulator: simulatorConfig(values),
    logLevel: values.GENWAY_LOG_LEVEL,
    shutdownGraceMs: values.GENWAY_SHUTDOWN_GRACE_S * 1000,
  };
}

/** Short, because a person waits after Ctrl-C. */
const STACK_GRACE_MS = 10_000;
const STACK_PROVIDER_PATIENCE_MS = 5_000;

/**
 * Reads the configuration of `npm start` itself. Variables that `npm start` sets for its processes, such as secrets,
 * may be missing.
 *
 * @throws ConfigurationError naming every variable that is invalid
 */
export function loadStackConfig(env: Environment = process.env): StackConfig {
  const { values, mistakes, given } = readVariables(env, () => false);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    home: resolve(values.GENWAY_HOME),
    cacheFolder: join(values.XDG_CACHE_HOME, 'genway'),
    ports: {
      api: values.GENWAY_API_PORT,
      text: values.GENWAY_TEXT_PORT,
      simulator: values.GENWAY_SIMULATOR_PORT,
      postgres: values.GENWAY_POSTGRES_PORT,
      temporal: values.TEMPORAL_PORT,
      temporalUi: values.TEMPORAL_UI_PORT,
    },
    databaseUrl: values.DATABASE_URL,
    temporal: given.has('TEMPORAL_ADDRESS')
      ? { address: values.TEMPORAL_ADDRESS, uiUrl: values.TEMPORAL_UI_URL }
      : undefined,
    temporalNamespace: values.TEMPORAL_NAMESPACE,
    secrets: {
      adminToken: values.GENWAY_ADMIN_TOKEN,
      keyPepper: values.GENWAY_KEY_PEPPER,
      encryptionKey: values.GENWAY_ENCRYPTION_KEY,
    },
    seller: (values.GENWAY_SELLER ?? ['Genway on this machine']).join(' | '),
    shutdownGraceMs: given.has('GENWAY_SHUTDOWN_GRACE_S') ? values.GENWAY_SHUTDOWN_GRACE_S * 1000 : STACK_GRACE_MS,
    providerPatienceMs: given.has('GENWAY_PROVIDER_PATIENCE_S')
      ? values.GENWAY_PROVIDER_PATIENCE_S * 1000
      : STACK_PROVIDER_PATIENCE_MS,
  };
}

/** The address and the token with which the `genway` command calls the administration endpoints. */
export interface CommandConfig {
  readonly baseUrl: string;
  /** If undefined, the command uses the token of the running local stack. */
  readonly adminToken: string | undefined;
  /** The state folder of the local stack. */
  readonly home: string;
}

/** The operator's files, and the address of the simulator that stands in for upstreams. */
export type FilesConfig = Pick<Config, 'catalogueFile' | 'providers' | 'simulator'>;

/** @throws ConfigurationError naming every variable that is invalid */
export function loadFilesConfig(env: Environment = process.env): FilesConfig {
  const { values, mistakes } = readVariables(env, () => false);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return filesConfig(values);
}

/** @throws ConfigurationError naming every variable that is invalid */
export function loadCommandConfig(env: Environment = process.env): CommandConfig {
  const { values, mistakes } = readVariables(env, () => false);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return {
    baseUrl: values.GENWAY_ADMIN_URL ?? publicUrlOf(values),
    adminToken: values.GENWAY_ADMIN_TOKEN,
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

type Values = { readonly [Name in VariableName]: ValueOf<Variables[Name]> };

interface Reading {
  /** Lacks variables that are invalid, and optional variables that are not set. */
  readonly values: Values;
  readonly mistakes: string[];
  /** The names of the variables that the environment sets. */
  readonly given: ReadonlySet<string>;
}

function isRequired(_name: string, { required }: Variable): boolean {
  return required;
}

/** Reads all variables. An empty variable counts as unset, except that an empty secret is an error. */
function readVariables(env: Environment, mustBeSet: (name: string, row: Variable) => boolean): Reading {
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
  return { values: values as Values, mistakes, given };
}

/** Finds errors in combinations of variables. */
function mistakesAcross(values: Values): string[] {
  const needs: readonly [boolean, VariableName, string][] = [
    [values.GENWAY_STORAGE === 's3', 'GENWAY_S3_BUCKET', 'GENWAY_STORAGE=s3'],
    [values.GENWAY_STORAGE === 's3', 'GENWAY_S3_PUBLIC_URL', 'GENWAY_STORAGE=s3'],
    [values.GENWAY_S3_ACCESS_KEY_ID !== undefined, 'GENWAY_S3_SECRET_ACCESS_KEY', 'GENWAY_S3_ACCESS_KEY_ID'],
    [values.GENWAY_S3_SECRET_ACCESS_KEY !== undefined, 'GENWAY_S3_ACCESS_KEY_ID', 'GENWAY_S3_SECRET_ACCESS_KEY'],
    [values.GENWAY_OIDC_ISSUER !== undefined, 'GENWAY_OIDC_CLIENT_ID', 'GENWAY_OIDC_ISSUER'],
    [values.GENWAY_OIDC_ISSUER !== undefined, 'GENWAY_OIDC_CLIENT_SECRET', 'GENWAY_OIDC_ISSUER'],
    [values.GENWAY_SMTP_URL !== undefined, 'GENWAY_MAIL_FROM', 'GENWAY_SMTP_URL'],
    [
      values.TEMPORAL_TLS_CLIENT_CERT_PATH !== undefined,
      'TEMPORAL_TLS_CLIENT_KEY_PATH',
      'TEMPORAL_TLS_CLIENT_CERT_PATH',
    ],
    [
      values.TEMPORAL_TLS_CLIENT_KEY_PATH !== undefined,
      'TEMPORAL_TLS_CLIENT_CERT_PATH',
      'TEMPORAL_TLS_CLIENT_KEY_PATH',
    ],
  ];
  return needs
    .filter(([needed, name]) => needed && values[name] === undefined)
    .map(([, name, cause]) => `${name} is not set, but ${cause} requires it.`);
}

function secretsConfig(values: Values): Pick<Config['secrets'], 'keyPeppers' | 'encryptionKeys'> {
  const { GENWAY_KEY_PEPPER_ALSO: otherPepper, GENWAY_ENCRYPTION_KEY_ALSO: otherKey } = values;
  return {
    keyPeppers: [Buffer.from(values.GENWAY_KEY_PEPPER), ...(otherPepper ? [Buffer.from(otherPepper)] : [])],
    encryptionKeys: [
      Buffer.from(values.GENWAY_ENCRYPTION_KEY, 'hex'),
      ...(otherKey ? [Buffer.from(otherKey, 'hex')] : []),
    ],
  };
}

function adminTokensOf({ GENWAY_ADMIN_TOKEN: token, GENWAY_ADMIN_TOKEN_ALSO: other }: Values): readonly string[] {
  return other === undefined ? [token] : [token, other];
}

function openIdConfig(values: Values): Config['openId'] {
  const {
    GENWAY_OIDC_ISSUER: issuer,
    GENWAY_OIDC_CLIENT_ID: clientId,
    GENWAY_OIDC_CLIENT_SECRET: clientSecret,
  } = values;
  if (!issuer || !clientId || !clientSecret) return undefined;
  const asksSecondFactor = values.GENWAY_OIDC_SECOND_FACTOR === 'provider';
  return { issuer, clientId, clientSecret, name: values.GENWAY_OIDC_NAME ?? new URL(issuer).host, asksSecondFactor };
}

function paymentsConfig(values: Values): Config['payments'] {
  return {
    webhookSecret: values.GENWAY_PAYMENT_WEBHOOK_SECRET,
    stripeKey: values.GENWAY_STRIPE_SECRET_KEY,
    topUpUrl: values.GENWAY_TOP_UP_URL,
    seller: sellerOf(values),
    secondApprovalAbove:
      values.GENWAY_SECOND_APPROVAL_USD === undefined ? null : parseUsd(values.GENWAY_SECOND_APPROVAL_USD),
  };
}

function sellerOf(values: Values): Seller | null {
  const [name, ...address] = values.GENWAY_SELLER ?? [];
  if (name === undefined) return null;
  return {
    name,
    address,
    taxId: values.GENWAY_SELLER_TAX_ID ?? null,
    taxes: values.GENWAY_TAXES ?? [],
    taxPoint: values.GENWAY_TAX_POINT,
  };
}

function uploadsConfig(values: Values): Config['uploads'] {
  return {
    neverToppedUp: {
      bytes: values.GENWAY_UPLOAD_QUOTA_MB_UNPAID * BYTES_PER_MB,
      files: values.GENWAY_UPLOAD_QUOTA_FILES_UNPAID,
    },
    toppedUp: { bytes: values.GENWAY_UPLOAD_QUOTA_MB * BYTES_PER_MB, files: values.GENWAY_UPLOAD_QUOTA_FILES },
    expiryMs: values.GENWAY_UPLOAD_EXPIRY_S * 1000,
  };
}

function filesConfig(values: Values): FilesConfig {
  return {
    catalogueFile: values.GENWAY_CATALOGUE,
    providers: { routesFile: values.GENWAY_PROVIDERS, callbacks: values.GENWAY_PROVIDER_CALLBACKS },
    simulator: simulatorConfig(values),
  };
}

function publicUrlOf(values: Values): string {
  return values.GENWAY_PUBLIC_URL ?? `http://127.0.0.1:${values.GENWAY_API_PORT}`;
}

function temporalConfig(values: Values): TemporalConfig {
  const certPath = values.TEMPORAL_TLS_CLIENT_CERT_PATH;
  const keyPath = values.TEMPORAL_TLS_CLIENT_KEY_PATH;
  const serverCaCertPath = values.TEMPORAL_TLS_SERVER_CA_CERT_PATH;
  const client = certPath && keyPath ? { certPath, keyPath } : undefined;
  const encrypted = values.TEMPORAL_TLS || values.TEMPORAL_API_KEY || serverCaCertPath || client;
  return {
    address: values.TEMPORAL_ADDRESS,
    namespace: values.TEMPORAL_NAMESPACE,
    apiKey: values.TEMPORAL_API_KEY,
    tls: encrypted ? { serverCaCertPath, client } : undefined,
    uiUrl: values.TEMPORAL_UI_URL,
  };
}

function simulatorConfig(values: Values): Config['simulator'] {
  const port = values.GENWAY_SIMULATOR_PORT;
  return { port, url: values.GENWAY_SIMULATOR_URL ?? `http://127.0.0.1:${port}`, key: values.GENWAY_SIMULATOR_KEY };
}

function storageConfig(values: Values): StorageConfig {
  if (values.GENWAY_STORAGE === 'local') {
    return { kind: 'local', folder: resolve(values.GENWAY_STORAGE_FOLDER ?? join(values.GENWAY_HOME, 'files')) };
  }
  const accessKeyId = values.GENWAY_S3_ACCESS_KEY_ID;
  const secretAccessKey = values.GENWAY_S3_SECRET_ACCESS_KEY;
  return {
    kind: 's3',
    bucket: values.GENWAY_S3_BUCKET ?? '',
    publicUrl: values.GENWAY_S3_PUBLIC_URL ?? '',
    region: values.GENWAY_S3_REGION,
    endpoint: values.GENWAY_S3_ENDPOINT,
    forcePathStyle: values.GENWAY_S3_FORCE_PATH_STYLE,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
  };
}
