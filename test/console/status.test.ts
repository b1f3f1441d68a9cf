import { expect } from 'chai';
import axe from 'axe-core';
import pino from 'pino';
import type { Database } from '../../db/database.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { createCallRecorder } from '../../db/call-recorder.ts';
import { WEBHOOK_CHECKS } from '../../db/queries/availability.ts';
import { startWebhookChecks } from '../../services/webhooks/webhook-checks.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import type { TestApp } from '../support/app.ts';
import { describeInBrowser } from '../support/browser.ts';
import { startTestConsole, useTestConsole } from '../support/console.ts';
import { call } from '../support/stack.ts';
import { ASK } from '../support/text.ts';

interface Status {
  readonly status: string;
  readonly updated_at: number;
  readonly services: readonly {
    readonly kind: string;
    readonly family: string | null;
    readonly status: string;
    readonly availability: number | null;
    readonly days: readonly { readonly date: string; readonly status: string | null }[];
  }[];
}

const DAYS = Array.from({ length: 90 }, (_, day) => day);
const VENDOR = 'simulator';
const FAMILIES = [...new Set([...CATALOGUE.textModels.values()].map(({ family }) => family))];

const OPTIONS = {
  textUpstreams: [{ name: VENDOR, apiKeys: ['key-1234'], baseUrls: baseUrlsAt('http://127.0.0.1:9') }],
} as const;

/** Writes calls of every route of a family into an hour of each of these days. */
async function recordCalls(
  database: Database,
  family: string,
  days: readonly number[],
  failures: (daysAgo: number) => number,
): Promise<void> {
  const models = [...CATALOGUE.textModels.values()].filter((model) => model.family === family);
  const targets = new Map(models.flatMap(({ routes }) => routes).map((route) => [route.model, route]));
  await database('upstream_calls').insert(
    [...targets.values()].flatMap(({ provider, format, model }) =>
      days.map((daysAgo) => ({
        span: 'hour',
        start: database.raw(`date_trunc('hour', now() - ? * interval '1 day')`, [daysAgo]),
        upstream: provider,
        format,
        model,
        key: '1234',
        requests: 100,
        failures: failures(daysAgo),
        durations: [],
      })),
    ),
  );
}

const read = async (app: TestApp) => (await call<Status>(`${app.baseUrl}/status.json`)).body;

describe('the public status', () => {
  const app = useTestConsole(OPTIONS);
  before(() => recordCalls(app.database, 'textg', [3, 89, 90], (daysAgo) => (daysAgo === 3 ? 20 : 100)));

  it('shows text by family, videos, images and webhooks to everybody, for 90 days', async () => {
    // contract 4.12:7
    const { status, services } = await read(app);
    expect(status).to.equal('operational');
    expect(services.map(({ kind, family }) => family ?? kind)).to.deep.equal([
      ...FAMILIES,
      'video',
      'image',
      'webhooks',
    ]);
    for (const { days } of services) {
      expect(days).to.have.length(90);
      expect(days.at(-1)?.date).to.equal(new Date().toISOString().slice(0, 10));
    }
  });

  it('shows past days unchanged, and no day without requests', async () => {
    // contract 4.12:9
    const { services } = await read(app);
    const textg = services.find(({ family }) => family === 'textg');
    const known = textg?.days.flatMap(({ status }, index) => (status === null ? [] : [`${89 - index} ${status}`]));
    expect(known).to.deep.equal(['89 outage', '3 degraded']);
    expect(textg?.availability).to.be.closeTo(0.4, 1e-9);
    // contract 4.12:91
    expect(textg?.status).to.equal('operational');
  });

  it('may be read by any site, and is cached for some seconds', async () => {
    // contract 4.12:10
    const first = await fetch(`${app.baseUrl}/status.json`);
    expect(first.headers.get('cache-control')).to.equal('public, max-age=10');
    expect(first.headers.get('access-control-allow-origin')).to.equal('*');
    await recordCalls(app.database, 'textf', [0], () => 100);
    const text = await first.text();
    const again = Array.from({ length: 100 }, async () => (await fetch(`${app.baseUrl}/status.json`)).text());
    expect((await Promise.all(again)).every((one) => one === text)).to.equal(true);
  });

  it('names no vendor and no upstream, as data and as a page', async () => {
    // contract 4.12:10
    for (const path of ['/status', '/status.json']) {
      const text = await (await fetch(app.baseUrl + path)).text();
      expect(text).to.include('textg');
      // The page has its own address, for search engines.
      const others = text.replaceAll(`"${app.baseUrl}/status"`, '');
      expect(others).to.not.match(new RegExp(`${VENDOR}|127\\.0\\.0\\.1|1234`));
    }
  });

  it('is in the language of its reader', async () => {
    const page = await fetch(`${app.baseUrl}/status`, { headers: { 'accept-language': 'zh-CN' } });
    expect([page.headers.get('vary'), await page.text()].join(' ')).to.match(/Accept-Language.*lang="zh".*服务状态/s);
  });

  it('has the checks of webhooks, which fail while deliveries are late', async () => {
    const calls = createCallRecorder(app.database, pino({ level: 'silent' }));
    const checks = startWebhookChecks({ database: app.database, calls, log: pino({ level: 'silent' }), pauseMs: 10 });
    await waitUntil(
      async () => {
        await calls.flush();
        const [row] = await app.database('upstream_calls').where({ model: WEBHOOK_CHECKS.model, span: 'hour' });
        expect(row?.requests).to.be.at.least(2);
        expect(row?.failures).to.equal(0);
      },
      { timeoutMs: PATIENCE_MS },
    );
    await checks.stop();
    await calls.stop();
  });
});

