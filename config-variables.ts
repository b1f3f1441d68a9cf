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
  form: 'an https URL in whose path or query `{account_id}` stands (http on loopback)',
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
      'Port for health checks and metrics of the worker process; if not set, it opens none.',
    ),
    GENWAY_PUBLIC_URL: optional(
      KINDS.webUrl,
      'URL at which clients reach the api process; links to stored files begin with it. In production an https address; any other but one of this machine is warned of. If not set, `http://127.0.0.1:<GENWAY_API_PORT>`.',
    ),
    GENWAY_ADMIN_URL: optional(
      KINDS.webUrl,
      'URL at which the `genway` command reaches an api process if GENWAY_PUBLIC_URL does not lead to the administration endpoints; if not set, GENWAY_PUBLIC_URL.',
    ),
    GENWAY_TRUSTED_PROXIES: byDefault(
      '0',
      wholeNumber(0, 10),
      'Number of your own proxies in front of Genway. This many entries of X-Forwarded-For are trusted, from the right.',
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
      'File with the workflows, bundled at build time; if not set, they are bundled at start.',
    ),
    GENWAY_WORKER_BUILD_ID: optional(
      KINDS.text,
      'Version of the code that a worker runs, such as a commit; enables worker versioning, so that workers of several versions can run side by side.',
    ),
    GENWAY_WORKER_DEPLOYMENT: byDefault(
      'genway',
      KINDS.text,
      'Worker deployment in Temporal to which those versions belong.',
    ),
  },
  Secrets: {
    GENWAY_ADMIN_TOKEN: required(
      adminToken,
      'Bearer token of the administration endpoints, with the role operator; people get their own from `genway admin-tokens`.',
    ),
    GENWAY_ADMIN_TOKEN_ALSO: optional(
      adminToken,
      'Another such token that is accepted, while GENWAY_ADMIN_TOKEN is being replaced.',
    ),
    GENWAY_METRICS_TOKEN: optional(
      adminToken,
      'Bearer token for /metrics, so that Prometheus does not need the admin token; if not set, GENWAY_ADMIN_TOKEN.',
    ),
    GENWAY_KEY_PEPPER: required(
      pepper,
      'Key of the digests as which API keys are stored. Changing it invalidates every API key.',
    ),
    GENWAY_KEY_PEPPER_ALSO: optional(
      pepper,
      'Another pepper under which API keys are accepted, while GENWAY_KEY_PEPPER is being replaced.',
    ),
    GENWAY_ENCRYPTION_KEY: required(
      encryptionKey,
      'Encrypts secrets in the database, such as those of webhooks. Changing it makes them unreadable.',
    ),
    GENWAY_ENCRYPTION_KEY_ALSO: optional(
      encryptionKey,
      'Another key with which those secrets may have been encrypted, while GENWAY_ENCRYPTION_KEY is being replaced.',
    ),
  },
  Payments: {
    GENWAY_PAYMENT_WEBHOOK_SECRET: optional(
      anySecret,
      'Secret with which the payment provider signs its events (`whsec_…`); POST /v1/payment-events exists only if it is set.',
    ),
    GENWAY_STRIPE_SECRET_KEY: optional(
      anySecret,
      "Secret key of Stripe (`sk_…`, or a restricted one that may write Checkout Sessions). The console then asks for an amount, and leads to Stripe's page to pay it.",
    ),
    GENWAY_TOP_UP_URL: optional(
      topUpUrl,
      'Where customers pay for their account, such as https://buy.stripe.com/test_1?client_reference_id={account_id}: "Add funds" in the console leads there; not shown if it is not set.',
    ),
    GENWAY_SELLER: optional(
      KINDS.lines,
      'Name and address of who sells, for receipts and invoices, such as `Acme GmbH | Hauptstrasse 1 | 10115 Berlin`. What is paid before it is set has no receipt.',
    ),
    GENWAY_SELLER_TAX_ID: optional(KINDS.text, 'Tax number of the seller, on receipts and invoices.'),
    GENWAY_TAXES: optional(
      taxes,
      'Taxes that every amount includes, such as `VAT 19`. Receipts and invoices state them.',
    ),
    GENWAY_TAX_POINT: byDefault(
      'paid',
      oneOf(...TAX_POINTS),
      'Which documents state the taxes: `paid`, receipts and credit notes, or `used`, the invoices of the months in which the money is spent.',
    ),
    GENWAY_SECOND_APPROVAL_USD: optional(
      KINDS.usd,
      'Above this amount for one account within 24 hours, it takes two people to move money by hand: one asks for it in the console, another approves it. If not set, one person may move any amount.',
    ),
  },
  'E-mail': {
    GENWAY_SMTP_URL: optional(
      KINDS.smtpUrl,
      'Server that sends e-mail; invitations and links for new passwords are then sent, too. With `smtp`, TLS begins by STARTTLS, without which a password is only sent to this machine; with `smtps`, it is there from the start.',
    ),
    GENWAY_MAIL_FROM: optional(KINDS.sender, 'Sender of these e-mails. Required with GENWAY_SMTP_URL.'),
  },
  'Signing in': {
    GENWAY_OIDC_ISSUER: optional(
      KINDS.issuer,
      'Provider of OpenID Connect with which people may sign in to the console. Register `<GENWAY_PUBLIC_URL>/console/sign-in/callback` there as the redirect URI.',
    ),
    GENWAY_OIDC_CLIENT_ID: optional(KINDS.text, 'Client that Genway is there. Required with GENWAY_OIDC_ISSUER.'),
    GENWAY_OIDC_CLIENT_SECRET: optional(anySecret, 'Secret of that client. Required with GENWAY_OIDC_ISSUER.'),
    GENWAY_OIDC_NAME: optional(
      KINDS.text,
      "Name of the provider on the button that leads to it; if not set, the issuer's host.",
    ),
    GENWAY_OIDC_SECOND_FACTOR: byDefault(
      'genway',
      oneOf('genway', 'provider'),
      'Who asks for the second factor when somebody signs in there: `genway` asks those who have one here, `provider` relies on the provider to ask.',
    ),
  },
  Files: {
    GENWAY_STORAGE: byDefault('local', oneOf('local', 's3'), 'Where results and uploads are stored.'),
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
      'Maximum megabytes of uploads per account before its first top-up.',
    ),
    GENWAY_UPLOAD_QUOTA_FILES_UNPAID: byDefault(
      '20',
      wholeNumber(0, 100_000),
      'Maximum number of uploads per account before its first top-up.',
    ),
    GENWAY_UPLOAD_EXPIRY_S: byDefault(
      '604800',
      KINDS.seconds,
      'Seconds after which an upload is removed if no task has used it.',
    ),
    GENWAY_S3_BUCKET: optional(KINDS.text, 'Bucket. Required with GENWAY_STORAGE=s3.'),
    GENWAY_S3_PUBLIC_URL: optional(KINDS.webUrl, 'Public URL of the bucket. Required with GENWAY_STORAGE=s3.'),
    GENWAY_S3_REGION: byDefault('us-east-1', KINDS.text, 'Region of the bucket; `auto` for Cloudflare R2.'),
    GENWAY_S3_ENDPOINT: optional(KINDS.webUrl, "Endpoint of an S3-compatible store; if not set, AWS's."),
    GENWAY_S3_FORCE_PATH_STYLE: byDefault(
      'false',
      KINDS.flag,
      'Whether the bucket name is in the path instead of the host name.',
    ),
    GENWAY_S3_ACCESS_KEY_ID: optional(KINDS.text, 'Access key; if not set, the usual AWS credential chain is used.'),
    GENWAY_S3_SECRET_ACCESS_KEY: optional(anySecret, 'Secret of that access key.'),
  },
  Upstreams: {
    GENWAY_CATALOGUE: optional(
      KINDS.text,
      "File with the models, limits, prices and routes; if not set, this version's `catalogue/catalogue.yaml`.",
    ),
    GENWAY_PROVIDERS: optional(
      KINDS.text,
      'File with the upstreams; if not set, every model is served by the simulator.',
    ),
    GENWAY_PROVIDER_CALLBACKS: byDefault(
      'false',
      KINDS.flag,
      'Whether upstreams with a callback secret are asked to announce the end of a job at GENWAY_PUBLIC_URL; polling continues.',
    ),
    GENWAY_SIMULATOR_PORT: byDefault('8090', KINDS.port, 'Port of the simulator process.'),
    GENWAY_SIMULATOR_URL: optional(
      KINDS.webUrl,
      'URL at which the other processes reach the simulator. If not set, `http://127.0.0.1:<GENWAY_SIMULATOR_PORT>`.',
    ),
    GENWAY_SIMULATOR_KEY: byDefault(
      'simulator',
      anySecret,
      'Key that the simulator expects and with which it signs callbacks; it protects nothing of value.',
    ),
    GENWAY_MODERATION_URL: optional(
      KINDS.webUrl,
      'Endpoint of the moderation service that checks each media request, such as https://moderation.example/v1/moderations; if not set, there is no check. While the service gives no verdict, requests are answered with 503.',
    ),
    GENWAY_MODERATION_KEY: optional(anySecret, 'Key of the moderation service.'),
  },
  Limits: {
    GENWAY_RATE_LIMIT_RPM: byDefault(
      '600',
      wholeNumber(1, 10_000_000),
      'Requests per minute that one API key may send, unless the key has its own limit; reads are counted separately.',
    ),
    GENWAY_READ_RATE_LIMIT_RPM: byDefault(
      '3000',
      wholeNumber(1, 10_000_000),
      'Requests per minute with which one API key may read (GET), such as polls of tasks; never fewer than its other requests.',
    ),
    GENWAY_MAX_CONCURRENT_TASKS: byDefault(
      '100',
      wholeNumber(1, 1_000_000),
      'Number of tasks of one account that may run at the same time.',
    ),
    GENWAY_TASK_DEADLINE_S: byDefault(
      '1800',
      KINDS.seconds,
      'Seconds after which an unfinished task fails with processing_timeout.',
    ),
    GENWAY_TEXT_CUTOFF_S: byDefault(
      '100',
      KINDS.seconds,
      'Seconds after which the api process cuts off a text request without streaming.',
    ),
    GENWAY_TEXT_READ_ON_S: byDefault(
      '50000',
      KINDS.seconds,
      'Seconds for which an answer is still read after its client has left, to find out the usage to charge; after that, everything that was reserved is charged, or nothing if no byte of the answer has come. The default outlasts the longest answer of the default catalogue (1,000,000 tokens) at 20 tokens a second: with a shorter limit, clients that leave get slow answers for nothing.',
    ),
    GENWAY_TEXT_SILENCE_S: byDefault(
      '3600',
      KINDS.seconds,
      'Seconds for which a text upstream may be silent while its connection is open.',
    ),
    GENWAY_POLL_MS: optional(
      wholeNumber(10, 600_000),
      'Milliseconds between polls of an upstream job, overriding the upstreams file; if not set, each protocol has its own interval.',
    ),
    GENWAY_PROVIDER_PATIENCE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds for which an upstream may contradict itself (not know a job that it accepted, not serve a file that it announced) before it is believed; with `npm start`, 5.',
    ),
    GENWAY_WEBHOOK_SCHEDULE_S: byDefault(
      '0,5,300,1800,7200,18000,36000,50400,72000,86400',
      KINDS.secondsList,
      'Seconds to wait before each attempt of a webhook delivery; there are as many attempts as numbers.',
    ),
  },
  Safety: {
    GENWAY_ALLOW_PRIVATE_ADDRESSES: byDefault(
      'false',
      KINDS.flag,
      'Allows http and private addresses in webhooks and links. Only for tests: it opens your network to clients.',
    ),
    GENWAY_REJECTED_USER_AGENTS: byDefault(
      '',
      KINDS.textList,
      'Clients whose User-Agent contains one of these words, in upper or lower case, are refused with `error code: 1010`.',
    ),
  },
  Tracing: {
    OTEL_EXPORTER_OTLP_ENDPOINT: optional(
      KINDS.webUrl,
      'OpenTelemetry collector that accepts OTLP over HTTP, such as http://collector:4318; if not set, nothing is traced.',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: optional(
      anySecret,
      'Headers for that collector, such as `authorization=Bearer%20abc`, separated by commas.',
    ),
    OTEL_TRACES_SAMPLER_ARG: byDefault(
      '1',
      KINDS.share,
      'Fraction of requests that is traced; a client that sends `traceparent` decides for its own requests.',
    ),
  },
  Running: {
    GENWAY_TEXT_PROCESSES: byDefault(
      '1',
      wholeNumber(1, 64),
      'Number of text processes behind GENWAY_TEXT_PORT, for a machine with several cores. Each has its own memory and connections to PostgreSQL.',
    ),
    GENWAY_LOG_LEVEL: byDefault(
      'info',
      oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
      'Lowest level of log lines to write.',
    ),
    GENWAY_SHUTDOWN_GRACE_S: byDefault(
      '120',
      KINDS.seconds,
      'Seconds that a stopping process gives work in progress, including streams, to finish; with `npm start`, 10.',
    ),
    GENWAY_RENDER_GRACE_S: byDefault(
      '300',
      KINDS.seconds,
      'Seconds for which a stopping worker waits for renders whose upstream answers with the files; a render that is cut off may be paid for and lost. Other work continues in other workers after 10 seconds.',
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
      'Folder in which a downloaded Temporal server is kept.',
    ),
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
