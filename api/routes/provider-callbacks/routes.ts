/** Where providers announce that a job has ended (docs/provider-protocol.md, "Callbacks"). Not part of the public contract. */
import type Router from '@koa/router';
import { findTask } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isFinal } from '../../../domain/task.ts';
import {
  type CallbackRequest,
  InvalidCallbackError,
  type JobAnnouncement,
  verifyCallback,
} from '../../../providers/http-jobs/callback.ts';
import { readBody } from '../../middlewares/json-body.ts';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';

/** A job with its results is far smaller. */
const MAX_BODY_BYTES = 256 * 1024;

export function providerCallbackRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, providerCallbacks } = services;

  router.post('/v1/provider-callbacks/:provider/:taskId', async (context) => {
    const { provider = '', taskId = '' } = context.params;
    const secret = providerCallbacks.secrets.get(provider);
    if (secret === undefined) throw noSuchTask();
    const rawBody = await readBody(context.req, MAX_BODY_BYTES);
    const announcement = verify({ headers: context.headers, rawBody }, secret);
    const task = announcement.taskId === taskId ? await findTask(database, taskId) : null;
    // A provider speaks about its own jobs only.
    if (task?.provider !== provider) throw noSuchTask();
    if (!isFinal(task.status)) await providerCallbacks.announce(taskId);
    context.status = 204;
  });
}

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
