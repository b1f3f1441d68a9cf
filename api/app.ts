/** The Koa applications behind `{base_url}` and `{text_base_url}`. */
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Catalogue } from '../catalogue/types.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import type { RefusalRecorder } from '../db/refusal-recorder.ts';
import { findTypicalSeconds } from '../db/queries/typical-seconds.ts';
import type { Moderator } from '../providers/moderation.ts';
import { serveLocalFiles } from '../storage/serve-local.ts';
import { createHealthCheck } from '../telemetry/health.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { GuardedClient } from '../providers/guard/address-guard.ts';
import { createAccessChecks } from './endpoint/access-checks.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { mount } from './endpoint/mount.ts';
import { endpointsFor, TEXT_ADDRESS_ENDPOINTS } from './endpoints.ts';
import { errors, type Presenters } from './middlewares/errors.ts';
import { createRequestLimit, type RequestLimits } from './middlewares/limit-requests.ts';
import { observe } from './middlewares/observe.ts';
import { rejectUserAgent } from './middlewares/reject-user-agent.ts';
import { requestId } from './middlewares/request-id.ts';
import { requestTarget } from './middlewares/request-target.ts';
import { type OtherAddress, unmatched } from './middlewares/unmatched.ts';
import { createOpenApiDocument } from './openapi/document.ts';
import { createDescriptions } from './openapi/descriptions.ts';
import type { Overload } from './overload.ts';
import { docsPages } from './routes/docs/routes.ts';
import { createImageRequestParser } from './routes/images/schema.ts';
import { createVideoRequestParser } from './routes/videos/schema.ts';
import { cached } from '../services/cached.ts';
import { createFindPrices } from '../services/money/customer-prices.ts';
import { createFairQueue } from '../services/fair-queue.ts';
import { createFindAdministrator } from '../services/people/administrator.ts';
import { createAffordabilityCheck, createTaskCreator, type TaskLimits } from '../services/tasks/create-task.ts';
import { createCachedFindCaller, createFindCaller } from '../services/people/find-caller.ts';
import { createReadStatement, createReportQueue } from '../services/money/statements.ts';
import { createSumMonth } from '../services/money/month-sums.ts';
import { createImageLinkCheck } from '../services/tasks/image-links.ts';
import { cacheByCatalogue } from '../services/cache-by-catalogue.ts';
import { createJudge, createModeration } from '../services/text/moderate.ts';
import { createAddressCheck, isPublicHttpsUrl } from '../services/public-address.ts';
import { createReadStatus } from '../services/operations/public-status.ts';
import type { ApiServices } from './services.ts';
import type { GivenServices } from '../services/services.ts';
import { createReadWaitedTask } from '../services/tasks/waited-task.ts';
import { createUploads, type UploadLimits } from '../services/tasks/uploads.ts';
import type { RequestState } from './state.ts';

