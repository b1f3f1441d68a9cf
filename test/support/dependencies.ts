/** The default parts of applications in tests: nothing starts workflows, and nothing moderates. */
import type { Logger } from 'pino';
import type { AppDependencies, AppSettings } from '../../api/services.ts';
import { createResponseStore } from '../../services/text/stored-responses.ts';
import { createTextService, type TextService } from '../../services/text/text-service.ts';
import type { TextServices, TextSettings } from '../../services/text/services.ts';
import { CATALOGUE } from './catalogue.ts';
import { OWN_SITE } from '../../catalogue/site.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { MACHINE_CLOCK } from '../../db/database-clock.ts';
import type { Database } from '../../db/database.ts';
import { createEncryption } from '../../db/encryption.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { NO_TRACING } from '../../telemetry/tracing.ts';
import { NO_STARTER } from './starter.ts';

export const KEY_PEPPER = Buffer.alloc(32, 1);
export const ENCRYPTION = createEncryption(Buffer.alloc(32, 2));
export const METRICS_TOKEN = 'the-token-of-prometheus';
export const ADMIN_TOKEN = 'the-token-of-the-operators';

/** A Temporal without workflows. */
const NO_WORKFLOWS: AppDependencies['workflows'] = {
  isReachable: async () => true,
  describe: async () => null,
  read: async () => null,
  readEnding: async () => null,
  cancel: async () => false,
  cancelByCustomer: async () => null,
};
/** No text model has an upstream. */
const NO_UPSTREAMS: AppDependencies['upstreams'] = {
  list: async () => [],
  listText: () => [],
  hasRoute: () => true,
  applyOverrides: async () => {},
  stop: () => {},
};
/** The files never change. */
const NO_FILES: AppDependencies['configuration'] = {
  show: () => ({ process: 'test', catalogueVersion: 'test', digest: '', since: new Date(0), refusal: null }),
  preview: async () => null,
  apply: async () => {},
};
/** Every model is sold. */
export const ALL_MODELS: AppDependencies['models'] = {
  assertEnabled: () => {},
  disabledBy: () => null,
  applyOverrides: async () => {},
  stop: () => {},
};
const AMPLE_QUOTA = { bytes: 2 ** 40, files: 1_000_000 };

const SETTINGS: AppSettings = {
  publicUrl: 'http://127.0.0.1',
  webhookScheduleMs: [0, 5_000, 300_000],
  canSendMail: false,
  adminTokens: [ADMIN_TOKEN],
  metricsToken: METRICS_TOKEN,
  keyPeppers: [KEY_PEPPER],
  paymentWebhookSecret: null,
  checkout: null,
  topUpUrl: null,
  secondApprovalAbove: null,
  requestLimits: { requestsPerMinute: 1_000_000, readsPerMinute: 1_000_000 },
  tasks: { deadlineMs: 60_000, concurrentTasks: 10 },
  uploads: { neverToppedUp: AMPLE_QUOTA, toppedUp: AMPLE_QUOTA, expiryMs: 60_000 },
  trustedProxies: 0,
  allowPrivateAddresses: false,
  rejectedUserAgents: [],
  temporal: { uiUrl: 'http://temporal.example', namespace: 'default' },
  filesFolder: null,
};

type Needed = 'database' | 'storage' | 'guardedClient' | 'log' | 'text';

export interface GivenDependencies
  extends Partial<Omit<AppDependencies, Needed | 'settings' | 'catalogue'>>, Pick<AppDependencies, Needed> {
  readonly catalogue?: Catalogue;
  readonly settings?: Partial<AppSettings>;
}

export function testDependencies({
  database,
  catalogue = CATALOGUE,
  settings = {},
  ...given
}: GivenDependencies): AppDependencies {
  return {
    database,
    reports: database,
    closing: database,
    catalogue: () => catalogue,
    site: () => OWN_SITE,
    configuration: NO_FILES,
    encryption: ENCRYPTION,
    starter: NO_STARTER,
    workflows: NO_WORKFLOWS,
    moderator: null,
    providerCallbacks: { readers: new Map(), announce: async () => {} },
    startReconciliation: async () => {},
    metrics: createMetrics(),
    tracing: NO_TRACING,
    upstreams: NO_UPSTREAMS,
    models: ALL_MODELS,
    ...given,
    settings: { ...SETTINGS, ...settings },
  };
}

interface TestTextServices
  extends
    Partial<Pick<TextServices, 'clock' | 'assertEnabled' | 'responses' | 'search'>>,
    Pick<TextServices, 'upstreams' | 'billing'> {
  readonly catalogue: TextServices['catalogue'];
  readonly log: Logger;
  readonly settings?: Partial<TextSettings>;
}

export function testTextService(
  database: Database,
  { settings = {}, catalogue, ...given }: TestTextServices,
): TextService {
  return createTextService({
    database,
    assertEnabled: () => {},
    search: null,
    clock: MACHINE_CLOCK,
    encryption: ENCRYPTION,
    responses: createResponseStore({ database, encryption: ENCRYPTION, log: given.log }),
    ...given,
    catalogue: () => catalogue,
    settings: { cutoffMs: null, keepAliveMs: 15_000, stallMs: 60_000, readOnMs: 60_000, ...settings },
  });
}
