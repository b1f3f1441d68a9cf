import { expect } from 'chai';
import { createCallRecorder } from '../../../../db/call-recorder.ts';
import { startUpstreamControl } from '../../../../services/operations/upstream-control.ts';
import { CATALOGUE } from '../../../support/catalogue.ts';
import pino from 'pino';
import { createTextUpstreams } from '../../../../providers/text/text-upstreams.ts';
import { settleSubmission } from '../../../../db/queries/submissions.ts';
import { createFundedKey, createTaskRow, openTaskSubmission } from '../../../support/factories.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';
import { useScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { eventually } from '../../../support/eventually.ts';

const MODEL = 'textc-M3';
const ANSWER = '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}';
const NO_CALLS = { requests: 0, failures: 0, p50_ms: null, p95_ms: null };

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly format: string;
  readonly model: string;
  readonly key: string;
  readonly state: string;
  readonly cause: string | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly requests: number;
  readonly failures: number;
  readonly last_failure: { readonly fault: string; readonly status: number; readonly message: string } | null;
}

describe('api/routes/admin/upstreams', () => {
  let genway: Genway;
  let status = 200;
  let words = ANSWER;
  let apiKey = '';

  const upstream = useScriptedUpstream((_request, response) => response.writeHead(status).end(words));
  const app = useTestApp(() => ({
    textUpstreams: [{ name: 'simulator', apiKeys: ['sk-one-1111', 'sk-two-2222'], baseUrls: upstream.baseUrls }],
  }));
  before(async () => {
    ({ apiKey } = await app.createAccount({ fundedUsd: 100 }));
    genway = await connectGenway(app);
  });

  beforeEach(async () => {
    status = 200;
    words = ANSWER;
    await order('simulator', 'resume', {});
  });

  async function ask(): Promise<Response> {
    return fetch(`${app.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }),
    });
  }

  async function allRows(): Promise<readonly Row[]> {
    const url = `${app.baseUrl}/admin/v1/upstreams`;
    return (await call<{ data: readonly Row[] }>(url, { key: app.adminToken })).body.data;
  }

  async function rows(): Promise<readonly Row[]> {
    return (await allRows()).filter(({ model }) => model === MODEL);
  }

  function order(name: string, kind: 'rest' | 'resume', body: object) {
    const url = `${app.baseUrl}/admin/v1/upstreams/${name}/${kind}`;
    return call<ErrorBody & { data: Record<string, unknown> }>(url, { key: app.adminToken, body });
  }

  it('shows each route of a text model: four characters of its key, its health, and its requests', async () => {
    // contract 4.11:40
    const [one, two, ...others] = await rows();
    expect(others).to.deep.equal([]);
    expect([one?.key, two?.key]).to.deep.equal(['1111', '2222']);
    expect(one).to.deep.include({ name: 'simulator', kind: 'text', format: 'chat-completions', model: MODEL });
    expect(one).to.deep.include({ state: 'ok', cause: null, since: null, until: null });

    status = 401;
    expect((await ask()).status).to.equal(503);
    for (const row of await rows()) {
      expect(row).to.deep.include({ state: 'resting', cause: 'key_refused', requests: 1, failures: 1 });
      expect(Date.parse(row.until ?? '') - Date.parse(row.since ?? '')).to.be.within(8_000, 10_000);
      expect(row.last_failure).to.include({ fault: 'key_refused', status: 401 });
    }
  });

  it('shows each route of a media model, and why its circuit is open', async () => {
    // contract 4.11:40
    const url = `${app.baseUrl}/admin/v1/upstreams`;
    const mediaRow = async () => {
      const { body } = await call<{ data: readonly Row[] }>(url, { key: app.adminToken });
      return body.data.find(({ kind, model }) => kind === 'media' && model === 'vidone-3.0');
    };
    expect(await mediaRow()).to.deep.equal({
      name: 'simulator',
      kind: 'media',
      protocol: null,
      model: 'vidone-3.0',
      key: null,
      state: 'ok',
      cause: null,
      since: null,
      until: null,
      open_in: 0,
      ...NO_CALLS,
      last_5_minutes: NO_CALLS,
      last_day: NO_CALLS,
      last_failure: null,
    });
    const task = await createTaskRow(app.database, await createFundedKey(app.database));
    const submission = await openTaskSubmission(app.database, task, { model: 'vidone-3.0' });
    await settleSubmission(app.database, submission, {
      outcome: 'not_taken',
      evidence: 'the answer',
      code: 'access_refused',
      detail: 'the upstream answered 401',
    });
    expect(await mediaRow()).to.include({ state: 'resting', cause: 'access_refused' });
    await order('simulator', 'resume', { reason: 'paid' });
    expect(await mediaRow()).to.include({ state: 'ok', cause: null });
    await order('simulator', 'rest', { seconds: 600, reason: 'maintenance' });
    expect(await mediaRow()).to.include({ state: 'resting', cause: 'operator' });
  });

  it('shows in the timeline of a request each attempted route, with the upstream’s message', async () => {
    status = 429;
    words = '{"error":{"message":"Too many of you"}}';
    const requestId = (await ask()).headers.get('x-request-id') ?? '';
    await rows();
    const timeline = await eventually(async () => {
      const { status: found, body } = await call<{ data: { events: readonly { text: string }[] } }>(
        `${app.baseUrl}/admin/v1/find/${requestId}`,
        { key: app.adminToken },
      );
      return found === 200 ? body.data.events.map(({ text }) => text) : undefined;
    });
    expect(timeline.filter((text) => text.startsWith('Attempt'))).to.have.length(2);
    expect(timeline.find((text) => text.startsWith('Attempt 1'))).to.match(
      /simulator as textc-M3 \(chat-completions, key …\d{4}\): HTTP 429, rate_limited, Too many of you; next after \d+ ms/,
    );
  });

  it('disables an upstream, so that it gets no requests, and enables it again', async () => {
    // contract 4.11:41
    const rested = await order('simulator', 'rest', { seconds: 600, reason: 'maintenance', author: 'Ada' });
    expect(rested.status).to.equal(200);
    expect(rested.body.data).to.include({ upstream: 'simulator', kind: 'rest', author: 'Ada', reason: 'maintenance' });
    expect((await rows())[0]).to.deep.include({ state: 'resting', cause: 'operator' });
    const before = (await rows())[0]?.requests;
    const refused = await ask();
    expect(refused.status).to.equal(503);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(595, 600);
    expect((await rows())[0]?.requests).to.equal(before);

    expect((await order('simulator', 'resume', {})).body.data).to.include({ kind: 'resume', until: null });
    expect((await ask()).status).to.equal(200);
  });

  it('disables one model of an upstream, until a later order covers it', async () => {
    // contract 4.11:41
    const model = 'vidone-3.0';
    const paused = async () => (await allRows()).filter(({ cause }) => cause === 'operator').map((row) => row.model);
    expect((await order('simulator', 'rest', { seconds: 600, reason: 'x', model: 'none' })).status).to.equal(404);
    const rested = await order('simulator', 'rest', { seconds: 600, reason: 'maintenance', model });
    expect(rested.body.data).to.include({ upstream: 'simulator', model });
    expect(await paused()).to.deep.equal([model]);
    expect((await ask()).status).to.equal(200);
    expect((await order('simulator', 'resume', {})).body.data).to.include({ model: null });
    expect(await paused()).to.deep.equal([]);
  });

  it('clears the recorded failures of an upstream when it is enabled again', async () => {
    // contract 4.11:41
    status = 402;
    await ask();
    expect((await rows())[0]?.state).to.equal('resting');
    await order('simulator', 'resume', { reason: 'paid' });
    expect((await rows())[0]).to.deep.include({ state: 'ok', cause: null });
  });

  it('applies in every process, including those that start later', async () => {
    // contract 4.11:41
    const upstreams = createTextUpstreams([{ name: 'simulator', apiKeys: ['k'], baseUrls: upstream.baseUrls }], 1_000, {
      traced: (_name, dispatcher) => dispatcher,
      answered: () => {},
      attempted: () => {},
    });
    const log = pino({ level: 'silent' });
    await order('simulator', 'rest', { seconds: 600, reason: 'maintenance' });
    const calls = createCallRecorder(app.database, log);
    const other = startUpstreamControl({
      database: app.database,
      calls,
      catalogue: () => CATALOGUE,
      upstreams,
      log,
      pauseMs: 5,
    });
    await eventually(() => other.listText().every(({ cause }) => cause === 'operator'));
    await order('simulator', 'resume', {});
    await eventually(() => other.listText().every(({ state }) => state === 'ok'));
    other.stop();
    await calls.stop();
    await upstreams.close();
  });

  it('refuses names to which no model has a route, and an open circuit without an end or a reason', async () => {
    // contract 4.11:41
    expect((await order('nobody', 'rest', { seconds: 1, reason: 'x' })).status).to.equal(404);
    expect((await order('nobody', 'resume', {})).status).to.equal(404);
    for (const body of [
      { seconds: 0, reason: 'x' },
      { seconds: 10 ** 9, reason: 'x' },
      { seconds: 5 },
      { reason: 'x' },
    ]) {
      expect((await order('simulator', 'rest', body)).status).to.equal(400);
    }
    expect((await rows())[0]?.state).to.equal('ok');
  });

  it('does the same by the command', async () => {
    expect(await genway('upstreams')).to.match(new RegExp(`simulator +chat-completions +${MODEL} +1111 +ok`));
    expect(field(await genway('upstreams', 'rest', 'simulator', '--seconds', '60', '--reason', 'x'), 'kind')).to.equal(
      'rest',
    );
    expect(await genway('upstreams', 'list')).to.match(/resting +operator/);
    expect(field(await genway('upstreams', 'resume', 'simulator', '--author', 'Ada'), 'author')).to.equal('Ada');
    expect(await genway('upstreams', 'list')).to.not.contain('operator');
    expect(await genway('upstreams', 'rest', 'nobody', '--seconds', '60', '--reason', 'x')).to.contain(
      'no such upstream',
    );
  });
});
