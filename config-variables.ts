/** Every environment variable that Genway reads: how its text is parsed, what it must be, its default and its meaning. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import Joi from 'joi';

/** How the text of a variable becomes a value. */
interface Kind<Value> {
  /** Completes the sentence "must be …". */
  readonly form: string;
  /** Never printed. */
  readonly hidden?: true;
  /** An empty text is a mistake instead of the same as none. */
  readonly refusesEmpty?: true;
  readonly parse: (text: string) => unknown;
  readonly schema: Joi.Schema<Value>;
}

/** One row of the table. */
export interface Variable<Value = unknown> {
  readonly kind: Kind<Value>;
  /** The text that stands in when the variable is not set; undefined where there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
  readonly meaning: string;
}

/** The value a variable has once it was read. */
export type ValueOf<Row> = Row extends Variable<infer Value> ? Value : never;

const decimal = /^-?\d+(\.\d+)?$/;
const toNumber = (text: string): unknown => (decimal.test(text) ? Number(text) : text);
const toBoolean = (text: string): unknown => (text === 'true' ? true : text === 'false' ? false : text);
const toList = (text: string): readonly string[] => text.split(',').map((item) => item.trim());
const unchanged = (text: string): string => text;

function wholeNumber(min: number, max: number): Kind<number> {
  const schema = Joi.number().integer().min(min).max(max).required();
  return { form: `a whole number from ${min} to ${max}`, parse: toNumber, schema };
}

function oneOf<const Value extends string>(...values: readonly Value[]): Kind<Value> {
  const schema = Joi.string<Value>()
    .valid(...values)
    .required();
  return { form: `one of ${values.join(', ')}`, parse: unchanged, schema };
}

function secretText(form: string, schema: Joi.StringSchema): Kind<string> {
  return { form, hidden: true, refusesEmpty: true, parse: unchanged, schema: schema.required() };
}

const KINDS = {
  text: { form: 'text', parse: unchanged, schema: Joi.string().required() },
  port: {
    form: 'a port from 1 to 65535',

    parse: toNumber,
    schema: Joi.number().integer().min(1).max(65_535).required(),
  },
  flag: {
    form: 'true or false',

    parse: toBoolean,
    schema: Joi.boolean().strict().required(),
  },
  seconds: {
    form: 'a number of seconds above 0',

    parse: toNumber,
    schema: Joi.number().positive().max(604_800).required(),
  },
  share: {
    form: 'a number from 0 to 1',

    parse: toNumber,
    schema: Joi.number().min(0).max(1).required(),
  },
  secondsList: {
    form: 'seconds from 0 upwards, separated by commas',

    parse: (text) => toList(text).map(toNumber),
    schema: Joi.array<readonly number[]>().items(Joi.number().min(0).max(604_800)).min(1).max(50).required(),
  },
  textList: {
    form: 'words separated by commas',

    parse: (text) => toList(text).filter((item) => item !== ''),
    schema: Joi.array<readonly string[]>().items(Joi.string()).required(),
  },
  webUrl: {
    form: 'an address such as https://example.com, without a slash at the end',

    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .pattern(/[^/]$/)
      .required(),
  },
  databaseUrl: {
    form: 'an address such as postgres://user:password@host:5432/genway',
    hidden: true,
    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['postgres', 'postgresql'] })
      .required(),
  },
  hostAndPort: {
    form: 'a host and a port, such as 127.0.0.1:7233',

    parse: unchanged,
    schema: Joi.string()
      .pattern(/^\S+:\d{1,5}$/)
      .required(),
  },
} as const satisfies Record<string, Kind<unknown>>;

const adminToken = secretText(
  'at least 16 characters, such as the output of `openssl rand -hex 32`',
  Joi.string().min(16),
);
const pepper = secretText('at least 32 characters, such as the output of `openssl rand -hex 32`', Joi.string().min(32));
const encryptionKey = secretText(
  '64 hexadecimal digits (32 bytes), such as the output of `openssl rand -hex 32`',
  Joi.string().pattern(/^[0-9a-f]{64}$/i),
);
const anySecret = secretText('a secret that is not empty', Joi.string());

function required<Value>(kind: Kind<Value>, meaning: string): Variable<Value> {
  return { kind, defaultText: undefined, required: true, meaning };
}

function optional<Value>(kind: Kind<Value>, meaning: string): Variable<Value | undefined> {
  return { kind, defaultText: undefined, required: false, meaning };
}

