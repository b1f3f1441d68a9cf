/** Where providers announce that a job has ended (docs/provider-protocol.md, "Callbacks"). Not part of the public contract. */
import { findTask } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isFinal } from '../../../domain/task.ts';
import {
  type CallbackRequest,
  InvalidCallbackError,
  type JobAnnouncement,
  verifyCallback,
} from '../../../providers/http-jobs/callback.ts';
import { signedBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { text } from '../../openapi/json-schema.ts';

/** A job with its results is far smaller. */
const MAX_BODY_BYTES = 256 * 1024;

export const announceJobEnd = endpoint({
  id: 'announceJobEnd',
  tag: 'Service',
  method: 'post',
  path: '/v1/provider-callbacks/{provider}/{task_id}',
  access: 'open',
  summary: 'For providers: announce that a job has ended',
  description: 'Signed with the secret that the provider and the gateway share.',
  headers: [
    { name: 'x-job-timestamp', in: 'header', description: 'Unix seconds', schema: text() },
    { name: 'x-job-signature', in: 'header', description: 'Of timestamp and raw body', schema: text() },
  ],
  body: signedBody(MAX_BODY_BYTES),
  answers: { 204: { description: 'Noted' } },
  refusals: ['invalid_signature', 'internal_error'],
  handle: async ({ params, body: readBody, context }, { database, providerCallbacks }) => {
    const { provider, task_id: taskId } = params;
    const secret = providerCallbacks.secrets.get(provider);
    if (secret === undefined) throw noSuchTask();
    const announcement = verify({ headers: context.headers, rawBody: await readBody() }, secret);
    const task = announcement.taskId === taskId ? await findTask(database, taskId) : null;
    // A provider speaks about its own jobs only.
    if (task?.provider !== provider) throw noSuchTask();
    if (!isFinal(task.status)) await providerCallbacks.announce(taskId);
  },
});

function verify(request: CallbackRequest, secret: string): JobAnnouncement {
  try {
    return verifyCallback(request, secret);
  } catch (error) {
    if (!(error instanceof InvalidCallbackError)) throw error;
    throw new ServiceError('invalid_signature', `The announcement is refused: ${error.message}.`, { status: 401 });
  }
}

function noSuchTask(): ServiceError {
  return new ServiceError('not_found', 'This provider has no such task.');
}
