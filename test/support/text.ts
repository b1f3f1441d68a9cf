/** The text endpoints in this process, over real sockets, with a real database and the simulator as upstream. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { expect } from 'chai';
import type { TextBilling, TextCharge, TextOutcome } from '../../db/text-money/billing.ts';
import { createTextApp } from '../../api/app.ts';
import type { AppSettings } from '../../api/services.ts';
import { createResponseStore } from '../../services/text/stored-responses.ts';
import type { TextSettings } from '../../services/text/services.ts';
import { digestApiKey, newApiKey } from '../../services/people/api-key-digest.ts';
import { listen } from '../../api/http-server.ts';
import { CATALOGUE } from './catalogue.ts';
import { type Catalogue, type TextModel, type TextRoute } from '../../catalogue/types.ts';
import type { Clock } from '../../db/database-clock.ts';
import type { KeySettings } from '../../db/queries/api-keys.ts';
import type { Database } from '../../db/database.ts';
import type { JsonObject } from '../../domain/json.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import type { SearchService } from '../../providers/search/search-service.ts';
import { type TextUpstreamSettings } from '../../providers/text/settings.ts';
import { startTextSimulator } from './simulator.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { createTestDatabase } from './database.ts';
import { ENCRYPTION, KEY_PEPPER, testDependencies, testTextService } from './dependencies.ts';
import { createAccount, createKey } from './factories.ts';
import { useStarted } from './started.ts';
import { startTextParts } from './text-parts.ts';

/** One request as the simulator recorded it. */
export interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether the client left before the end. */
  readonly aborted: boolean;
  readonly chunks: number;
}

export interface TestText {
  readonly baseUrl: string;
  readonly database: Database;
  /** A key that may call everything. */
  readonly apiKey: string;
  /** The holds and their settlements, in order. */
  readonly charges: TextCharge[];
  readonly outcomes: TextOutcome[];
  readonly logged: () => string;
  /** The metrics, as Prometheus reads them. */
  readonly measured: () => Promise<string>;
  /** @param accountId the account of {@link apiKey} by default */
  createKey(settings: KeySettings, accountId?: string): Promise<string>;
  /** The requests that the simulator received, newest first. */
  seen(limit?: number): Promise<readonly SeenRequest[]>;
  post(path: string, body: unknown, options?: PostOptions): Promise<Response>;
  /** Sends one sentence to a model, in a format. */
  ask(format: WireFormatName, model: string, prompt: string, options?: AskOptions): Promise<Response>;
  /** The number of clients that have left before the end of their answers, once the service has noticed. */
  departures(): number;
  /** Resets the health of the upstreams. */
  resumeUpstreams(): void;
  /** Resolves when every request so far is recorded. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostOptions {
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface AskOptions extends PostOptions {
  readonly stream?: boolean;
}

export interface TestTextOptions {
  readonly settings?: Partial<TextSettings>;
  readonly app?: Partial<AppSettings>;
  /** The operator's service for searches of the web; none by default. */
  readonly search?: SearchService;
  /** Upstreams beside the simulator. */
  readonly upstreams?: readonly TextUpstreamSettings[];
  /** Models beside those of the catalogue. */
  readonly models?: readonly TextModel[];
  readonly maxSilenceMs?: number;
  /** The clock of the upstreams' health, in milliseconds; the machine's clock by default. */
  readonly upstreamClock?: () => number;
  /** The clock of the machine by default. */
  readonly clock?: Clock;
  /** A refusal of the account for clients; decided by the account by default. */
  readonly refuseHold?: (charge: TextCharge) => Error | null;
}

export async function startTestText(options: TestTextOptions = {}): Promise<TestText> {
  const [testDatabase, simulator] = await Promise.all([createTestDatabase(), startTextSimulator()]);
  const { database } = testDatabase;
  const settings = [simulator.settings, ...(options.upstreams ?? [])];
  const catalogue = testCatalogue(options.models ?? []);
  const { maxSilenceMs = 60_000, upstreamClock } = options;
  const parts = startTextParts({
    database,
    databaseUrl: testDatabase.url,
    catalogue,
    settings,
    maxSilenceMs,
    upstreamClock,
  });
  const { log, metrics, upstreams, billing } = parts;
  const { recording, charges, outcomes, settled } = recorded(billing, options.refuseHold);
  const responses = createResponseStore({ database, encryption: ENCRYPTION, log });
  const service = testTextService(database, {
    responses,
    catalogue,
    upstreams,
    billing: recording,
    log,
    ...(options.clock && { clock: options.clock }),
    ...(options.search && { search: options.search }),
    ...(options.settings && { settings: options.settings }),
  });
  const guardedClient = createGuardedClient({ allowPrivateAddresses: false });
  const app = createTextApp(
    testDependencies({
      database,
      catalogue,
      metrics,
      log,
      guardedClient,
      storage: createLocalStorage({ directory: tmpdir(), publicUrl: 'http://files.example' }),
      text: service,
      ...(options.clock && {
        clock: { ...options.clock, aheadMs: () => 0, measure: async () => {}, measured: Promise.resolve() },
      }),
      ...(options.app && { settings: options.app }),
    }),
  );
  const serve = app.callback();
  let departures = 0;
  const server = await listen(
    (request, response) => {
      const answered = serve(request, response);
      // After the listeners of the service.
      response.once('close', () => (departures += response.writableFinished ? 0 : 1));
      return answered;
    },
    '127.0.0.1',
    0,
  );
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const account = await createAccount(database, { fundedUsd: 10_000 });
  const createApiKey: TestText['createKey'] = async (settings, accountId = account.id) => {
    const apiKey = newApiKey();
    await createKey(database, { id: accountId }, settings, digestApiKey(apiKey, KEY_PEPPER));
    return apiKey;
  };
  const apiKey = await createApiKey({});
  const post: TestText['post'] = (path, body, { apiKey: key = apiKey, headers = {}, signal } = {}) =>
    fetch(baseUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'msgfmt-version': '2023-06-01',
        ...headers,
      },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  return {
    baseUrl,
    database,
    apiKey,
    charges,
    outcomes,
    logged: parts.logged,
    measured: () => metrics.render(),
    createKey: createApiKey,
    seen: (limit = 50) => seenBy(simulator.url, limit),
    post,
    departures: () => departures,
    ask: (format, model, prompt, { stream = false, ...postOptions } = {}) => {
      const { path, body } = ASK[format](model, prompt, stream);
      return post(path, body, postOptions);
    },
    resumeUpstreams: () =>
      upstreams.applyOverrides(
        settings.map(({ name: upstream }) => ({
          id: randomUUID(),
          upstream,
          model: null,
          createdAt: new Date(),
          until: null,
        })),
      ),
    idle: async () => {
      await service.idle();
      await settled();
    },
    stop: async () => {
      service.stop(0);
      await server.stop(0);
      await service.idle();
      await responses.stop();
      await guardedClient.close();
      await parts.stop();
      await simulator.stop();
      await testDatabase.drop();
    },
  };
}

