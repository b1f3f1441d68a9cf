import type Router from '@koa/router';
import type { ApiServices } from '../services/services.ts';
import type { RequestState } from '../state.ts';
import type { Endpoint } from './endpoint.ts';

/** Adds endpoints to a router. If two paths match a request, the first one answers. */
export function mount(router: Router<RequestState>, endpoints: readonly Endpoint[], services: ApiServices): void {
  for (const endpoint of endpoints) {
    const { method, path, alias } = endpoint;
    const paths = alias === undefined ? [path] : [path, alias];
    router[method](paths.map(toRouterPath), (context) => {
      context.state.endpoint = endpoint;
      return endpoint.serve(context, services);
    });
  }
}

/** Turns `/v1beta/models/{model}:generateContent` into the router's `/v1beta/models/:model\:generateContent`. */
function toRouterPath(path: string): string {
  return path.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1');
}
