/** Every environment variable that Genway reads: how it is parsed, its valid values, its default and its meaning. */
import Joi from 'joi';
import { TAX_POINTS, type Tax, type TaxPoint } from './domain/billing-document.ts';
import { parseUrl } from './domain/parse-url.ts';

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

export type OneOrMore<Item> = readonly [Item, ...Item[]];

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
  share: {
    form: 'a number from 0 to 1',
    parse: toNumber,
    schema: Joi.number().min(0).max(1).required(),
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

/** The current secret and, during a rotation, others that are also accepted. */
function secrets(form: string, schema: Joi.StringSchema): Kind<OneOrMore<string>> {
  return {
    form: `${form}; several separated by commas, the current one first`,
    hidden: true,
    refusesEmpty: true,
    parse: toList,
    schema: Joi.array<OneOrMore<string>>().ordered(schema.required(), schema, schema, schema).required(),
  };
}

const RANDOM = 'such as the output of `openssl rand -hex 32`';
const adminTokens = secrets(`at least 16 characters, ${RANDOM}`, Joi.string().min(16));
const peppers = secrets(`at least 32 characters, ${RANDOM}`, Joi.string().min(32));
const encryptionKeys = secrets(`64 hexadecimal digits (32 bytes), ${RANDOM}`, Joi.string().pattern(/^[0-9a-f]{64}$/i));
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
  const url = parseUrl(filled);
  if (url === null) return false;
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK_HOSTS.includes(url.hostname));
  return isSafe && `${url.pathname}${url.search}`.includes(sample) && !url.host.includes(sample) && url.username === '';
}