/** The text endpoints for the tests of the current suite. @param options a function if they depend on what has started */
export function useTestText(options: TestTextOptions | (() => TestTextOptions) = {}): TestText {
  return useStarted(() => startTestText(typeof options === 'function' ? options() : options));
}

/** The request of a client of each format to a model with one sentence. */
export const ASK: Readonly<
  Record<WireFormatName, (model: string, prompt: string, stream: boolean) => { path: string; body: JsonObject }>
> = {
  'chat-completions': (model, prompt, stream) => ({
    path: '/v1/chat/completions',
    body: {
      model,
      stream,
      messages: [{ role: 'user', content: prompt }],
      stream_options: stream ? { include_usage: true } : null,
    },
  }),
  responses: (model, prompt, stream) => ({ path: '/v1/responses', body: { model, stream, input: prompt } }),
  messages: (model, prompt, stream) => ({
    path: '/v1/messages',
    body: { model, stream, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] },
  }),
  'generate-content': (model, prompt, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
  }),
};

/** The id of a model that answers on every format, and whose upstream speaks the given one. */
export function modelVia(format: WireFormatName): string {
  return `textc-via-${format}`;
}

function testCatalogue(models: readonly TextModel[]): Catalogue {
  const added = [...WIRE_FORMAT_NAMES.map((format) => textModel(modelVia(format), [{ format }])), ...models];
  return {
    ...CATALOGUE,
    textModels: new Map([...CATALOGUE.textModels, ...added.map((one) => [one.id, one] as const)]),
  };
}

/** A model that answers on every format. */
export function textModel(
  id: string,
  routes: readonly (Pick<TextRoute, 'format'> & Partial<TextRoute>)[],
  settings: Partial<TextModel> = {},
): TextModel {
  const [first, ...others] = routes.map((route, order) => ({
    provider: 'simulator',
    model: id,
    order,
    weight: 1,
    ...route,
  }));
  const example = CATALOGUE.textModels.get('textg-6-sol');
  if (first === undefined || example === undefined) throw new Error('a model needs a route and an example');
  return { ...example, id, formats: WIRE_FORMAT_NAMES, routes: [first, ...others], ...settings };
}

/** Bills as usual, and records all its calls. */
function recorded(billing: TextBilling, refuse: (charge: TextCharge) => Error | null = () => null) {
  const charges: TextCharge[] = [];
  const outcomes: TextOutcome[] = [];
  const settling: Promise<void>[] = [];
  const recording: TextBilling = {
    hold: async (charge) => {
      const refusal = refuse(charge);
      if (refusal !== null) throw refusal;
      const hold = await billing.hold(charge);
      charges.push(charge);
      let settled = false;
      return {
        ...hold,
        settle: async (outcome) => {
          if (settled) throw new Error('settled twice');
          settled = true;
          outcomes.push(outcome);
          const done = hold.settle(outcome);
          settling.push(done);
          await done;
        },
      };
    },
  };
  return { recording, charges, outcomes, settled: () => Promise.all(settling) };
}

/** The latest requests that a simulator received. */
export async function seenBy(simulatorUrl: string, limit: number): Promise<readonly SeenRequest[]> {
  const response = await fetch(`${simulatorUrl}/_sim/requests?limit=${limit}`);
  // The simulator's own shape.
  const { data } = (await response.json()) as { data: readonly SeenRequest[] };
  return data;
}

/** The newest row of `text_requests`, once every request so far is recorded. */
export async function lastRow(text: TestText) {
  await text.idle();
  return text.database('text_requests').orderBy('id', 'desc').first();
}

/** @param refused bodies, and a part of the message with which the address refuses them */
export function itRefusesRequests(
  text: TestText,
  path: string,
  refused: readonly (readonly [body: object, message: string])[],
): void {
  for (const [body, message] of refused) {
    it(`refuses requests with: ${message}`, async () => {
      const before = text.charges.length;
      const response = await text.post(path, body);
      const { error } = Object(await response.json());
      expect([response.status, error.type, error.code]).to.deep.equal([400, 'svc_error', 'bad_request']);
      expect(error.message).to.contain(message);
      expect(error.message).to.match(/\(request id: req_\w+\)$/);
      expect(text.charges).to.have.length(before);
    });
  }
}

export { eventually } from './eventually.ts';
