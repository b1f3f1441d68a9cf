/**
 * Receives announcements of finished jobs (docs/provider-protocol.md, "Callbacks"). Not part of the public contract.
 */
import { listSubmissions } from '../../../db/queries/submissions.ts';
import { findTask } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isFinal, type Task } from '../../../domain/task.ts';
import { InvalidCallbackError } from '../../../providers/media/callbacks.ts';
import { signedBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { recordAnnouncedJob } from '../../../services/tasks/announced-job.ts';
import type { ApiServices } from '../../services.ts';

type CallbackOutcome = Parameters<ApiServices['metrics']['callbackReceived']>[0]['outcome'];

export const providerCallbackEndpoints = endpoints('Service', {
  announceJobEnd: endpoint({
    request: 'POST /v1/provider-callbacks/{provider}/{task_id}',
    access: 'open',
    summary: 'Announce the end of a job (for providers)',
    description: 'The signature of the upstream’s protocol, or a secret address, authenticates the call.',
    body: signedBody(),
    answers: { 204: { description: 'The announcement is recorded' } },
    refusals: ['invalid_signature', 'internal_error'],
    handle: async ({ params, body: readBody, context }, services) => {
      const { provider, task_id: taskId } = params;
      const { database, metrics } = services;
      const { providerCallbacks } = services.tasks;
      const upstream = providerCallbacks.readers.get(provider);
      if (upstream === undefined) throw noSuchTask();
      const note = (outcome: CallbackOutcome) => metrics.callbackReceived({ upstream: provider, outcome });
      const callback = { headers: context.headers, rawBody: await readBody() };
      const announcement = await upstream
        .readCallback(callback, taskId, context.state.query)
        .catch((error: unknown) => refuse(error, () => note('refused')));
      const isForTask = announcement.taskId === undefined || announcement.taskId === taskId;
      const task = isForTask ? await findTask(database, taskId) : null;
      // An upstream may announce only its own jobs, including those of a task that has since taken another route.
      if (!task || !(await wasSubmittedTo(services, task, provider))) {
        note('unknown_task');
        throw noSuchTask();
      }
      note('accepted');
      const { jobId } = announcement;
      if (jobId !== null) await recordAnnouncedJob(services, task, { provider, upstream, jobId });
      if (!isFinal(task.status)) await providerCallbacks.announce(taskId);
    },
  }),
});

async function wasSubmittedTo({ database }: ApiServices, task: Task, provider: string): Promise<boolean> {
  if (task.provider === provider) return true;
  return (await listSubmissions(database, task.id)).some((submission) => submission.provider === provider);
}

function refuse(error: unknown, note: () => void): never {
  if (!(error instanceof InvalidCallbackError)) throw error;
  note();
  throw new ServiceError('invalid_signature', `The callback was refused: ${error.message}.`, { status: 401 });
}

function noSuchTask(): ServiceError {
  return new ServiceError('not_found', 'This provider has no such task.');
}
