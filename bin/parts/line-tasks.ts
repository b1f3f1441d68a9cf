/** Creates and cancels the tasks of batches' lines, in the worker process. */
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createTaskCreation, type TaskCreationParts } from '../../services/tasks/task-creation.ts';
import type { Config } from '../../config.ts';
import { createHttpModerator } from '../../providers/moderation.ts';
import type { LineTasks } from '../../services/batches/start-task.ts';
import { createFindPrices } from '../../services/money/customer-prices.ts';
import type { ModelControl } from '../../services/operations/model-control.ts';
import { cancelOwnTask } from '../../services/tasks/cancel-task.ts';
import { createTaskStarter } from '../../services/tasks/task-starter.ts';
import { createWorkflowAccess } from '../../services/tasks/workflow-access.ts';
import { createModeration, watchModerator } from '../../services/text/moderate.ts';
import { taskLimits } from './task-limits.ts';

interface LineTaskParts extends Omit<TaskCreationParts, 'settings' | 'starter'> {
  readonly temporal: Client;
  readonly models: ModelControl;
  readonly log: Logger;
}

export interface OpenLineTasks {
  readonly tasks: LineTasks;
  close(): Promise<void>;
}

export function openLineTasks(config: Config, parts: LineTaskParts): OpenLineTasks {
  const { database, clock, metrics, temporal, models } = parts;
  const moderator = config.moderation ? createHttpModerator(config.moderation) : null;
  const limits = taskLimits(config);
  const starter = createTaskStarter({ ...parts, client: temporal });
  const { parseVideoRequest, parseImageRequest, checkImageLinks, ...tasks } = createTaskCreation({
    ...parts,
    // The relay starts the tasks, because accounts take turns there.
    starter: { ...starter, tryReserveSlot: () => false },
    settings: { allowPrivateAddresses: config.edge.allowPrivateAddresses, tasks: limits },
  });
  const cancelling = { database, metrics, tasks: { workflows: createWorkflowAccess(temporal), starter } };
  return {
    tasks: {
      clock,
      tasks,
      limits,
      money: { findPrices: createFindPrices(database) },
      moderation: { moderate: moderator && createModeration(watchModerator(moderator, parts)) },
      operations: { models },
      endpoints: {
        '/v1/videos/tasks': { parse: parseVideoRequest },
        '/v1/images/tasks': { parse: parseImageRequest, checkLinks: checkImageLinks },
      },
      cancelTask: (task) => cancelOwnTask(cancelling, task),
    },
    close: async () => {
      await starter.stop();
      await moderator?.close();
    },
  };
}
