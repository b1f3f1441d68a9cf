import { expect } from 'chai';
import pino from 'pino';
import { startModelControl } from '../../../../services/operations/model-control.ts';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'x' };
const TEXT_MODEL = 'textg-6-sol';
const WAIT = { timeoutMs: PATIENCE_MS, pauseMs: 5 };
const REFUSAL = /is out of service for now; use another model/;

describe('api/routes/admin/models', () => {
  const app = useTestApp();
  let genway: Genway;
  let caller: TestCaller;
  let text: string;

  before(async () => {
    genway = await connectGenway(app);
    caller = await app.createAccount({ fundedUsd: 100 });
    text = await app.startText();
  });
  afterEach(async () => {
    for (const model of [VIDEO.model, TEXT_MODEL]) await genway('models', 'enable', model);
  });

  const createVideo = (headers: Record<string, string> = {}) =>
    call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, { key: caller.apiKey, body: VIDEO, headers });

  it('refuses a disabled media model with 503, keeps nothing of the request, and accepts it again once it is enabled', async () => {
    // contract 2.3:5 4.11:46 7.2:14
    const reserved = () => app.database('accounts').where({ id: caller.accountId }).first('funded_reserved');
    const before = await reserved();
    const shown = await genway('models', 'disable', VIDEO.model, '--reason', 'wrong colours', '--author', 'Ada');
    expect(field(shown, 'enabled')).to.equal('false');
    const { status, body } = await createVideo();
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([503, 'processing_unavailable', true]);
    expect(body.error.message).to.match(REFUSAL);
    expect(await reserved()).to.deep.equal(before);
    expect(field(await genway('models', 'enable', VIDEO.model), 'enabled')).to.equal('true');
    expect((await createVideo()).status).to.equal(201);
  });

  it('replays the answer of a task that was created before its model was disabled', async () => {
    const headers = { 'idempotency-key': 'before' };
    const created = await createVideo(headers);
    await genway('models', 'disable', VIDEO.model, '--reason', 'a test');
    const repeated = await createVideo(headers);
    expect(repeated).to.deep.include({ status: 201, body: created.body });
  });

  for (const [path, body] of [
    ['/v1/chat/completions', { model: TEXT_MODEL, messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/responses', { model: TEXT_MODEL, input: 'x' }],
    ['/v1/messages', { model: TEXT_MODEL, max_tokens: 64, messages: [{ role: 'user', content: 'x' }] }],
  ] as const) {
    it(`refuses a disabled text model on ${path}`, async () => {
      // contract 4.11:46
      await genway('models', 'disable', TEXT_MODEL, '--reason', 'a test');
      const headers = { 'msgfmt-version': '2023-06-01' };
      const answer = await call<{ error: { message: string } }>(text + path, { key: caller.apiKey, body, headers });
      expect(answer.status).to.equal(503);
      expect(answer.body.error.message).to.match(REFUSAL);
    });
  }

  it('applies to other processes without a restart', async () => {
    // contract 4.11:46
    const log = pino({ level: 'silent' });
    const other = startModelControl({ database: app.database, log, pauseMs: 5 });
    try {
      await genway('models', 'disable', TEXT_MODEL, '--reason', 'a test');
      await waitUntil(async () => expect(() => other.assertEnabled(TEXT_MODEL)).to.throw(REFUSAL), WAIT);
      await genway('models', 'enable', TEXT_MODEL);
      await waitUntil(async () => expect(() => other.assertEnabled(TEXT_MODEL)).to.not.throw(), WAIT);
    } finally {
      other.stop();
    }
  });

  it('refuses a key that may not call the model, whether or not the model is disabled', async () => {
    // contract 4.11:46
    const { apiKey } = await app.createAccount({ fundedUsd: 5, key: { models: ['vidtwo-1.1'] } });
    await genway('models', 'disable', VIDEO.model, '--reason', 'a test');
    expect((await call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: VIDEO })).status).to.equal(403);
  });

  it('lists models with the operator who disabled them and the reason', async () => {
    // contract 4.11:45
    await genway('models', 'disable', VIDEO.model, '--reason', 'wrong colours', '--author', 'Ada');
    const list = await genway('models', 'list');
    expect(list).to.match(/^vidone-3\.0 +video +\S.* +false +\S+ +Ada +wrong colours$/m);
    expect(list).to.match(new RegExp(`^${TEXT_MODEL} +text +\\S.* +true`, 'm'));
  });

  it('answers 404 for a model that is not in the catalogue', async () => {
    expect(await genway('models', 'disable', 'nobody/1', '--reason', 'a test')).to.contain('There is no such model.');
  });
});
