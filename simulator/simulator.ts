/**
 * The simulator: a stand-in for the upstream models. It is a server of its own, so that clients meet real sockets, and it
 * follows directives in prompts (see `directives.ts`) to simulate every fault.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { INSPECTION_PREFIX, inspectionRoutes } from './inspection.ts';
import { createCallbackSender } from './jobs/callback.ts';
import { jobRoutes } from './jobs/routes.ts';
import { createJobStore } from './jobs/store.ts';
import { moderationRoutes } from './moderation.ts';
import { createRequestLog } from './request-log.ts';
import { createRouter } from './router.ts';
import { createResultSender } from './jobs/results.ts';
import { callRoutes } from './realtime/calls.ts';
import { createRealtimeUpgrades, type RealtimeUpgrades } from './realtime/upgrade.ts';
import { textRoutes } from './text/routes.ts';
import { vendorRoutes } from './vendors/vendors.ts';

const DEFAULT_RENDER_MS = 200;
const DEFAULT_MAX_JOBS = 50_000;
/** Longer than clients keep idle connections, so that they never write into one that closes. */
const KEEP_ALIVE_MS = 65_000;

export interface SimulatorOptions {
  /** The credential that clients must send; any is accepted when absent. */
  readonly apiKey?: string;
  /** Keys the signature of callbacks; none are sent when absent. */
  readonly callbackSecret?: string;
  /** The duration of a render without a directive. */
  readonly renderMs?: number;
  /** The number of jobs that are kept; the oldest are dropped. */
  readonly maxJobs?: number;
}

export interface Simulator {
  readonly realtime: Pick<RealtimeUpgrades, 'finished' | 'breakOff' | 'silence'>;
  /**
   * Starts to answer.
   *
   * @param port 0 for any free port
   * @returns its address, e.g. `http://127.0.0.1:8090`
   */
  listen(port: number, host: string): Promise<string>;
  /** Stops at once, even in the middle of answers. */
  close(): Promise<void>;
}

export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const store = createJobStore(options.maxJobs ?? DEFAULT_MAX_JOBS);
  const log = createRequestLog();
  const { apiKey, callbackSecret, renderMs = DEFAULT_RENDER_MS } = options;
  const callbacks = callbackSecret === undefined ? undefined : createCallbackSender(callbackSecret);
  const results = createResultSender();
  const realtime = createRealtimeUpgrades(apiKey);
  const routes = [
    ...textRoutes(apiKey),
    ...jobRoutes({ store, apiKey, callbacks, renderMs, results }),
    ...vendorRoutes({ apiKey, callbackSecret, renderMs, results }),
    ...moderationRoutes,
    ...callRoutes(apiKey, realtime.calls),
    ...inspectionRoutes(store, log, realtime),
  ];
  const router = createRouter(routes, (request) => {
    if (!request.url.pathname.startsWith(INSPECTION_PREFIX)) log.add(request);
  });
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, router);
  server.on('upgrade', (request, socket, head) => realtime.accept(request, socket, head));

  return {
    realtime,
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(urlOf(server.address()));
        });
      }),
    close: () =>
      new Promise((resolve) => {
        callbacks?.close();
        realtime.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('the simulator listens on TCP only');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}
