/** The services of Genway, by subject, and their dependencies. */
import type { Captcha } from '../catalogue/signup.ts';
import type { CaptchaAnswer, CaptchaVerdict } from '../providers/captcha.ts';
import type { CheckoutPages } from '../providers/checkout.ts';
import type { Batches } from './batches/batches.ts';
import type { CallbackReader } from '../providers/media/upstream.ts';
import type { Logger } from 'pino';
import type { Catalogue } from '../catalogue/types.ts';
import type { Database } from '../db/database.ts';
import type { Clock } from '../db/database-clock.ts';
import type { Encryption } from '../db/encryption.ts';
import type { PicoUsd } from '../domain/money.ts';
import type { TypicalSeconds } from '../domain/task-object.ts';
import type { Task } from '../domain/task.ts';
import type { Storage } from '../storage/storage.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Readiness } from '../telemetry/health.ts';
import type { HistoryLinks } from './operations/history-link.ts';
import type { IdentityProvider } from './people/identity-provider.ts';
import type { KeyPeppers } from './people/find-caller.ts';
import type { TextService } from './text/text-service.ts';
import type { FindPrices } from './money/customer-prices.ts';
import type { ConfigurationControl } from './operations/configuration-control.ts';
import type { AssertAffordable, CreateTask } from './tasks/create-task.ts';
import type { ModelControl } from './operations/model-control.ts';
import type { UpstreamControl } from './operations/upstream-control.ts';
import type { Uploads } from './tasks/uploads.ts';
import type { TaskStarter } from './tasks/task-starter.ts';
import type { WorkflowAccess } from './tasks/workflow-access.ts';
import type { AnnounceJobEnd } from './tasks/job-announcer.ts';
import type { SumMonth } from './money/month-sums.ts';
import type { ReportQueue, ReadStatement } from './money/statements.ts';
import type { Judge, Moderate } from './text/moderate.ts';
import type { ReadStatus } from './operations/public-status.ts';
import type { StartReconciliation } from './operations/reconciliation-starter.ts';

/** The dependencies of services. */
interface Resources {
  readonly database: Database;
  /** The same database, over connections for reports, whose statements may run long. */
  readonly reports: Database;
  readonly encryption: Encryption;
  /** The store for results and uploads. */
  readonly storage: Storage;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly text: TextService;
}

export interface TaskServices {
  readonly createTask: CreateTask;
  readonly assertAffordable: AssertAffordable;
  /** Reads a task at most 200 ms late. @throws ServiceError `not_found` */
  readonly readWaitedTask: (task: Pick<Task, 'accountId' | 'id'>) => Promise<Task>;
  /** How long recent tasks of a model took; null if too few are known. */
  readonly typicalSeconds: (model: string) => Promise<TypicalSeconds | null>;
  readonly uploads: Uploads;
  /** How long an upload is kept if no task uses it. */
  readonly uploadExpiryMs: number;
  /** @throws ServiceError `bad_request` naming the first link that is not a usable image */
  readonly checkImageLinks: (urls: readonly string[]) => Promise<void>;
  readonly providerCallbacks: ProviderCallbacks;
  readonly workflows: WorkflowAccess;
  readonly starter: TaskStarter;
}

export interface ModerationServices {
  /**
   * Null without moderation.
   *
   * @throws ServiceError `content_policy_violation`, or `processing_unavailable` without a verdict
   */
  readonly moderate: Moderate | null;
  readonly judge: Judge;
  /** Why the latest check of this process had no verdict; null if it had one, or was long ago. */
  readonly problem: () => string | null;
}

export interface MoneyServices {
  readonly findPrices: FindPrices;
  /** The payment provider's pages for any amount; null without its key. */
  readonly checkout: CheckoutPages | null;
  /** The secret that signs the payment provider's events; null when payments are not taken. */
  readonly paymentWebhookSecret: string | null;
  /** The page on which customers pay, with `{account_id}` in the place of their account's id; null if unknown. */
  readonly topUpUrl: string | null;
  /** Above this amount, a manual adjustment needs a second approval; null if no amount needs one. */
  readonly secondApprovalAbove: PicoUsd | null;
  /** The database, over connections for closing months alone, so that no report keeps a month open. */
  readonly closing: Database;
  /** Revenue and cost of a month, at most 15 seconds old. */
  readonly sumMonth: SumMonth;
  readonly queueReport: ReportQueue;
  readonly readStatement: ReadStatement;
}

export interface PeopleServices {
  /** The current providers with which people may sign in. */
  readonly providers: () => readonly IdentityProvider[];
  /** Whether links are sent by e-mail, too. */
  readonly canSendMail: boolean;
  readonly keyPeppers: KeyPeppers;
  /** Asks the service of a captcha whether a person has solved it on this host. */
  readonly verifyCaptcha: (captcha: Captcha, answer: Omit<CaptchaAnswer, 'host'>) => Promise<CaptchaVerdict>;
}

export interface OperationsServices {
  readonly upstreams: UpstreamControl;
  readonly models: ModelControl;
  readonly configuration: ConfigurationControl;
  /** The pages on which operators view workflow histories. */
  readonly temporal: HistoryLinks;
  readonly startReconciliation: StartReconciliation;
  readonly checkHealth: () => Promise<Readiness>;
  readonly readStatus: ReadStatus;
}

/** The dependencies that the process provides; `createServices` builds the rest from them. */
export interface GivenServices
  extends
    Resources,
    Pick<TaskServices, 'providerCallbacks' | 'workflows' | 'starter'>,
    Pick<MoneyServices, 'closing'>,
    Pick<OperationsServices, 'upstreams' | 'models' | 'configuration' | 'startReconciliation'> {}

/** All services without HTTP, by subject. */
export interface Services extends Resources {
  /** The current catalogue. It can change between reads. */
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  /** The public address of the api process, without a trailing slash. */
  readonly publicUrl: string;
  /** The delay before each attempt of a webhook delivery. */
  readonly webhookScheduleMs: readonly number[];
  /** @throws ServiceError `bad_request` for a link that may not be followed */
  readonly checkPublicUrl: (url: string) => Promise<void>;
  readonly tasks: TaskServices;
  readonly batches: Batches;
  readonly moderation: ModerationServices;
  readonly money: MoneyServices;
  readonly people: PeopleServices;
  readonly operations: OperationsServices;
}

/** The providers that announce the end of a job, and the receiver of their announcements. */
export interface ProviderCallbacks {
  /** By the upstream's name. */
  readonly readers: ReadonlyMap<string, CallbackReader>;
  readonly announce: AnnounceJobEnd;
}
