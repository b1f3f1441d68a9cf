import type Router from '@koa/router';
import type { ApiServices } from '../services/services.ts';
import type { RequestState } from '../state.ts';
import type { Endpoint } from './endpoint.ts';

/** Puts endpoints on a router. Where two paths match a request, the first one answers. */
export function mount(router: Router<RequestState>, endpoints: readonly Endpoint[], services: ApiServices): void {
  for (const { method, path, serve } of endpoints) {
    router[method](toRouterPath(path), (context) => serve(context, services));
  }
}

/** `/v1/tasks/{task_id}` as the router writes it: `/v1/tasks/:task_id`. */
function toRouterPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
