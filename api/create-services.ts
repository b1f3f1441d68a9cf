/** Builds all services of a process from what it provides. */
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { findTypicalSeconds } from '../db/queries/typical-seconds.ts';
import { createHealthCheck } from '../telemetry/health.ts';
import { createAccessChecks } from './endpoint/access-checks.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { createRequestLimit } from './middlewares/limit-requests.ts';
import { createOpenApiDocument } from './openapi/document.ts';
import { createDescriptions } from './openapi/descriptions.ts';
import { createImageRequestParser } from './routes/images/schema.ts';
import { createVideoRequestParser } from './routes/videos/schema.ts';
import { cached } from '../services/cached.ts';
import { createFindPrices } from '../services/money/customer-prices.ts';
import { createFairQueue } from '../services/fair-queue.ts';
import { createFindAdministrator } from '../services/people/administrator.ts';
import { createAffordabilityCheck, createTaskCreator } from '../services/tasks/create-task.ts';
import { createCachedFindCaller, createFindCaller } from '../services/people/find-caller.ts';
import { createReadStatement, createReportQueue } from '../services/money/statements.ts';
import { createSumMonth } from '../services/money/month-sums.ts';
import { createImageLinkCheck } from '../services/tasks/image-links.ts';
import { cacheByCatalogue } from '../services/cache-by-catalogue.ts';
import { createJudge, createModeration } from '../services/text/moderate.ts';
import { isPublicHttpsUrl } from '../providers/guard/public-url.ts';
import { createPublicUrlCheck } from '../services/check-public-url.ts';
import { createReadStatus } from '../services/operations/public-status.ts';
import type { MoneyServices } from '../services/services.ts';
import { createReadWaitedTask } from '../services/tasks/waited-task.ts';
import { createUploads } from '../services/tasks/uploads.ts';
import type { ApiServices, AppDependencies, HttpServices } from './services.ts';

/** Fewer in all than connections to an S3 store, because each of these answers holds one until its client has read it. */
const PICTURE_ANSWERS = { atOnce: 32, perHolder: 4 };
const TYPICAL_SECONDS_CACHE = { forMs: 10_000, maxEntries: 100 };

export function createServices(dependencies: AppDependencies, endpoints: readonly Endpoint[]): ApiServices {
  const { database, reports, encryption, storage, log, metrics, text, moderator, settings } = dependencies;
  const given: Given = { ...dependencies, clock: dependencies.clock ?? createDatabaseClock(database) };
  return {
    database,
    reports,
    encryption,
    storage,
    log,
    metrics,
    text,
    clock: given.clock,
    publicUrl: settings.publicUrl,
    checkPublicUrl: createPublicUrlCheck(settings),
    get catalogue() {
      return given.catalogue();
    },
    tasks: createTasks(given),
    moderation: { moderate: moderator && createModeration(moderator), judge: createJudge(moderator) },
    money: createMoney(given),
    people: {
      openIdProvider: given.openIdProvider,
      canSendMail: settings.canSendMail,
      keyPeppers: settings.keyPeppers,
    },
    operations: {
      upstreams: given.upstreams,
      models: given.models,
      configuration: given.configuration,
      startReconciliation: given.startReconciliation,
      temporal: settings.temporal,
      checkHealth: createHealthCheck({ ...given, isTemporalReachable: () => given.workflows.isReachable() }),
      readStatus: createReadStatus(given),
    },
    http: createHttp(given, endpoints),
  };
}

type Given = AppDependencies & { readonly clock: DatabaseClock };

function createTasks(given: Given): ApiServices['tasks'] {
  const { database, storage, settings, catalogue, providerCallbacks, workflows, starter } = given;
  const { tasks: limits, uploads } = settings;
  const isInputLink = (text: string) => storage.keyOf(text) !== null || isPublicHttpsUrl(text, settings);
  const typicalSeconds = cached((model) => findTypicalSeconds(database, model), TYPICAL_SECONDS_CACHE);
  const video = cacheByCatalogue(catalogue, (current) => createVideoRequestParser(current, { isInputLink }));
  const image = cacheByCatalogue(catalogue, (current) => createImageRequestParser(current, { isInputLink }));
  return {
    createTask: createTaskCreator({ ...given, limits, typicalSeconds }),
    assertAffordable: createAffordabilityCheck(database, limits),
    readWaitedTask: createReadWaitedTask(database),
    typicalSeconds,
    uploads: createUploads(database, storage, uploads),
    uploadExpiryMs: uploads.expiryMs,
    checkImageLinks: createImageLinkCheck({ client: given.guardedClient, storage }),
    providerCallbacks,
    workflows,
    starter,
    parseVideoRequest: (body) => video()(body),
    parseImageRequest: (body) => image()(body),
  };
}

function createMoney({ database, reports, closing, settings }: Given): MoneyServices {
  const { checkout, paymentWebhookSecret, topUpUrl, secondApprovalAbove } = settings;
  const queueReport = createReportQueue();
  return {
    checkout,
    paymentWebhookSecret,
    topUpUrl,
    secondApprovalAbove,
    closing,
    findPrices: createFindPrices(database),
    sumMonth: createSumMonth(reports),
    queueReport,
    readStatement: createReadStatement(reports, queueReport),
  };
}

function createHttp(
  { database, clock, catalogue, text, settings, ...given }: Given,
  endpoints: readonly Endpoint[],
): HttpServices {
  const { keyPeppers, adminTokens, metricsToken } = settings;
  const requestLimit = createRequestLimit(database, settings.requestLimits);
  const findTextCaller = given.findTextCaller ?? createCachedFindCaller(database, keyPeppers);
  const descriptions = cacheByCatalogue(catalogue, (current) =>
    createDescriptions(() => createOpenApiDocument(endpoints, current)),
  );
  const findCaller = createFindCaller(database, keyPeppers);
  return {
    findCaller,
    accessChecks: createAccessChecks({
      findCaller,
      findTextCaller,
      clock,
      requestLimit,
      findAdministrator: createFindAdministrator(database, adminTokens),
      metricsToken,
      isRealtimeOffered: () => text.realtime.isOffered(),
    }),
    requestLimit,
    get descriptions() {
      return descriptions();
    },
    queuePictures: createFairQueue(PICTURE_ANSWERS),
  };
}
