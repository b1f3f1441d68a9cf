/** Every environment variable that Genway reads: how it is parsed, its valid values, its default and its meaning. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import Joi from 'joi';
import { TAX_POINTS, type Tax } from './domain/billing-document.ts';

/** Parses and validates the text of a variable. */
interface Kind<Value> {
  /** Completes the sentence "must be …". */
  readonly form: string;
  /** Error messages never contain the value. */
  readonly hidden?: true;
  /** An empty text is an error; otherwise it counts as unset. */
  readonly refusesEmpty?: true;
  readonly parse: (text: string) => unknown;
  readonly schema: Joi.Schema<Value>;
}

/** One row of the table. */
export interface Variable<Value = unknown> {
  readonly kind: Kind<Value>;
  /** The text used if the variable is not set; undefined if there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
  readonly meaning: string;
}

/** The value of a variable after reading. */
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
  usd: {
    form: 'an amount in USD, 0 or more, such as 500 or 99.50',
    parse: unchanged,
    schema: Joi.string()
      .pattern(/^\d{1,12}(\.\d{1,12})?$/)
      .required(),
  },
  share: {
    form: 'a number from 0 to 1',
    parse: toNumber,
    schema: Joi.number().min(0).max(1).required(),
  },
  secondsList: {
    form: 'numbers of seconds, 0 or more, separated by commas',
    parse: (text) => toList(text).map(toNumber),
    schema: Joi.array<readonly number[]>().items(Joi.number().min(0).max(604_800)).min(1).max(50).required(),
  },
  textList: {
    form: 'words separated by commas',
    parse: (text) => toList(text).filter((item) => item !== ''),
    schema: Joi.array<readonly string[]>().items(Joi.string()).required(),
  },
  lines: {
    form: 'lines separated by `|`',
    parse: (text) => text.split('|').map((line) => line.trim()),
    schema: Joi.array<readonly string[]>().items(Joi.string().max(200)).min(1).max(10).required(),
  },
  webUrl: {
    form: 'a URL such as https://example.com, without a trailing slash',
    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .pattern(/[^/]$/)
      .required(),
  },
  databaseUrl: {
    form: 'a URL such as postgres://user:password@host:5432/genway',
    hidden: true,
    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['postgres', 'postgresql'] })
      .required(),
  },
  issuer: {
    form: 'a URL such as https://login.example.com, exactly as the provider writes it; http only for this machine',
    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['http', 'https'] })
      .pattern(/^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))[^?#]*$/)
      .required(),
  },
  smtpUrl: {
    form: 'a URL such as smtps://user:password@smtp.example.com or smtp://user:password@smtp.example.com:587',
    hidden: true,
    parse: unchanged,
    schema: Joi.string()
      .uri({ scheme: ['smtp', 'smtps'] })
      .pattern(/^smtps?:\/\/[^/?#]+\/?$/)
      .required(),
  },
  sender: {
    form: 'an e-mail address, such as genway@example.com or Genway <genway@example.com>',
    parse: unchanged,
    schema: Joi.string()
      .pattern(/^([^<>@\r\n]+ <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/)
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
/** The placeholder in {@link topUpUrl} for the id of an account. */
const ACCOUNT_PLACE = '{account_id}';
const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

const topUpUrl: Kind<string> = {
  form: 'an https URL with `{account_id}` in its path or query (http on loopback)',
  parse: unchanged,
  schema: Joi.string()
    .custom((text: string, { error }) => (isTopUpUrl(text) ? text : error('any.invalid')))
    .required(),
};

function isTopUpUrl(text: string): boolean {
  const sample = 'acc_0';
  const filled = text.replaceAll(ACCOUNT_PLACE, sample);
  if (!URL.canParse(filled)) return false;
  const url = new URL(filled);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK_HOSTS.includes(url.hostname));
  return isSafe && `${url.pathname}${url.search}`.includes(sample) && !url.host.includes(sample) && url.username === '';
}

const anySecret = secretText('a non-empty secret', Joi.string());
const taxes: Kind<readonly Tax[]> = {
  form: 'names with percentages, separated by commas, such as `VAT 19` or `GST 5, PST 9.975`',
  parse: (text) =>
    toList(text).map((item) => {
      const [, name, percent] = /^(.+) (\d+(?:\.\d+)?)%?$/.exec(item) ?? [];
      return { name, percent };
    }),
  schema: Joi.array<readonly Tax[]>()
    .items(
      Joi.object({
        name: Joi.string().max(60).required(),
        percent: Joi.string()
          .pattern(/^\d{1,2}(\.\d{1,4})?$/)
          .required(),
      }),
    )
    .max(8)
    .required(),
};

function required<Value>(kind: Kind<Value>, meaning: string): Variable<Value> {
  return { kind, defaultText: undefined, required: true, meaning };
}

function optional<Value>(kind: Kind<Value>, meaning: string): Variable<Value | undefined> {
  return { kind, defaultText: undefined, required: false, meaning };
}

function byDefault<Value>(defaultText: string, kind: Kind<Value>, meaning: string): Variable<Value> {
  return { kind, defaultText, required: false, meaning };
}

/** The table, in the groups and order of `docs/configuration.md`. */
export const VARIABLE_GROUPS = {
  Addresses: {
    GENWAY_HOST: byDefault(
      '127.0.0.1',
      KINDS.text,
      'Address on which the HTTP servers listen; in a container, 0.0.0.0.',
    ),
    GENWAY_API_PORT: byDefault('8080', KINDS.port, 'Port of the api process.'),
    GENWAY_TEXT_PORT: byDefault('8081', KINDS.port, 'Port of the text process.'),
    GENWAY_WORKER_PORT: optional(
      KINDS.port,
      'Port on which the worker process serves health checks and metrics; if not set, the worker process opens no port.',
    ),
    GENWAY_PUBLIC_URL: optional(
      KINDS.webUrl,
      'URL at which clients reach the api process; links to stored files begin with it. In production, use an https URL: Genway logs a warning for any other URL that is not on this machine. If not set, `http://127.0.0.1:<GENWAY_API_PORT>`.',
    ),
    GENWAY_ADMIN_URL: optional(
      KINDS.webUrl,
      'URL at which the `genway` command reaches an api process if GENWAY_PUBLIC_URL does not lead to the administration endpoints; if not set, GENWAY_PUBLIC_URL.',
    ),
    GENWAY_TRUSTED_PROXIES: byDefault(
      '0',
      wholeNumber(0, 10),
      'Number of your own proxies in front of Genway. Genway trusts this many entries of X-Forwarded-For, counted from the right.',
    ),
  },
  Database: {
    DATABASE_URL: required(KINDS.databaseUrl, 'PostgreSQL database. If not set, `npm start` runs its own.'),
    GENWAY_DATABASE_POOL: byDefault(
      '20',
      wholeNumber(2, 500),
      'Maximum number of connections from one process to PostgreSQL.',
    ),
  },
  Temporal: {
    TEMPORAL_ADDRESS: byDefault(
      '127.0.0.1:7233',
      KINDS.hostAndPort,
      'Temporal frontend. If not set, `npm start` runs its own development server.',
    ),
    TEMPORAL_NAMESPACE: byDefault('default', KINDS.text, 'Temporal namespace.'),
    TEMPORAL_API_KEY: optional(anySecret, 'API key of Temporal Cloud; enables TLS.'),
    TEMPORAL_TLS: byDefault('false', KINDS.flag, 'Whether to use TLS for Temporal without an API key.'),
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: optional(
      KINDS.text,
      "File with the certificate of the authority that signed the Temporal server's certificate.",
    ),
    TEMPORAL_TLS_CLIENT_CERT_PATH: optional(KINDS.text, 'File with the client certificate for mutual TLS.'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: optional(KINDS.text, 'File with the private key of that client certificate.'),
    TEMPORAL_UI_URL: byDefault('http://127.0.0.1:8233', KINDS.webUrl, 'Temporal web UI, for links shown to operators.'),
    GENWAY_WORKFLOW_BUNDLE: optional(
      KINDS.text,
      'File with the workflows, bundled at build time; if not set, the worker process bundles the workflows when it starts.',
    ),
    GENWAY_WORKER_BUILD_ID: optional(
      KINDS.text,
      'Build ID of the worker process, such as a commit. If set, Temporal uses worker versioning, so that workers of several versions can run side by side.',
    ),
    GENWAY_WORKER_DEPLOYMENT: byDefault(
      'genway',
      KINDS.text,
      'Name of the Temporal worker deployment to which the build IDs belong.',
    ),
  },
  Secrets: {
    GENWAY_ADMIN_TOKEN: required(
      adminToken,
      'Bearer token for the administration endpoints, with the role operator. Create a token for each person with `genway admin-tokens`.',
    ),
    GENWAY_ADMIN_TOKEN_ALSO: optional(
      adminToken,
      'Second admin token that the administration endpoints also accept. Set both during a rotation of GENWAY_ADMIN_TOKEN.',
    ),
    GENWAY_METRICS_TOKEN: optional(
      adminToken,
      'Bearer token for /metrics, so that Prometheus does not need the admin token; if not set, /metrics requires GENWAY_ADMIN_TOKEN.',
    ),
    GENWAY_KEY_PEPPER: required(
      pepper,
      'Secret key of the digests (HMAC) that Genway stores instead of API keys. A new pepper invalidates every API key.',
    ),
    GENWAY_KEY_PEPPER_ALSO: optional(
      pepper,
      'Second pepper, with which Genway also accepts API keys. Set both during a rotation of GENWAY_KEY_PEPPER.',
    ),
    GENWAY_ENCRYPTION_KEY: required(
      encryptionKey,
      'Key that encrypts secrets in the database, such as webhook secrets. Genway cannot read the stored secrets with another key.',
    ),
    GENWAY_ENCRYPTION_KEY_ALSO: optional(
      encryptionKey,
      'Second key, with which Genway also decrypts secrets. Set both during a rotation of GENWAY_ENCRYPTION_KEY.',
    ),
  },
  Payments: {
    GENWAY_PAYMENT_WEBHOOK_SECRET: optional(
      anySecret,
      'Secret with which the payment provider signs its events (`whsec_…`). If not set, Genway has no endpoint POST /v1/payment-events.',
    ),
    GENWAY_STRIPE_SECRET_KEY: optional(
      anySecret,
      'Secret key of Stripe (`sk_…`, or a restricted key that may write Checkout Sessions). If set, the console asks customers for an amount and opens Stripe Checkout to pay the amount.',
    ),
    GENWAY_TOP_UP_URL: optional(
      topUpUrl,
      'URL of the page where customers pay, such as https://buy.stripe.com/test_1?client_reference_id={account_id}. "Add funds" in the console opens this page; if not set, the console does not show "Add funds".',
    ),
    GENWAY_SELLER: optional(
      KINDS.lines,
      'Name and address of the seller on receipts and invoices, such as `Acme GmbH | Hauptstrasse 1 | 10115 Berlin`. Payments before the seller is set have no receipt.',
    ),
    GENWAY_SELLER_TAX_ID: optional(KINDS.text, 'Tax number of the seller on receipts and invoices.'),
    GENWAY_TAXES: optional(
      taxes,
      'Taxes that every amount includes, such as `VAT 19`. Receipts and invoices state these taxes.',
    ),
    GENWAY_TAX_POINT: byDefault(
      'paid',
      oneOf(...TAX_POINTS),
      'Documents that state the taxes: `paid` for receipts and credit notes, `used` for the invoices of the months in which customers spend the money.',
    ),
    GENWAY_SECOND_APPROVAL_USD: optional(
      KINDS.usd,
      'Amount of manual adjustments to one account within 24 hours above which an adjustment requires the approval of a second person: one person requests the adjustment in the console, another person approves the request. If not set, no adjustment requires approval.',
    ),
  },
  'E-mail': {
    GENWAY_SMTP_URL: optional(
      KINDS.smtpUrl,
      'SMTP server for outgoing e-mail. If set, Genway also sends invitations and password reset links by e-mail. With `smtp`, the connection upgrades to TLS by STARTTLS; without STARTTLS, Genway sends a password only to a server on this machine. With `smtps`, the connection uses TLS from the start.',
    ),
    GENWAY_MAIL_FROM: optional(KINDS.sender, 'Sender of outgoing e-mail. Required with GENWAY_SMTP_URL.'),
  },
  'Signing in': {
    GENWAY_OIDC_ISSUER: optional(
      KINDS.issuer,
      'Issuer URL of the OpenID Connect provider for single sign-on to the console. Register `<GENWAY_PUBLIC_URL>/console/sign-in/callback` as the redirect URI at the provider.',
    ),
    GENWAY_OIDC_CLIENT_ID: optional(
      KINDS.text,
      'Client ID of Genway at the OpenID Connect provider. Required with GENWAY_OIDC_ISSUER.',
    ),
    GENWAY_OIDC_CLIENT_SECRET: optional(
      anySecret,
      'Client secret of Genway at the OpenID Connect provider. Required with GENWAY_OIDC_ISSUER.',
    ),
    GENWAY_OIDC_NAME: optional(
      KINDS.text,
      "Name of the OpenID Connect provider on the sign-in button; if not set, the issuer's host.",
    ),
    GENWAY_OIDC_SECOND_FACTOR: byDefault(
      'genway',
      oneOf('genway', 'provider'),
      'Party that requires the second factor at single sign-on: with `genway`, Genway requires the second factor of people who have one in Genway; with `provider`, Genway relies on the OpenID Connect provider to require one.',
    ),
  },
  Files: {
    GENWAY_STORAGE: byDefault('local', oneOf('local', 's3'), 'Storage for results and uploads: the local disk or S3.'),
    GENWAY_STORAGE_FOLDER: optional(KINDS.text, 'Folder of the local storage; if not set, `files` in GENWAY_HOME.'),
    GENWAY_UPLOAD_QUOTA_MB: byDefault(
      '10240',
      wholeNumber(0, 100_000_000),
      'Maximum megabytes of uploads per account.',
    ),
    GENWAY_UPLOAD_QUOTA_FILES: byDefault('1000', wholeNumber(0, 100_000), 'Maximum number of uploads per account.'),
    GENWAY_UPLOAD_QUOTA_MB_UNPAID: byDefault(
      '128',
      wholeNumber(0, 100_000_000),
      'Maximum megabytes of uploads per account before the account has its first top-up.',
    ),
    GENWAY_UPLOAD_QUOTA_FILES_UNPAID: byDefault(
      '20',
      wholeNumber(0, 100_000),
      'Maximum number of uploads per account before the account has its first top-up.',
    ),
    GENWAY_UPLOAD_EXPIRY_S: byDefault(
      '604800',
      KINDS.seconds,
      'Seconds after which Genway removes an upload that no task has used.',
    ),
    GENWAY_S3_BUCKET: optional(KINDS.text, 'Name of the bucket. Required with GENWAY_STORAGE=s3.'),
    GENWAY_S3_PUBLIC_URL: optional(KINDS.webUrl, 'Public URL of the bucket. Required with GENWAY_STORAGE=s3.'),
    GENWAY_S3_REGION: byDefault('us-east-1', KINDS.text, 'Region of the bucket; `auto` for Cloudflare R2.'),
    GENWAY_S3_ENDPOINT: optional(KINDS.webUrl, 'Endpoint of an S3-compatible store; if not set, the endpoint of AWS.'),
    GENWAY_S3_FORCE_PATH_STYLE: byDefault(
      'false',
      KINDS.flag,
      'Whether the bucket name is in the path instead of the host name.',
    ),
    GENWAY_S3_ACCESS_KEY_ID: optional(
      KINDS.text,
      'Access key of the bucket; if not set, the AWS SDK uses its default credential chain.',
    ),
    GENWAY_S3_SECRET_ACCESS_KEY: optional(anySecret, 'Secret of GENWAY_S3_ACCESS_KEY_ID.'),
  },
  Upstreams: {
    GENWAY_CATALOGUE: optional(
      KINDS.text,
      "File with the models, limits, prices and routes; if not set, this version's `catalogue/catalogue.yaml`.",
    ),
    GENWAY_PROVIDERS: optional(KINDS.text, 'File with the upstreams; if not set, the simulator serves every model.'),
    GENWAY_PROVIDER_CALLBACKS: byDefault(
      'false',
      KINDS.flag,
      'Whether Genway requests a callback to GENWAY_PUBLIC_URL when a job completes, from upstreams with a callback secret. Genway polls these jobs as well.',
    ),
    GENWAY_SIMULATOR_PORT: byDefault('8090', KINDS.port, 'Port of the simulator process.'),
    GENWAY_SIMULATOR_URL: optional(
      KINDS.webUrl,
      'URL at which the other processes reach the simulator. If not set, `http://127.0.0.1:<GENWAY_SIMULATOR_PORT>`.',
    ),
    GENWAY_SIMULATOR_KEY: byDefault(
      'simulator',
      anySecret,
      'API key of the simulator, which also signs its callbacks with this key. The key protects nothing of value.',
    ),
    GENWAY_MODERATION_URL: optional(
      KINDS.webUrl,
      'Endpoint of the moderation service that checks each media request, such as https://moderation.example/v1/moderations; if not set, Genway checks no request; with `npm start`, the simulator moderates. While the service returns no verdict, Genway answers media requests with 503.',
    ),
    GENWAY_MODERATION_KEY: optional(anySecret, 'API key of the moderation service.'),
  },
  Limits: {
    GENWAY_RATE_LIMIT_RPM: byDefault(
      '600',
      wholeNumber(1, 10_000_000),
      'Maximum requests per minute of one API key that has no limit of its own. Reads (GET) have a limit of their own.',
    ),
    GENWAY_READ_RATE_LIMIT_RPM: byDefault(
      '3000',
      wholeNumber(1, 10_000_000),
      'Maximum reads (GET) per minute of one API key, such as polls of tasks. If the limit for other requests of the key is higher, that limit applies to reads as well.',
    ),
    GENWAY_MAX_CONCURRENT_TASKS: byDefault(
      '100',
      wholeNumber(1, 1_000_000),
      'Maximum number of tasks of one account that run at the same time.',
    ),
    GENWAY_TASK_DEADLINE_S: byDefault(
      '1800',
      KINDS.seconds,
      'Seconds after which a task that is not final fails with processing_timeout.',
    ),
    GENWAY_TEXT_CUTOFF_S: byDefault(
      '100',
      KINDS.seconds,
      'Seconds after which the api process cuts off a text request that does not stream.',
    ),
    GENWAY_TEXT_READ_ON_S: byDefault(
      '50000',
      KINDS.seconds,
      'Seconds for which Genway still reads an answer after the client has disconnected, to learn the usage to charge. After this time, Genway charges the whole reservation, or nothing if no byte of the answer has arrived. The default exceeds the duration of the longest answer of the default catalogue (1,000,000 tokens) at 20 tokens a second: with a shorter limit, clients that disconnect early do not pay for slow answers.',
    ),
    GENWAY_TEXT_SILENCE_S: byDefault(
      '3600',
      KINDS.seconds,
      'Maximum seconds for which a text upstream may send nothing on an open connection.',
    ),
    GENWAY_POLL_MS: optional(
      wholeNumber(10, 600_000),
      'Milliseconds between polls of an upstream job. Overrides the upstreams file; if not set, the interval of each protocol applies.',
    ),
    GENWAY_PROVIDER_PATIENCE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds for which Genway repeats a request to an upstream that contradicts itself (does not find a job that it accepted, or does not serve a file that it reported) before the answer is final; with `npm start`, 5.',
    ),
    GENWAY_WEBHOOK_SCHEDULE_S: byDefault(
      '0,5,300,1800,7200,18000,36000,50400,72000,86400',
      KINDS.secondsList,
      'Seconds to wait before each attempt of a webhook delivery, one number per attempt.',
    ),
  },
  Safety: {
    GENWAY_ALLOW_PRIVATE_ADDRESSES: byDefault(
      'false',
      KINDS.flag,
      'Whether webhooks and links may use http and private addresses. Set only in tests: clients can reach your private network through Genway.',
    ),
    GENWAY_REJECTED_USER_AGENTS: byDefault(
      '',
      KINDS.textList,
      'Words, in upper or lower case. Genway refuses requests whose User-Agent contains one of these words, with `error code: 1010`.',
    ),
  },
  Tracing: {
    OTEL_EXPORTER_OTLP_ENDPOINT: optional(
      KINDS.webUrl,
      'OpenTelemetry collector that accepts OTLP over HTTP, such as http://collector:4318; if not set, Genway sends no traces.',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: optional(
      anySecret,
      'Headers of requests to the OpenTelemetry collector, such as `authorization=Bearer%20abc`, separated by commas.',
    ),
    OTEL_TRACES_SAMPLER_ARG: byDefault(
      '1',
      KINDS.share,
      'Fraction of requests to trace. A client that sends `traceparent` decides for its own requests.',
    ),
  },
  Running: {
    GENWAY_TEXT_PROCESSES: byDefault(
      '1',
      wholeNumber(1, 64),
      'Number of text processes behind GENWAY_TEXT_PORT, for a machine with several cores. Each process has its own memory and connections to PostgreSQL.',
    ),
    GENWAY_LOG_LEVEL: byDefault(
      'info',
      oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
      'Lowest level of log lines to write.',
    ),
    GENWAY_DRAIN_S: byDefault(
      '5',
      KINDS.seconds,
      'Seconds for which a stopping api or text process still accepts requests, while `/readyz` answers 503, so that load balancers notice before the process refuses connections; with `npm start`, 0.01.',
    ),
    GENWAY_SHUTDOWN_GRACE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds for which a stopping process waits for work in progress, including streams; with `npm start`, 10.',
    ),
    GENWAY_RENDER_GRACE_S: byDefault(
      '300',
      KINDS.seconds,
      'Seconds for which a stopping worker waits for renders whose upstream returns the files in the answer. If the worker interrupts such a render, the vendor may charge for a render whose files nobody received. Other work continues in other workers after 10 seconds.',
    ),
  },
  'Local stack': {
    GENWAY_HOME: byDefault('.genway', KINDS.text, 'Folder for the state of `npm start` and for locally stored files.'),
    GENWAY_POSTGRES_PORT: byDefault('5433', KINDS.port, 'Port of the PostgreSQL server that `npm start` runs.'),
    TEMPORAL_PORT: byDefault('7233', KINDS.port, 'Port of the Temporal server that `npm start` runs.'),
    TEMPORAL_UI_PORT: byDefault('8233', KINDS.port, 'Port of the web UI of the Temporal server that `npm start` runs.'),
    XDG_CACHE_HOME: byDefault(join(homedir(), '.cache'), KINDS.text, 'Folder for the downloaded Temporal server.'),
  },
} as const satisfies Record<string, Record<string, Variable>>;

type Groups = typeof VARIABLE_GROUPS;
type UnionToIntersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Intersection,
) => void
  ? Intersection
  : never;

/** All rows of the table, by name. */
export type Variables = UnionToIntersection<Groups[keyof Groups]>;
export type VariableName = keyof Variables;
