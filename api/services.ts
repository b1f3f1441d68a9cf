/** The dependencies of the routes. `api/create-services.ts` builds them once per process. */
import type { AccessChecks } from './endpoint/access-checks.ts';
import type { RequestLimit } from './middlewares/limit-requests.ts';
import type { Descriptions } from './openapi/descriptions.ts';
import type { FindCaller } from '../services/people/find-caller.ts';
import type { FairQueue } from '../services/fair-queue.ts';
import type {
  GivenServices,
  MoneyServices,
  OperationsServices,
  PeopleServices,
  Services,
} from '../services/services.ts';
import type { Router } from '@koa/router';
import type { Site } from '../catalogue/site.ts';
import type { Catalogue } from '../catalogue/types.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { RefusalRecorder } from '../db/refusal-recorder.ts';
import type { Moderator } from '../providers/moderation.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { GuardedClient } from '../providers/guard/address-guard.ts';
import type { RequestLimits } from './middlewares/limit-requests.ts';
import type { Overload } from './overload.ts';
import type { TaskLimits } from '../services/tasks/create-task.ts';
import type { TaskParsers } from '../services/tasks/task-creation.ts';
import type { UploadLimits } from '../services/tasks/uploads.ts';
import type { ResponseSockets } from './response-sockets.ts';
import type { RequestState } from './state.ts';

/** All services, with the ones that read requests. */
export interface ApiServices extends Services {
  readonly http: HttpServices;
  /** The current name and look of the service. */
  readonly site: Site;
  readonly tasks: Services['tasks'] & TaskParsers;
}

export interface HttpServices {
  readonly accessChecks: AccessChecks;
  readonly requestLimit: RequestLimit;
  /** Queries the database every time. */
  readonly findCaller: FindCaller;
  readonly descriptions: Descriptions;
  /** The connections for responses over WebSockets. */
  readonly responseSockets: ResponseSockets;
  /** Sends answers with pictures, a few of an account at a time. */
  readonly queuePictures: FairQueue;
}

export interface AppDependencies extends GivenServices {
  /** The current catalogue. */
  readonly catalogue: () => Catalogue;
  /** The current name and look of the service. */
  readonly site: () => Site;
  /** The database's clock; by default a new one, created from the database. */
  readonly clock?: DatabaseClock;
  /** Finds the callers of text; by default in the database. */
  readonly findTextCaller?: FindCaller;
  /** Readiness checks of further connection pools. */
  readonly pings?: readonly (() => Promise<unknown>)[];
  /** Whether the process stops; never by default. */
  readonly isStopping?: () => boolean;
  /** Moderates the inputs of media requests; null without moderation. */
  readonly moderator: Moderator | null;
  /** Fetches links that clients send. */
  readonly guardedClient: GuardedClient;
  readonly tracing: Tracing;
  /** Learns the senders of requests. If absent, the process refuses no request for overload. */
  readonly overload?: Overload;
  /** Records refused calls. If absent, nothing records them. */
  readonly refusals?: Pick<RefusalRecorder, 'record'>;
  /** Adds pages for people to the router. */
  readonly mountPages?: (router: Router<RequestState>, services: ApiServices) => void;
  readonly settings: AppSettings;
}

export interface AppSettings
  extends
    Pick<ApiServices, 'publicUrl' | 'webhookScheduleMs'>,
    Pick<MoneyServices, 'checkout' | 'secondApprovalAbove' | 'paymentWebhookSecret' | 'topUpUrl'>,
    Pick<PeopleServices, 'keyPeppers' | 'canSendMail'>,
    Pick<OperationsServices, 'temporal'> {
  /** The tokens in the environment: the current one, and a second one during a replacement. */
  readonly adminTokens: readonly string[];
  /** The bearer token that Prometheus sends. */
  readonly metricsToken: string;
  readonly requestLimits: RequestLimits;
  readonly tasks: TaskLimits;
  readonly uploads: UploadLimits;
  /** The number of proxies in front that append to `X-Forwarded-For`. */
  readonly trustedProxies: number;
  /** Allows links to use http and loopback addresses; for tests only. */
  readonly allowPrivateAddresses: boolean;
  /** Clients whose `User-Agent` contains one of these are rejected. */
  readonly rejectedUserAgents: readonly string[];
  /** The folder of stored files, when this process serves them. */
  readonly filesFolder: string | null;
}
