import { Agent, request, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { callbackReaders } from '../support/media.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { FORM_HEADERS, formOf } from '../support/forms.ts';
import { withinOneMinute } from '../support/one-minute.ts';
import { startTestText, type TestText } from '../support/text.ts';

const MIB = 2 ** 20;
/** Far less than the time for which a refused client may continue to send. */
const SOON_MS = 4_000;
const JSON_TYPE = { 'content-type': 'application/json' };

interface Refusal {
  readonly status: number;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A length larger than the sent body. */
  readonly announcedBytes?: number;
  /** A suffix that makes a path match no endpoint. */
  readonly suffix?: string;
}

interface Caller {
  readonly authorization: string | null;
  readonly prepare?: Prepare;
}

/** Uses up the limit of requests of a minute. */
type Prepare = () => Promise<unknown>;

const REFUSALS: Readonly<Record<string, Refusal>> = {
  'without a key': { status: 401 },
  'with a wrong key': { status: 401, headers: { authorization: 'Bearer sk-wrong', 'x-api-key': 'sk-wrong' } },
  'with another method': { status: 405, method: 'PROPFIND' },
  'to no path': { status: 404, suffix: '/of/nothing/at/all' },
  'from a client that is turned away': { status: 403, headers: { 'user-agent': 'unwanted/1.0' } },
};

/** The answers to requests with a valid key. */
const LATER_REFUSALS: Readonly<Record<string, Refusal>> = {
  'that announces too much': { status: 413, announcedBytes: 300 * MIB },
  'beyond the limit of requests': { status: 429 },
};

/** Path parameters where the endpoint checks their form; elsewhere any value does. */
const VALUES: Readonly<Record<string, string>> = {
  model: 'texth-4-argon',
  webhook_id: newId('webhookEndpoint'),
  delivery_id: newId('delivery'),
  task_id: newId('task'),
  batch_id: newId('batch'),
};

function filled(path: string): string {
  // A model in the path that does not answer the call is refused before the body.
  const values: Readonly<Record<string, string>> = {
    ...VALUES,
    ...(/embedcontent/i.test(path) && { model: 'textm-embed' }),
  };
  return path.replaceAll(/\{(\w+)\}/g, (_parameter, name: string) => values[name] ?? 'x');
}

describe('an answer that is sent before the body was read', () => {
  let app: TestApp;
  let text: TestText;
  let endpoints: readonly {
    readonly method: string;
    readonly path: string;
    readonly isText: boolean;
    readonly isRead?: boolean | undefined;
  }[];

  before(async () => {
    const rejectedUserAgents = ['unwanted'];
    [app, text] = await Promise.all([
      startTestApp({
        settings: { rejectedUserAgents, paymentWebhookSecret: 'whsec_of_a_test' },
        providerCallbacks: { readers: callbackReaders('simulator', 'the-secret-of-both'), announce: async () => {} },
      }),
      startTestText({ app: { rejectedUserAgents } }),
    ]);
    endpoints = endpointsFor({ canTakePayments: true })
      .filter(({ method }) => method === 'post' || method === 'patch')
      .map(({ method, path, tag, isRead }) => {
        return { method: method.toUpperCase(), path: filled(path), isText: tag === 'Text', isRead };
      });
    expect(endpoints.length).to.be.greaterThan(15);
  });
  after(() => Promise.all([app.stop(), text.stop()]));

  interface Sent {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
    readonly announcedBytes?: number | undefined;
  }

  /** Returns a request of another key. */
  type Healthy = () => Promise<Sent & { readonly url: string }>;

  /** Sends a request and returns its answer, also when it arrives before the whole body was sent. */
  function send(agent: Agent, url: string, { method, headers, body, announcedBytes }: Sent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = announcedBytes ?? body.byteLength;
      const sent = request(url, { agent, method, headers: { ...headers, 'content-length': String(length) } });
      sent.setTimeout(SOON_MS, () => sent.destroy(new Error(`no answer to ${method} ${url}`)));
      sent.on('error', reject);
      sent.once('response', (response) => {
        response.resume().once('close', () => {
          if (announcedBytes !== undefined) sent.destroy();
          resolve(response);
        });
      });
      sent.write(body);
      if (announcedBytes === undefined) sent.end();
    });
  }

  /**
   * Sends a request that is refused, and then one of another key on the same connection, as a pooling client does.
   *
   * @param prepare called in the minute of the request
   */
  async function expectRefusal(
    url: string,
    sent: Sent,
    status: number,
    { prepare = async () => {}, healthy }: { readonly prepare?: Prepare | undefined; readonly healthy: Healthy },
  ) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const refused = await withinOneMinute(app.database, async () => {
        await prepare();
        return send(agent, url, sent);
      });
      expect(refused.statusCode, `${sent.method} ${url}`).to.equal(status);
      const next = await healthy();
      expect((await send(agent, next.url, next)).statusCode, `the request after ${sent.method} ${url}`).to.equal(200);
    } finally {
      agent.destroy();
    }
  }

  const good = { model: 'textg-6-sol', messages: [{ role: 'user', content: 'Say exactly: hello' }] };

  function healthyAt(isText: boolean, key: string) {
    const authorization = `Bearer ${key}`;
    return async () =>
      isText
        ? {
            url: `${text.baseUrl}/v1/chat/completions`,
            method: 'POST',
            headers: { ...JSON_TYPE, authorization },
            body: Buffer.from(JSON.stringify(good)),
          }
        : { url: `${app.baseUrl}/v1/models`, method: 'GET', headers: { authorization }, body: new Uint8Array() };
  }

  async function refuseEverywhere(refusal: Refusal, callerOf: (isText: boolean) => Caller) {
    const other = { app: (await app.createAccount()).apiKey, text: text.apiKey };
    for (const { method, path, isText, isRead } of endpoints) {
      // These are signed instead, which only the body shows.
      const isSigned = path.startsWith('/v1/provider-callbacks') || path.startsWith('/v1/payment-events');
      if (isSigned && refusal.status !== 405 && refusal.status !== 404 && refusal.status !== 403) continue;
      // These count as reads, which have a high limit.
      if (refusal.status === 429 && isRead === true) continue;
      const { authorization, prepare } = callerOf(isText);
      // The administration has no limits of requests.
      if (authorization !== null && path.startsWith('/admin/')) continue;
      const url = (isText ? text.baseUrl : app.baseUrl) + path + (refusal.suffix ?? '');
      const headers = {
        ...JSON_TYPE,
        'msgfmt-version': '1',
        ...(authorization && { authorization }),
        ...refusal.headers,
      };
      const sent = {
        method: refusal.method ?? method,
        headers,
        body: Buffer.alloc(3 * MIB, ' '),
        ...announced(refusal),
      };
      const healthy = healthyAt(isText, isText ? other.text : other.app);
      await expectRefusal(url, sent, refusal.status, { prepare, healthy });
    }
  }

  const announced = ({ announcedBytes }: Refusal) => ({ announcedBytes });

  for (const [how, refusal] of Object.entries(REFUSALS)) {
    it(`keeps the connection of a request ${how} usable, at every endpoint`, async () => {
      await refuseEverywhere(refusal, () => ({ authorization: null }));
    });
  }

  for (const [how, refusal] of Object.entries(LATER_REFUSALS)) {
    it(`keeps the connection of a request ${how} usable, at every endpoint`, async () => {
      const settings = refusal.status === 429 ? { rateLimitRpm: 1 } : {};
      const { apiKey } = await app.createAccount({ key: settings });
      const textKey = await text.createKey(settings);
      // For each endpoint again, since the minute may end in between.
      const useUp = async (isText: boolean): Promise<unknown> => {
        if (isText) return text.post('/v1/chat/completions', {}, { apiKey: textKey });
        const headers = { authorization: `Bearer ${apiKey}` };
        await fetch(`${app.baseUrl}/v1/balance`, { headers });
        return fetch(`${app.baseUrl}/v1/videos/tasks`, { method: 'POST', headers });
      };
      await refuseEverywhere(refusal, (isText) => ({
        authorization: `Bearer ${isText ? textKey : apiKey}`,
        ...(refusal.status === 429 && { prepare: () => useUp(isText) }),
      }));
    });
  }

  it('keeps the connection of an upload of a refused type usable', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 1 });
    const body = formOf({ filename: 'a.html', content: '<p>'.repeat(MIB) });
    const headers = { ...FORM_HEADERS, authorization: `Bearer ${apiKey}` };
    const other = await app.createAccount();
    for (let time = 0; time < 3; time += 1) {
      const sent = { method: 'POST', headers, body };
      await expectRefusal(`${app.baseUrl}/v1/files`, sent, 400, { healthy: healthyAt(false, other.apiKey) });
    }
  });
});
