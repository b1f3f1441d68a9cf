import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { ApiServices } from '../services.ts';
import type { RequestState } from '../state.ts';
import type { Endpoint } from './endpoint.ts';
import { parameterNames } from './path.ts';

/**
 * Adds endpoints to a router. If two paths match a request, the first one answers, but a path without parameters takes
 * precedence for all methods: `GET /v1/videos/tasks` is never `GET /v1/videos/{task_id}`, although it only has `POST`.
 */
export function mount(router: Router<RequestState>, endpoints: readonly Endpoint[], services: ApiServices): void {
  const exactPaths = new Set(endpoints.map(({ path }) => path).filter((path) => parameterNames(path).length === 0));
  for (const endpoint of endpoints) {
    const { method, path, alias } = endpoint;
    const paths = alias === undefined ? [path] : [path, alias];
    router[method](paths.map(toRouterPath), (context, next) => {
      if (path !== context.path && exactPaths.has(context.path)) return next();
      context.state.endpoint = endpoint;
      return endpoint.serve(context, services);
    });
  }
}

/**
 * Serves the paths without parameters, which most requests have. One lookup finds the endpoint, whereas the router compares a
 * request with every path.
 */
export function serveExactPaths(endpoints: readonly Endpoint[], services: ApiServices): Middleware<RequestState> {
  const exact = new Map(
    endpoints
      .filter(({ path }) => parameterNames(path).length === 0)
      .map((endpoint) => [`${endpoint.method.toUpperCase()} ${endpoint.path}`, endpoint]),
  );
  return (context, next) => {
    const endpoint = exact.get(`${context.method} ${context.path}`);
    if (endpoint === undefined) return next();
    context.state.endpoint = endpoint;
    return endpoint.serve(Object.assign(context, { params: {} }), services);
  };
}

/** Turns `/v1beta/models/{model}:generateContent` into the router's `/v1beta/models/:model\:generateContent`. */
function toRouterPath(path: string): string {
  return path.replaceAll(':', String.raw`\:`).replaceAll(/\{(\w+)\}/g, ':$1');
}