function byDefault<Value>(defaultText: string, kind: Kind<Value>, meaning: string): Variable<Value> {
  return { kind, defaultText, required: false, meaning };
}

/** The table, in the groups and the order in which `docs/configuration.md` shows it. */
export const VARIABLE_GROUPS = {
  Addresses: {
    GENWAY_HOST: byDefault('127.0.0.1', KINDS.text, 'Address that the HTTP servers listen on; 0.0.0.0 in a container.'),
    GENWAY_API_PORT: byDefault('8080', KINDS.port, 'Port of the api process.'),
    GENWAY_TEXT_PORT: byDefault('8081', KINDS.port, 'Port of the text process.'),
    GENWAY_WORKER_PORT: optional(
      KINDS.port,
      'Port of the health checks and metrics of the worker process; it opens none when not set.',
    ),
    GENWAY_PUBLIC_URL: optional(
      KINDS.webUrl,
      'How clients reach the api process; links to stored files begin with it. `http://127.0.0.1:<GENWAY_API_PORT>` when not set.',
    ),
    GENWAY_ADMIN_URL: optional(
      KINDS.webUrl,
      'How the `genway` command reaches an api process where GENWAY_PUBLIC_URL does not lead to the administration endpoints; GENWAY_PUBLIC_URL when not set.',
    ),
    GENWAY_TRUSTED_PROXIES: byDefault(
      '0',
      wholeNumber(0, 10),
      'How many proxies of yours stand in front. That many entries of X-Forwarded-For are believed, from the right.',
    ),
  },
  Database: {
    DATABASE_URL: required(
      KINDS.databaseUrl,
      'PostgreSQL database. `npm start` runs one of its own when this is not set.',
    ),
    GENWAY_DATABASE_POOL: byDefault(
      '20',
      wholeNumber(2, 500),
      'Connections to PostgreSQL that one process opens at most.',
    ),
  },
  Temporal: {
    TEMPORAL_ADDRESS: byDefault(
      '127.0.0.1:7233',
      KINDS.hostAndPort,
      'Temporal frontend. `npm start` runs a development server of its own when this is not set.',
    ),
    TEMPORAL_NAMESPACE: byDefault('default', KINDS.text, 'Temporal namespace.'),
    TEMPORAL_API_KEY: optional(anySecret, 'API key of Temporal Cloud; turns TLS on.'),
    TEMPORAL_TLS: byDefault('false', KINDS.flag, 'Whether to speak TLS to Temporal without an API key.'),
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: optional(
      KINDS.text,
      'File with the authority that signed the Temporal server certificate.',
    ),
    TEMPORAL_TLS_CLIENT_CERT_PATH: optional(KINDS.text, 'File with the client certificate for mutual TLS.'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: optional(KINDS.text, 'File with the key of that client certificate.'),
    TEMPORAL_UI_URL: byDefault(
      'http://127.0.0.1:8233',
      KINDS.webUrl,
      'Temporal web UI, for the links shown to operators.',
    ),
    GENWAY_WORKFLOW_BUNDLE: optional(
      KINDS.text,
      'File with the workflows bundled at build time; bundled at start when not set.',
    ),
    GENWAY_WORKER_BUILD_ID: optional(
      KINDS.text,
      'Names the version of the code that a worker runs, such as a commit; turns worker versioning on, so that workers of several versions run side by side.',
    ),
    GENWAY_WORKER_DEPLOYMENT: byDefault(
      'genway',
      KINDS.text,
      'Worker deployment in Temporal that those versions are of.',
    ),
  },
  Secrets: {
    GENWAY_ADMIN_TOKEN: required(adminToken, 'Bearer token of the administration endpoints.'),
    GENWAY_METRICS_TOKEN: optional(
      adminToken,
      'Bearer token of /metrics, so that Prometheus needs no greater one; GENWAY_ADMIN_TOKEN when not set.',
    ),
    GENWAY_KEY_PEPPER: required(
      pepper,
      'Key of the digests under which API keys are stored. Changing it makes every API key invalid.',
    ),
    GENWAY_ENCRYPTION_KEY: required(
      encryptionKey,
      'Encrypts what is kept secret in the database, such as webhook secrets. Changing it makes those unreadable.',
    ),
  },
  Payments: {
    GENWAY_PAYMENT_WEBHOOK_SECRET: optional(
      anySecret,
      'What the payment provider signs its events with (`whsec_…`); POST /v1/payment-events exists only when it is set.',
    ),
  },
  Files: {
    GENWAY_STORAGE: byDefault('local', oneOf('local', 's3'), 'Where results and uploads are kept.'),
    GENWAY_STORAGE_FOLDER: optional(KINDS.text, 'Folder of the local storage; `files` in GENWAY_HOME when not set.'),
    GENWAY_UPLOAD_QUOTA_MB: byDefault(
      '10240',
      wholeNumber(0, 100_000_000),
      'Megabytes of uploads that an account may keep.',
    ),
    GENWAY_UPLOAD_QUOTA_FILES: byDefault('1000', wholeNumber(0, 100_000), 'Uploads that an account may keep.'),
    GENWAY_UPLOAD_QUOTA_MB_UNPAID: byDefault(
      '128',
      wholeNumber(0, 100_000_000),
      'Megabytes of uploads that an account may keep before its first top-up.',
    ),
    GENWAY_UPLOAD_QUOTA_FILES_UNPAID: byDefault(
      '20',
      wholeNumber(0, 100_000),
      'Uploads that an account may keep before its first top-up.',
    ),
    GENWAY_UPLOAD_EXPIRY_S: byDefault(
      '604800',
      KINDS.seconds,
      'Seconds after which an upload is removed that no task was created with.',
    ),
    GENWAY_S3_BUCKET: optional(KINDS.text, 'Bucket. Required with GENWAY_STORAGE=s3.'),
    GENWAY_S3_PUBLIC_URL: optional(
      KINDS.webUrl,
      'Address under which the bucket is read publicly. Required with GENWAY_STORAGE=s3.',
    ),
    GENWAY_S3_REGION: byDefault('us-east-1', KINDS.text, 'Region of the bucket; `auto` for Cloudflare R2.'),
    GENWAY_S3_ENDPOINT: optional(KINDS.webUrl, 'Endpoint of an S3-compatible store; that of AWS when not set.'),
    GENWAY_S3_FORCE_PATH_STYLE: byDefault(
      'false',
      KINDS.flag,
      'Whether the bucket stands in the path instead of the host name.',
    ),
    GENWAY_S3_ACCESS_KEY_ID: optional(KINDS.text, 'Access key; the usual AWS credential chain when not set.'),
    GENWAY_S3_SECRET_ACCESS_KEY: optional(anySecret, 'Secret of that access key.'),
  },
  Upstreams: {
    GENWAY_CATALOGUE: optional(
      KINDS.text,
      'File with the models, limits, prices and routes; `catalogue/catalogue.yaml` of this version when not set.',
    ),
    GENWAY_PROVIDERS: optional(
      KINDS.text,
      'File with the routes from models to upstreams; every model goes to the simulator when not set.',
    ),
    GENWAY_PROVIDER_CALLBACKS: byDefault(
      'false',
      KINDS.flag,
      'Whether upstreams with a callback secret are asked to announce the end of a job at GENWAY_PUBLIC_URL; polling goes on.',
    ),
    GENWAY_SIMULATOR_PORT: byDefault('8090', KINDS.port, 'Port of the simulator process.'),
    GENWAY_SIMULATOR_URL: optional(
      KINDS.webUrl,
      'Where the other processes reach the simulator. `http://127.0.0.1:<GENWAY_SIMULATOR_PORT>` when not set.',
    ),
    GENWAY_SIMULATOR_KEY: byDefault(
      'simulator',
      anySecret,
      'Key that the simulator expects, and that it signs callbacks with; it guards nothing of value.',
    ),
    GENWAY_MODERATION_URL: optional(
      KINDS.webUrl,
      'Endpoint of the moderation service, such as https://moderation.example/v1/moderations, asked about each media request; none when not set. While it gives no verdict, requests are answered 503.',
    ),
    GENWAY_MODERATION_KEY: optional(anySecret, 'Key of the moderation service.'),
  },
  Limits: {
    GENWAY_RATE_LIMIT_RPM: byDefault(
      '600',
      wholeNumber(1, 10_000_000),
      'Requests a minute that one API key may send, unless the key says otherwise; those that only read are counted apart.',
    ),
    GENWAY_READ_RATE_LIMIT_RPM: byDefault(
      '3000',
      wholeNumber(1, 10_000_000),
      'Requests a minute with which one API key may read (GET), such as polls of tasks; never fewer than its other requests.',
    ),
    GENWAY_MAX_CONCURRENT_TASKS: byDefault(
      '100',
      wholeNumber(1, 1_000_000),
      'Tasks of one account that may run at once.',
    ),
    GENWAY_TASK_DEADLINE_S: byDefault(
      '1800',
      KINDS.seconds,
      'Seconds after which a task that has not ended fails with processing_timeout.',
    ),
    GENWAY_TEXT_CUTOFF_S: byDefault(
      '100',
      KINDS.seconds,
      'Seconds after which the api process cuts off a text request that does not stream.',
    ),
    GENWAY_TEXT_READ_ON_S: byDefault(
      '600',
      KINDS.seconds,
      'Seconds for which an answer is read to its end after its client left, for the usage that is charged; after that, all that was held for is charged.',
    ),
    GENWAY_TEXT_SILENCE_S: byDefault(
      '3600',
      KINDS.seconds,
      'Seconds for which an upstream of text may be silent while its connection lives.',
    ),
    GENWAY_POLL_MS: optional(
      wholeNumber(10, 600_000),
      'Milliseconds between two polls of an upstream job, whatever the upstreams file says; each protocol has a pace of its own when not set.',
    ),
    GENWAY_PROVIDER_PATIENCE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds for which an upstream may contradict itself (know no job that it took, hand out no file that it announced) until it is believed; `npm start` has 5.',
    ),
    GENWAY_WEBHOOK_SCHEDULE_S: byDefault(
      '0,5,300,1800,7200,18000,36000,50400,72000,86400',
      KINDS.secondsList,
      'Seconds to wait before each attempt of a webhook delivery; as many attempts as numbers.',
    ),
  },
  Safety: {
    GENWAY_ALLOW_PRIVATE_ADDRESSES: byDefault(
      'false',
      KINDS.flag,
      'Lets webhooks and links use http and private addresses. For tests only: it opens your network to clients.',
    ),
    GENWAY_REJECTED_USER_AGENTS: byDefault(
      '',
      KINDS.textList,
      'Clients whose User-Agent holds one of these, in any case, are refused with `error code: 1010`.',
    ),
  },
  Tracing: {
    OTEL_EXPORTER_OTLP_ENDPOINT: optional(
      KINDS.webUrl,
      'OpenTelemetry collector that takes OTLP over HTTP, such as http://collector:4318; nothing is traced when not set.',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: optional(
      anySecret,
      'Headers for that collector, such as `authorization=Bearer%20abc`, separated by commas.',
    ),
    OTEL_TRACES_SAMPLER_ARG: byDefault(
      '1',
      KINDS.share,
      'The part of all requests that is traced; a client that sends `traceparent` decides for its own.',
    ),
  },
  Running: {
    GENWAY_LOG_LEVEL: byDefault(
      'info',
      oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
      'The least important log lines to write.',
    ),
    GENWAY_SHUTDOWN_GRACE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds that a stopping process gives to the work it has begun, streams included; `npm start` gives 10.',
    ),
    GENWAY_RENDER_GRACE_S: byDefault(
      '300',
      KINDS.seconds,
      'Seconds for which a stopping worker waits for renders whose upstream answers with the files; what is cut off may be paid for and lost. Other work goes on in other workers after 10 seconds.',
    ),
  },
  'Local stack': {
    GENWAY_HOME: byDefault('.genway', KINDS.text, 'Folder for the state of `npm start` and for locally stored files.'),
    GENWAY_POSTGRES_PORT: byDefault('5433', KINDS.port, 'Port of the PostgreSQL server that `npm start` runs.'),
    TEMPORAL_PORT: byDefault('7233', KINDS.port, 'Port of the Temporal server that `npm start` runs.'),
    TEMPORAL_UI_PORT: byDefault('8233', KINDS.port, 'Port of the web UI of that Temporal server.'),
    XDG_CACHE_HOME: byDefault(
      join(homedir(), '.cache'),
      KINDS.text,
      'Folder where a downloaded Temporal server is kept.',
    ),
  },
} as const satisfies Record<string, Record<string, Variable>>;

type Groups = typeof VARIABLE_GROUPS;
type UnionToIntersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Intersection,
) => void
  ? Intersection
  : never;

/** Every row of the table by its name. */
export type Variables = UnionToIntersection<Groups[keyof Groups]>;
export type VariableName = keyof Variables;
