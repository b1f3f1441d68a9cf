/** The Koa applications behind `{base_url}` and `{text_base_url}`. */
import { Router } from '@koa/router';
import Koa from 'koa';
import { serveLocalFiles } from '../storage/serve-local.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { mount, serveExactPaths } from './endpoint/mount.ts';
import { endpointsFor, TEXT_ADDRESS_ENDPOINTS } from './endpoints.ts';
import { errors, type Presenters } from './middlewares/errors.ts';
import { observe } from './middlewares/observe.ts';
import { rejectUserAgent } from './middlewares/reject-user-agent.ts';
import { requestId } from './middlewares/request-id.ts';
import { requestTarget } from './middlewares/request-target.ts';
import { type OtherAddress, unmatched } from './middlewares/unmatched.ts';
import { docsPages } from './routes/docs/routes.ts';
import type { AppDependencies, AppSettings } from './services.ts';
import { createServices } from './create-services.ts';
import type { RequestState } from './state.ts';

/** The application behind `{base_url}`: media, administration and text. */
export function createApp(dependencies: AppDependencies): Koa<RequestState> {
  const router = new Router<RequestState>({ sensitive: true });
  const endpoints = endpointsWith(dependencies.settings);
  const services = createServices(dependencies, endpoints);
  mount(router, endpoints, services);
  const { filesFolder } = dependencies.settings;
  docsPages(router, services);
  dependencies.mountPages?.(router, services);
  const files = filesFolder === null ? [] : [serveFiles(filesFolder)];
  return createFrame(router, endpoints, dependencies, [...files, serveExactPaths(endpoints, services)]);
}

/** The application behind `{text_base_url}`: text and models. */
export function createTextApp(dependencies: AppDependencies): Koa<RequestState> {
  const endpoints = endpointsWith(dependencies.settings);
  const services = createServices(dependencies, endpoints);
  const [router, all] = [new Router<RequestState>({ sensitive: true }), new Router<RequestState>({ sensitive: true })];
  mount(router, TEXT_ADDRESS_ENDPOINTS, services);
  mount(all, endpoints, services);
  const exact = serveExactPaths(TEXT_ADDRESS_ENDPOINTS, services);
  return createFrame(router, TEXT_ADDRESS_ENDPOINTS, dependencies, [exact], {
    url: dependencies.settings.publicUrl,
    router: all,
  });
}

function endpointsWith({ paymentWebhookSecret }: AppSettings): readonly Endpoint[] {
  return endpointsFor({ canTakePayments: paymentWebhookSecret !== null });
}

function createFrame(
  router: Router<RequestState>,
  endpoints: readonly Endpoint[],
  { settings, log, metrics, tracing, overload, refusals }: AppDependencies,
  before: readonly Koa.Middleware[],
  other?: OtherAddress,
): Koa<RequestState> {
  const app = new Koa<RequestState>({
    proxy: settings.trustedProxies > 0,
    // By default, Koa trusts the left-most address, which the client chooses.
    maxIpsCount: settings.trustedProxies,
  });
  app.silent = true;
  app.use(requestId);
  app.use(observe({ metrics, tracing, log, overload }));
  app.use(rejectUserAgent(settings.rejectedUserAgents));
  app.use(errors(log, settings.publicUrl, presentersOf(endpoints), refusals));
  app.use(requestTarget);
  for (const middleware of before) app.use(middleware);
  app.use(router.routes());
  app.use(unmatched(router, other));
  return app;
}

function presentersOf(endpoints: readonly Endpoint[]): Presenters {
  return new Map(endpoints.flatMap(({ path, presentError }) => (presentError ? [[path, presentError] as const] : [])));
}

function serveFiles(directory: string): Koa.Middleware {
  return serveLocalFiles({ directory, prefix: '/files/' });
}