const endpointUrl: Kind<string> = {
  form: 'a URL such as https://s3.example.com, without a trailing slash',
  parse: unchanged,
  schema: Joi.string()
    .pattern(/^https?:\/\/(\{bucket\}\.)?[^\s/?#{}]+(\/[^\s?#{}]*)?(?<!\/)$/)
    .required(),
};
const searchUrl: Kind<string> = {
  form: 'a URL such as https://search.example.com/search or mcp+https://search.example.com/mcp',
  parse: unchanged,
  schema: Joi.string()
    .uri({ scheme: ['http', 'https', 'mcp+http', 'mcp+https'] })
    .required(),
};
const anySecret = secretText('a non-empty secret', Joi.string());

const processCount: Kind<number | 'auto'> = {
  form: 'auto or a whole number from 1 to 64',
  parse: toNumber,
  schema: Joi.alternatives<number | 'auto'>('auto', Joi.number().integer().min(1).max(64)).required(),
};

interface Taxes {
  readonly point: TaxPoint;
  readonly taxes: readonly Tax[];
}

const taxes: Kind<Taxes> = {
  form: 'names with percentages, separated by commas, such as `VAT 19`, `GST 5, PST 9.975` or `used: VAT 19`',
  parse: (text) => {
    const [point = '', list = ''] = text.includes(':') ? text.split(':') : ['paid', text];
    const items = toList(list).map((item) => {
      const [, name, percent] = /^(.+) (\d+(?:\.\d+)?)%?$/.exec(item) ?? [];
      return { name, percent };
    });
    return { point, taxes: items };
  },
  schema: Joi.object({
    point: Joi.valid(...TAX_POINTS).required(),
    taxes: Joi.array()
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
  }).required(),
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
    TEMPORAL_TLS: byDefault(
      'false',
      KINDS.text,
      "TLS for Temporal: `true`, or a folder in the form of a Kubernetes TLS secret. The folder may have `ca.crt`, the certificate of the authority that signed the server's certificate, and `tls.crt` with `tls.key`, the client certificate for mutual TLS. An API key enables TLS as well.",
    ),
    TEMPORAL_UI_URL: byDefault('http://127.0.0.1:8233', KINDS.webUrl, 'Temporal web UI, for links shown to operators.'),
    GENWAY_WORKFLOW_BUNDLE: optional(
      KINDS.text,
      'File with the workflows, bundled at build time; if not set, the worker process bundles the workflows when it starts.',
    ),
    GENWAY_WORKER_BUILD_ID: optional(
      KINDS.text,
      'Build ID of the worker process, such as a commit. If set, Temporal uses worker versioning, so that workers of several versions can run side by side.',
    ),
  },
  Secrets: {
    GENWAY_ADMIN_TOKEN: required(
      adminTokens,
      'Bearer token for the administration endpoints, with the role operator. Create a token for each person with `genway admin-tokens`.',
    ),
    GENWAY_METRICS_TOKEN: optional(
      secretText(`at least 16 characters, ${RANDOM}`, Joi.string().min(16)),
      'Bearer token for /metrics, so that Prometheus does not need the admin token; if not set, /metrics requires GENWAY_ADMIN_TOKEN.',
    ),
    GENWAY_KEY_PEPPER: required(
      peppers,
      'Secret key of the digests (HMAC) that Genway stores instead of API keys. Without the pepper of a key, the key stops working.',
    ),
    GENWAY_ENCRYPTION_KEY: required(
      encryptionKeys,
      'Key that encrypts secrets in the database, such as webhook secrets. Genway cannot read the stored secrets with another key.',
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
      'Name and address of the seller on receipts and invoices, such as `Acme GmbH | Hauptstrasse 1 | 10115 Berlin | Tax ID: DE123456789`; the line of the tax number is optional. Payments before the seller is set have no receipt.',
    ),
    GENWAY_TAXES: optional(
      taxes,
      'Taxes that every amount includes. Receipts and credit notes state them; after `used:`, the invoices of the months in which customers spend the money state them instead.',
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
  Files: {
    GENWAY_S3_BUCKET: optional(
      KINDS.text,
      'Name of the bucket for results and uploads; if not set, Genway stores them on the local disk, in `files` of GENWAY_HOME. The AWS SDK reads its own variables, such as AWS_REGION (`auto` for Cloudflare R2), AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    ),
    GENWAY_S3_PUBLIC_URL: optional(KINDS.webUrl, 'Public URL of the bucket. Required with GENWAY_S3_BUCKET.'),
    GENWAY_S3_ENDPOINT: optional(
      endpointUrl,
      'Endpoint of an S3-compatible store; if not set, the endpoint of AWS. The name of the bucket is in the path, or in the host name if the endpoint begins with `{bucket}.`, such as https://{bucket}.s3.example.com.',
    ),
  },
  Upstreams: {
    GENWAY_CATALOGUE: optional(
      KINDS.text,
      "File with the models, limits, prices and routes; if not set, this version's `catalogue/catalogue.yaml`.",
    ),
    GENWAY_PROVIDERS: optional(KINDS.text, 'File with the upstreams; if not set, the simulator serves every model.'),
    GENWAY_SITE: optional(
      KINDS.text,
      "File with the name, the look and the public pages of the service; if not set, the name is Genway's.",
    ),
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
    GENWAY_MODERATION_URL: optional(
      KINDS.webUrl,
      'Endpoint of the moderation service that checks each media request, such as https://moderation.example/v1/moderations; if not set, Genway checks no request; with `npm start`, the simulator moderates. While the service returns no verdict, Genway answers media requests with 503.',
    ),
    GENWAY_MODERATION_KEY: optional(anySecret, 'API key of the moderation service.'),
    GENWAY_SEARCH: optional(
      searchUrl,
      'Address of a service that searches the web for models with a price for searches whose upstream does not search itself, such as https://api.tavily.com/search; with `mcp+` in front, a server of the Model Context Protocol, such as mcp+https://search.example/mcp. If not set, only upstreams search; with `npm start` and without GENWAY_PROVIDERS, the simulator searches.',
    ),
    GENWAY_SEARCH_TOKEN: optional(anySecret, 'Token for GENWAY_SEARCH, sent as `Authorization: Bearer`.'),
  },
  Limits: {
    GENWAY_RATE_LIMIT_RPM: byDefault(
      '600',
      wholeNumber(1, 10_000_000),
      'Maximum requests per minute of one API key that has no limit of its own. Reads (GET) have a limit of their own.',
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
      'OpenTelemetry collector that accepts OTLP over HTTP, such as http://collector:4318; if not set, Genway sends no traces. OpenTelemetry reads its own variables as well, such as OTEL_EXPORTER_OTLP_HEADERS.',
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
      processCount,
      'Number of text processes behind GENWAY_TEXT_PORT, for a machine with several cores. Each process has its own memory and connections to PostgreSQL. `auto`, the default of the image, is the CPU limit of the container in whole cores, or without a limit one less than the cores of the machine.',
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
    GENWAY_SHUTDOWN_GRACE_S: optional(
      KINDS.seconds,
      'Seconds for which a stopping process waits for work in progress. If not set, 120 for requests and streams, and 300 for the renders of a worker whose upstream returns the files in the answer: if the worker interrupts such a render, the vendor may charge for files that nobody received. Other work of a worker continues in other workers after 10 seconds. With `npm start`, 10.',
    ),
  },
  'Local stack': {
    GENWAY_HOME: byDefault('.genway', KINDS.text, 'Folder for the state of `npm start` and for locally stored files.'),
    GENWAY_POSTGRES_PORT: byDefault('5433', KINDS.port, 'Port of the PostgreSQL server that `npm start` runs.'),
    TEMPORAL_PORT: byDefault('7233', KINDS.port, 'Port of the Temporal server that `npm start` runs.'),
    TEMPORAL_UI_PORT: byDefault('8233', KINDS.port, 'Port of the web UI of the Temporal server that `npm start` runs.'),
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