describe('the public status of a gateway', () => {
  it('has an outage of models that no upstream serves', async () => {
    // contract 4.12:8
    const app = await startTestConsole();
    const { status, services } = await read(app);
    expect(status).to.equal('degraded');
    const outages = services.filter((service) => service.status === 'outage').map(({ family }) => family);
    expect(outages).to.deep.equal(FAMILIES);
    await app.stop();
  });

  it('has an outage of a family while its only upstream does not answer, and not of other families', async () => {
    const app = await startTestConsole(OPTIONS);
    const { apiKey } = await app.createAccount({ fundedUsd: 1 });
    const model = [...CATALOGUE.textModels.values()].find(({ family }) => family === 'textf')?.id ?? '';
    const { path, body } = ASK['chat-completions'](model, 'Hi', false);
    for (let request = 0; request < 6; request += 1) {
      expect((await call(app.baseUrl + path, { key: apiKey, body })).status).to.equal(503);
    }
    const { status, services } = await read(app);
    const statusOf = (name: string) => services.find(({ family }) => family === name)?.status;
    expect([status, statusOf('textf'), statusOf('texti')]).to.deep.equal(['degraded', 'outage', 'operational']);
    await app.stop();
  });

  it('is degraded for videos while an upstream fails the jobs of a model that it accepted', async () => {
    const app = await startTestConsole(OPTIONS);
    const calls = createCallRecorder(app.database, pino({ level: 'silent' }));
    const [{ provider: upstream, model } = { provider: '', model: '' }] =
      CATALOGUE.videoModels.get('vidone-3.0')?.routes ?? [];
    const failure = { fault: 'processing_failed', status: null, message: 'The render failed.' };
    for (let job = 0; job < 20; job += 1)
      calls.record({ upstream, format: '', model, key: '' }, { accountId: 'acc_1', durationMs: 60_000, failure });
    await calls.stop();
    const { services } = await read(app);
    expect(services.find(({ kind }) => kind === 'video')?.status).to.equal('degraded');
    expect(services.find(({ kind }) => kind === 'image')?.status).to.equal('operational');
    await app.stop();
  });

  it('is operational again when an upstream has made too few calls for five minutes, whatever it failed before', async () => {
    // contract 4.12:90
    const app = await startTestConsole(OPTIONS);
    await recordCalls(app.database, 'textf', [0], () => 100);
    await app
      .database('upstream_calls')
      .update({ span: 'minute', start: app.database.raw("now() - interval '10 minutes'") });
    expect(await read(app)).to.include({ status: 'operational' });
    await app.stop();
  });

  it('is 503 with a page about the outage while the database is unavailable', async () => {
    const app = await startTestConsole(OPTIONS);
    await app.database.schema.renameTable('upstream_calls', 'away');
    const page = await fetch(`${app.baseUrl}/status`);
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([503, 'text/html; charset=utf-8']);
    expect(await page.text()).to.include('cannot read the status');
    await app.stop();
  });
});

describeInBrowser('the status page', (browser) => {
  const app = useTestConsole(OPTIONS);
  before(async () => {
    for (const [index, family] of FAMILIES.entries()) {
      const bad = (daysAgo: number): number => [3, 70][daysAgo % 2] ?? 0;
      await recordCalls(app.database, family, DAYS.slice(index), (day) => (day % (index + 13) === 12 ? bad(day) : 0));
    }
  });

  for (const [width, colorScheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const) {
    it(`is accessible without a script, ${colorScheme} and ${width} pixels wide`, async () => {
      const tab = await browser.open(app.baseUrl, { width, colorScheme });
      await tab.page.goto('/status');
      expect(await tab.page.locator('script').count()).to.equal(0);
      expect(await tab.takeBytes()).to.be.within(1, 110_000);
      expect(await tab.page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).to.equal(true);
      await tab.page.evaluate(axe.source);
      const violations = await tab.page.evaluate<unknown[]>('axe.run().then(({ violations }) => violations)');
      expect(violations).to.deep.equal([]);
      expect(tab.complaints).to.deep.equal([]);
      await tab.close();
    });
  }
});
