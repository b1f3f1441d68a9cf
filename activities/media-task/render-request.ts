/** The request to an upstream, for a task on one of its routes. */
import { imageRoleOf, type MediaRoute, type RouteChanges } from '../../domain/media-route.ts';
import type { Task } from '../../domain/task.ts';
import type { RenderRequest } from '../../providers/media/adapter.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { parameterFields } from '../../providers/media/fields.ts';
import { mergeParams } from '../../providers/media/json.ts';
import { modelOf } from './routes.ts';

/** Everything in a request except the bytes of its inputs. */
export function renderRequestOf(
  task: Pick<Task, 'id' | 'accountId' | 'request' | 'deadlineAt'>,
  route: MediaRoute,
  upstream: Pick<MediaUpstream, 'callbackUrl'>,
): RenderRequest {
  const { routes: _routes, resultCheck: _resultCheck, ...inputs } = task.request;
  const callbackUrl = upstream.callbackUrl(task.id);
  return {
    ...inputs,
    taskId: task.id,
    accountId: task.accountId,
    model: modelOf(route, (inputs.images ?? []).length > 0),
    imagesAs: imageRoleOf(route, inputs.kind),
    params: mergeParams(route.params ?? {}, parameterFields(inputs.parameters, route.parameters)),
    fields: route.fields ?? {},
    changes: changesOf(route),
    deadlineAt: task.deadlineAt,
    files: new Map(),
    ...(callbackUrl !== null && { callbackUrl }),
  };
}

function changesOf({ drop = [], rename = {}, set = {}, headers = {} }: MediaRoute): RouteChanges {
  return { drop, rename, set, headers };
}
