/** Builds all services of a process from what it provides. */
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { createHealthCheck } from '../telemetry/health.ts';
import { createAccessChecks } from './endpoint/access-checks.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { createRequestLimit } from './middlewares/limit-requests.ts';
import { createOpenApiDocument } from './openapi/document.ts';
import { createDescriptions } from './openapi/descriptions.ts';
import { createBatches } from '../services/batches/batches.ts';
import { createFindPrices } from '../services/money/customer-prices.ts';
import { createFairQueue } from '../services/fair-queue.ts';
import { createFindAdministrator } from '../services/people/administrator.ts';
import { createCachedFindCaller, createFindCaller } from '../services/people/find-caller.ts';
import { createSignInProviders } from '../services/people/sign-in-providers.ts';
import { createReadStatement, createReportQueue } from '../services/money/statements.ts';
import { createSumMonth } from '../services/money/month-sums.ts';
import { cacheByCatalogue } from '../services/cache-by-catalogue.ts';
import { createJudge, createModeration, watchModerator } from '../services/text/moderate.ts';
import { createPublicUrlCheck } from '../services/check-public-url.ts';
import { createReadStatus } from '../services/operations/public-status.ts';
import type { MoneyServices } from '../services/services.ts';
import { createReadWaitedTask } from '../services/tasks/waited-task.ts';
import { createUploads } from '../services/tasks/uploads.ts';
import { createResponseSockets } from './response-sockets.ts';
import { verifyCaptcha } from '../providers/captcha.ts';
import type { ApiServices, AppDependencies, HttpServices } from './services.ts';
import { createTaskCreation } from '../services/tasks/task-creation.ts';

/** Fewer in all than connections to an S3 store, because each of these answers holds one until its client has read it. */
const PICTURE_ANSWERS = { atOnce: 32, perHolder: 4 };

export function createServices(dependencies: AppDependencies, endpoints: readonly Endpoint[]): ApiServices {
  const { database, reports, encryption, storage, log, metrics, text, settings } = dependencies;
  const moderator = dependencies.moderator && watchModerator(dependencies.moderator, { metrics, log });
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
    webhookScheduleMs: settings.webhookScheduleMs,
    checkPublicUrl: createPublicUrlCheck(settings),
    get catalogue() {
      return given.catalogue();
    },
    get site() {
      return given.site();
    },
    tasks: createTasks(given),
    batches: createBatches(database),
    moderation: {
      moderate: moderator && createModeration(moderator),
      judge: createJudge(moderator),
      problem: () => moderator?.problem() ?? null,
    },
    money: createMoney(given),
    people: {
      providers: createSignInProviders(() => given.site().providers, settings.publicUrl),
      canSendMail: settings.canSendMail,
      keyPeppers: settings.keyPeppers,
      verifyCaptcha: (captcha, answer) =>
        verifyCaptcha(given.guardedClient, captcha, { ...answer, host: new URL(settings.publicUrl).hostname }),
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
  const { database, storage, settings, providerCallbacks, workflows, starter } = given;
  const { uploads } = settings;
  return {
    ...createTaskCreation(given),
    readWaitedTask: createReadWaitedTask(database),
    uploads: createUploads(database, storage, uploads),
    uploadExpiryMs: uploads.expiryMs,
    providerCallbacks,
    workflows,
    starter,
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
    responseSockets: createResponseSockets(),
    queuePictures: createFairQueue(PICTURE_ANSWERS),
  };
}
