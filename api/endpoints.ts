/** Every endpoint there is, in the order in which the API description lists them. */
import type { Endpoint } from './endpoint/endpoint.ts';
import { createKey, deleteKey, updateKey } from './routes/admin/keys.ts';
import { getDescription } from './routes/docs/routes.ts';
import { deleteFile, getFile, listFiles, uploadFile } from './routes/files/routes.ts';
import { isAlive, isReady } from './routes/health/routes.ts';
import { createImageTask } from './routes/images/routes.ts';
import { getMetrics } from './routes/metrics/routes.ts';
import { getModel, listModels } from './routes/models/routes.ts';
import { announceJobEnd } from './routes/provider-callbacks/routes.ts';
import { getTask, listOwnTasks } from './routes/tasks/routes.ts';
import { createVideoTask } from './routes/videos/routes.ts';
import {
  listAllDeliveries,
  listDeliveries,
  redeliver,
  redeliverAny,
  redeliverMany,
} from './routes/webhooks/deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './routes/webhooks/routes.ts';

const MEDIA = [createVideoTask, createImageTask, listOwnTasks, getTask, uploadFile, listFiles, getFile, deleteFile];
const MODELS = [listModels, getModel];
const WEBHOOKS = [
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  redeliver,
  redeliverMany,
];
const ADMINISTRATION = [createKey, updateKey, deleteKey, listAllDeliveries, redeliverAny];
const SERVICE = [isAlive, isReady, getMetrics];

/** What answers on `{base_url}`. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...MEDIA,
  ...MODELS,
  ...WEBHOOKS,
  ...ADMINISTRATION,
  ...SERVICE,
  getDescription,
  announceJobEnd,
];

/** What answers on `{text_base_url}` beside text. */
export const TEXT_ADDRESS_ENDPOINTS: readonly Endpoint[] = [...MODELS, ...SERVICE];
