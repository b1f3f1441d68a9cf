/** Creates media tasks, for the endpoints of the api process and for the lines of batches. */
import type { Database } from '../../db/database.ts';
import type { Clock } from '../../db/database-clock.ts';
import { findTypicalSeconds } from '../../db/queries/typical-seconds.ts';
import type { AddressPolicy, GuardedClient } from '../../providers/guard/address-guard.ts';
import { isPublicHttpsUrl } from '../../providers/guard/public-url.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { cacheByCatalogue } from '../cache-by-catalogue.ts';
import { cached } from '../cached.ts';
import type { TaskServices } from '../services.ts';
import { createAffordabilityCheck, createTaskCreator, type TaskLimits, type TaskStarting } from './create-task.ts';
import { createImageLinkCheck } from './image-links.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createImageRequestParser, type ValidatedImageRequest } from '../input/image-request.ts';
import { createVideoRequestParser, type ValidatedVideoRequest } from '../input/video-request.ts';

export interface TaskCreationParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly storage: Storage;
  readonly catalogue: () => Catalogue;
  readonly starter: TaskStarting;
  /** Fetches links that clients send. */
  readonly guardedClient: GuardedClient;
  readonly metrics: Metrics;
  readonly settings: AddressPolicy & { readonly tasks: TaskLimits };
}

export interface TaskParsers {
  /** @throws ServiceError `bad_request` */
  readonly parseVideoRequest: (body: unknown) => ValidatedVideoRequest;
  /** @throws ServiceError `bad_request` */
  readonly parseImageRequest: (body: unknown) => ValidatedImageRequest;
}

type TaskCreation = TaskParsers &
  Pick<TaskServices, 'createTask' | 'assertAffordable' | 'typicalSeconds' | 'checkImageLinks'>;

const TYPICAL_SECONDS_CACHE = { forMs: 10_000, maxEntries: 100 };

export function createTaskCreation(parts: TaskCreationParts): TaskCreation {
  const { database, storage, catalogue, guardedClient, settings } = parts;
  const { tasks: limits } = settings;
  const isInputLink = (text: string) => storage.keyOf(text) !== null || isPublicHttpsUrl(text, settings);
  const typicalSeconds = cached((model) => findTypicalSeconds(database, model), TYPICAL_SECONDS_CACHE);
  const video = cacheByCatalogue(catalogue, (current) => createVideoRequestParser(current, { isInputLink }));
  const image = cacheByCatalogue(catalogue, (current) => createImageRequestParser(current, { isInputLink }));
  return {
    createTask: createTaskCreator({ ...parts, limits, typicalSeconds }),
    assertAffordable: createAffordabilityCheck(database, limits),
    typicalSeconds,
    checkImageLinks: createImageLinkCheck({ client: guardedClient, storage }),
    parseVideoRequest: (body) => video()(body),
    parseImageRequest: (body) => image()(body),
  };
}