export interface AppDependencies extends GivenServices {
  /** The current catalogue. */
  readonly catalogue: () => Catalogue;
  /** The database's clock; by default a new one, created from the database. */
  readonly clock?: DatabaseClock;
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

export interface AppSettings extends Pick<
  ApiServices,
  | 'checkout'
  | 'secondApprovalAbove'
  | 'keyPeppers'
  | 'paymentWebhookSecret'
  | 'publicUrl'
  | 'canSendMail'
  | 'temporal'
  | 'topUpUrl'
> {
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

/** Fewer in all than connections to an S3 store, because each of these answers holds one until its client has read it. */
const PICTURE_ANSWERS = { atOnce: 32, perHolder: 4 };
const TYPICAL_SECONDS_CACHE = { forMs: 10_000, maxEntries: 100 };

/** The application behind `{base_url}`: media, administration and text. */
export function createApp(dependencies: AppDependencies): Koa<RequestState> {
  const services = createServices(dependencies);
  const router = new Router<RequestState>({ sensitive: true });
  const endpoints = endpointsWith(dependencies.settings);
  mount(router, endpoints, services);
  const { filesFolder } = dependencies.settings;
  docsPages(router, () => services.descriptions);
  dependencies.mountPages?.(router, services);
  return createFrame(router, endpoints, dependencies, filesFolder === null ? [] : [serveFiles(filesFolder)]);
}

/** The application behind `{text_base_url}`: text and models. */
export function createTextApp(dependencies: AppDependencies): Koa<RequestState> {
  const services = createServices(dependencies);
  const [router, all] = [new Router<RequestState>({ sensitive: true }), new Router<RequestState>({ sensitive: true })];
  mount(router, TEXT_ADDRESS_ENDPOINTS, services);
  mount(all, endpointsWith(dependencies.settings), services);
  return createFrame(router, TEXT_ADDRESS_ENDPOINTS, dependencies, [], {
    url: dependencies.settings.publicUrl,
    router: all,
  });
}

function endpointsWith({ paymentWebhookSecret }: AppSettings): readonly Endpoint[] {
  return endpointsFor({ canTakePayments: paymentWebhookSecret !== null });
}

function createFrame(
  router: Router<RequestState>,
  endpoints: readonly Endpoint[],
  { settings, log, metrics, tracing, overload, refusals }: AppDependencies,
  before: readonly Koa.Middleware[],
  other?: OtherAddress,
): Koa<RequestState> {
  const app = new Koa<RequestState>({
    proxy: settings.trustedProxies > 0,
    // By default, Koa trusts the left-most address, which the client chooses.
    maxIpsCount: settings.trustedProxies,
  });
  app.silent = true;
  app.use(requestId);
  app.use(observe({ metrics, tracing, log, overload }));
  app.use(rejectUserAgent(settings.rejectedUserAgents));
  app.use(errors(log, settings.publicUrl, presentersOf(endpoints), refusals));
  app.use(requestTarget);
  for (const middleware of before) app.use(middleware);
  app.use(router.routes());
  app.use(unmatched(router, other));
  return app;
}

function presentersOf(endpoints: readonly Endpoint[]): Presenters {
  return new Map(endpoints.flatMap(({ path, presentError }) => (presentError ? [[path, presentError] as const] : [])));
}

function serveFiles(directory: string): Koa.Middleware {
  return serveLocalFiles({ directory, prefix: '/files/' });
}

function createRequestParsers(
  catalogue: AppDependencies['catalogue'],
  isInputLink: (text: string) => boolean,
): Pick<ApiServices, 'parseVideoRequest' | 'parseImageRequest'> {
  const video = cacheByCatalogue(catalogue, (current) => createVideoRequestParser(current, { isInputLink }));
  const image = cacheByCatalogue(catalogue, (current) => createImageRequestParser(current, { isInputLink }));
  return { parseVideoRequest: (body) => video()(body), parseImageRequest: (body) => image()(body) };
}

function createServices({
  catalogue,
  pings = [],
  moderator,
  guardedClient,
  settings,
  ...given
}: AppDependencies): ApiServices {
  const { database, starter, workflows, metrics, storage } = given;
  const { clock = createDatabaseClock(database) } = given;
  const { adminTokens, metricsToken, requestLimits, tasks, uploads, ...forHandlers } = settings;
  const requestLimit = createRequestLimit(database, requestLimits);
  const isInputLink = (text: string) => storage.keyOf(text) !== null || isPublicHttpsUrl(text, settings);
  const typicalSeconds = cached((model) => findTypicalSeconds(database, model), TYPICAL_SECONDS_CACHE);
  const queueReport = createReportQueue();
  const descriptions = cacheByCatalogue(catalogue, (current) =>
    createDescriptions(() => createOpenApiDocument(endpointsWith(settings), current)),
  );
  return {
    ...given,
    ...forHandlers,
    get catalogue() {
      return catalogue();
    },
    clock,
    uploads: createUploads(database, storage, uploads),
    uploadExpiryMs: uploads.expiryMs,
    accessChecks: createAccessChecks({
      findCaller: createFindCaller(database, settings.keyPeppers),
      findTextCaller: createCachedFindCaller(database, settings.keyPeppers),
      clock,
      requestLimit,
      findAdministrator: createFindAdministrator(database, adminTokens),
      metricsToken,
    }),
    requestLimit,
    checkHealth: createHealthCheck({
      database,
      clock,
      pings,
      isTemporalReachable: () => workflows.isReachable(),
      ...(given.isStopping && { isStopping: given.isStopping }),
    }),
    get descriptions() {
      return descriptions();
    },
    ...createRequestParsers(catalogue, isInputLink),
    findPrices: createFindPrices(database),
    assertAffordable: createAffordabilityCheck(database, tasks),
    createTask: createTaskCreator({ database, storage, starter, metrics, limits: tasks, typicalSeconds, clock }),
    checkPublicAddress: createAddressCheck(settings),
    checkImageLinks: createImageLinkCheck({ client: guardedClient, storage }),
    moderate: moderator && createModeration(moderator),
    judge: createJudge(moderator),
    sumMonth: createSumMonth(given.reports),
    queueReport,
    queuePictures: createFairQueue(PICTURE_ANSWERS),
    readWaitedTask: createReadWaitedTask(database),
    readStatement: createReadStatement(given.reports, queueReport),
    readStatus: createReadStatus({ ...given, catalogue, clock }),
    typicalSeconds,
  };
}
