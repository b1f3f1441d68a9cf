/** The workflows as a later version might have them: tasks start with a step that no history of this version has. */
import { sleep } from '@temporalio/workflow';
import {
  mediaTask as currentMediaTask,
  type MediaTaskInput,
  type MediaTaskOutcome,
} from '../../workflows/media-task/media-task.ts';

export { reconciliation, webhookDelivery } from '../../workflows/index.ts';

export async function mediaTask(input: MediaTaskInput): Promise<MediaTaskOutcome> {
  await sleep('1 millisecond');
  return currentMediaTask(input);
}
