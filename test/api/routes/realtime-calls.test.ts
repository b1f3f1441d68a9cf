/**
 * Calls over WebRTC, with a real database and the simulator as upstream: contract 4.16. The simulator has no media, so a
 * WebSocket to the simulator stands in for the client's data channel.
 */
import { expect } from 'chai';
import { OFFER } from '../../../lab/stack/offer.ts';
import { newId } from '../../../domain/ids.ts';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { useTestApp, type ErrorBody } from '../../support/app.ts';
import { eventually } from '../../support/eventually.ts';
import { openRealtime, refusalOfRealtime, speak, type TestSession, userMessage } from '../../support/realtime.ts';
import { call } from '../../support/stack.ts';

const MODEL = 'demo-realtime';
const SIMULATOR_KEY = 'sk-of-the-simulator';
const TEXT = { output_modalities: ['text'] };

interface OpenedCall {
  readonly id: string;
  /** The client at the upstream. */
  readonly client: TestSession;
}

describe('Calls over WebRTC', () => {
  const app = useTestApp({ simulatesText: true });
  const opened: TestSession[] = [];
  afterEach(() => {
    for (const session of opened.splice(0)) session.close();
  });
  const url = (): string => `${app.baseUrl}/v1/realtime/calls`;

  const post = async (key: string, body: string | FormData, headers: Record<string, string> = {}, query = '') =>
    fetch(`${url()}${query}`, { method: 'POST', headers: { authorization: `Bearer ${key}`, ...headers }, body });
  const postSdp = (key: string, query = `?model=${MODEL}`, headers: Record<string, string> = {}) =>
    post(key, OFFER, { 'content-type': 'application/sdp', ...headers }, query);

  async function open(...parameters: Parameters<typeof openRealtime>): Promise<TestSession> {
    const session = await openRealtime(...parameters);
    opened.push(session);
    return session;
  }

  async function callsAtUpstream(): Promise<readonly string[]> {
    return (await call<{ calls: string[] }>(`${app.simulatorUrl}/_sim/realtime`)).body.calls;
  }

  async function openedCall(response: Response): Promise<OpenedCall> {
    expect(response.status).to.equal(201);
    const id = response.headers.get('location')?.replace('/v1/realtime/calls/', '') ?? '';
    const row = await app.database<{ id: string; upstream_call_id: string }>('realtime_calls').where({ id }).first();
    const client = await open(`${app.simulatorUrl}/v1/realtime?call_id=${row?.upstream_call_id}`, {
      bearer: SIMULATOR_KEY,
    });
    return { id, client };
  }

  const newCall = async (key: string): Promise<OpenedCall> => openedCall(await postSdp(key));
  const createSecret = async (key: string, body: object = {}): Promise<string> => {
    const session = { type: 'realtime', model: MODEL };
    const answer = await call<{ value: string }>(`${app.baseUrl}/v1/realtime/client_secrets`, {
      key,
      body: { session, ...body },
    });
    return answer.body.value;
  };
  const attach = (key: string, id: string) => open(`${app.baseUrl}/v1/realtime?call_id=${id}`, { bearer: key });
  const hangUp = (key: string, id: string) => call(`${url()}/${id}/hangup`, { method: 'POST', key });
  const requestsUntil = (account: string, count: number) =>
    eventually(async () => {
      const rows = await app
        .database<Readonly<Record<string, string | null>>>('text_requests')
        .where({ account_id: account })
        .orderBy('id');
      return rows.length === count ? rows : undefined;
    });
  const endOf = (id: string) =>
    eventually(async () => {
      const row = await app.database<{ id: string; ended_at: Date | null }>('realtime_calls').where({ id }).first();
      return row?.ended_at ?? undefined;
    });

  it('start with a client secret, and bill the responses that the client requests from the upstream', async () => {
    // contract 4.16:37 4.16:28 4.16:36 4.16:42
    const caller = await app.createAccount({ fundedUsd: 10 });
    const secret = await createSecret(caller.apiKey, {
      session: { type: 'realtime', model: MODEL, instructions: 'Be brief.' },
    });
    const response = await postSdp(secret, '', { origin: 'https://app.example.com' });
    expect(response.headers.get('content-type')).to.match(/^application\/sdp/);
    expect(response.headers.get('access-control-allow-origin')).to.equal('*');
    expect(response.headers.get('location')).to.match(/^\/v1\/realtime\/calls\/rtc_/);
    expect(await response.clone().text())
      .to.match(/^v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n/)
      .and.include('a=mid:1')
      .and.not.include('Simulator');
    const { client } = await openedCall(response);
    const created = await client.next('session.created');
    expect(created['session']).to.include({ instructions: 'Be brief.', model: MODEL });
    await client.ask('[sim:say=Good_morning,prompt=100,cached=40,tokens=10]', TEXT);
    const [request] = await requestsUntil(caller.accountId, 1);
    expect(request).to.include({
      format: 'realtime',
      outcome: 'succeeded',
      upstream: 'simulator',
      input_tokens: '100',
    });
    expect(request?.charge).to.equal(String(416_000_000));
    // 32,000 × 32 + 4,096 × 64 USD per million tokens.
    expect(request?.held).to.equal(String(1_286_144_000_000));
  });

  it('start with an API key, and settings in a form or in JSON', async () => {
    // contract 4.16:38
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const session = { type: 'realtime', model: MODEL, instructions: 'Speak slowly.' };
    const form = new FormData();
    form.set('sdp', OFFER);
    form.set('session', JSON.stringify(session));
    const inJson = JSON.stringify({ sdp: OFFER, session });
    for (const response of [
      await post(apiKey, form),
      await post(apiKey, inJson, { 'content-type': 'application/json' }),
    ]) {
      const { client } = await openedCall(response);
      expect((await client.next('session.created'))['session']).to.include({ instructions: 'Speak slowly.' });
    }
    const refused: readonly [body: string | FormData, type: string | null][] = [
      ['', 'application/sdp'],
      ['hello', 'application/sdp'],
      [`v=0${'x'.repeat(70_000)}`, 'application/sdp'],
      ['{"sdp":7}', 'application/json'],
      [JSON.stringify({ sdp: OFFER, session: [] }), 'application/json'],
      [JSON.stringify({ sdp: OFFER, session: { tools: [{ type: 'mcp' }] } }), 'application/json'],
      [JSON.stringify({ sdp: OFFER, session: { model: 'other' } }), 'application/json'],
      ['--x', 'multipart/form-data; boundary=y'],
      [new FormData(), null],
      [OFFER, 'text/plain'],
    ];
    for (const [body, type] of refused) {
      const response = await post(apiKey, body, type === null ? {} : { 'content-type': type }, `?model=${MODEL}`);
      const { error } = (await response.json()) as ErrorBody;
      expect(`${response.status} ${error.code}`, JSON.stringify(body).slice(0, 80)).to.match(
        /^(?:400 bad_request|413 \w+)$/,
      );
    }
  });

  it('are refused in the order of the contract, each with its code in the common envelope', async () => {
    // contract 4.16:29
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const empty = await app.createAccount();
    const limited = await app.createAccount({ fundedUsd: 1, key: { rateLimitRpm: 1 } });
    const origin = 'https://app.example.com';
    const strict = { allowed_origins: [origin], transports: ['websocket'] };
    const evil = { origin: 'https://evil.example' };
    const cases: readonly [
      code: string,
      status: number,
      key: string,
      query?: string | undefined,
      headers?: Record<string, string>,
    ][] = [
      ['missing_api_key', 401, ''],
      ['invalid_client_secret', 401, 'ek_unknown', undefined, evil],
      ['invalid_api_key', 401, 'sk-unknown'],
      ['transport_not_allowed', 400, await createSecret(apiKey, strict), undefined, evil],
      ['origin_not_allowed', 403, await createSecret(apiKey, { allowed_origins: [origin] }), undefined, evil],
      ['origin_not_allowed', 403, apiKey, undefined, { origin }],
      ['bad_request', 400, apiKey, ''],
      ['bad_request', 400, await createSecret(apiKey), '?model=other'],
      ['not_found', 404, apiKey, '?model=unknown'],
      ['not_found', 404, apiKey, '?model=demo-chat'],
      ['insufficient_credits', 402, empty.apiKey],
      ['rate_limit_exceeded', 429, limited.apiKey],
    ];
    for (const [code, status, key, query, headers] of cases) {
      if (code === 'rate_limit_exceeded') {
        await awaitRoomInMinute(app.database);
        await postSdp(key);
      }
      const response = await postSdp(key, query, headers);
      const { error } = (await response.json()) as ErrorBody;
      expect([response.status, error.code], `${key} ${query} ${JSON.stringify(headers)}`).to.deep.equal([status, code]);
      expect(error.request_id).to.equal(response.headers.get('x-request-id'));
      if (headers !== undefined) expect(response.headers.get('access-control-allow-origin')).to.equal('*');
    }
  });

  it('may be created by pages of any origin, as far as browsers are concerned', async () => {
    const requested = 'authorization,content-type,x-openai-agents-sdk';
    const preflight = await fetch(url(), {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com', 'access-control-request-headers': requested },
    });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-origin')).to.equal('*');
    expect(preflight.headers.get('access-control-allow-headers')).to.equal(requested);
    expect(preflight.headers.get('access-control-allow-methods')).to.include('POST');
  });

  it('let a WebSocket of their key follow and control them, without a second bill', async () => {
    // contract 4.16:30
    const caller = await app.createAccount({ fundedUsd: 10 });
    const { id, client } = await newCall(caller.apiKey);
    const sideband = await attach(caller.apiKey, id);
    expect((await sideband.next('session.created'))['session']).to.include({ model: MODEL });
    sideband.send({ type: 'session.update', session: { type: 'realtime', prompt: { id: 'pmpt_1' } } });
    expect((await sideband.next('error'))['error']).to.include({ code: 'bad_request' });
    const done = await sideband.ask('[sim:say=From_the_server]', { ...TEXT, metadata: { mine: 'yes' } });
    expect(done['response']).to.deep.include({ status: 'completed', metadata: { mine: 'yes' } });
    await client.next('response.done');
    await client.ask('[sim:say=From_the_client]', TEXT);
    await sideband.next('response.done');
    sideband.close();
    await sideband.closed;
    await client.ask('[sim:say=Alone]', TEXT);
    const rows = await requestsUntil(caller.accountId, 3);
    expect(rows.map(({ outcome }) => outcome)).to.deep.equal(['succeeded', 'succeeded', 'succeeded']);
    const other = await app.createAccount({ fundedUsd: 1 });
    const stranger = await refusalOfRealtime(`${app.baseUrl}/v1/realtime?call_id=${id}`, { bearer: other.apiKey });
    expect([stranger.status, stranger.body.error.code]).to.deep.equal([404, 'not_found']);
  });

  it('leave the answers to speech to the upstream, also those that a WebSocket of their key asks for', async () => {
    const caller = await app.createAccount({ fundedUsd: 10 });
    const { id, client } = await newCall(caller.apiKey);
    speak(client);
    await client.next('response.done');
    const sideband = await attach(caller.apiKey, id);
    const turn_detection = { type: 'server_vad', create_response: true };
    sideband.send({ type: 'session.update', session: { type: 'realtime', audio: { input: { turn_detection } } } });
    await sideband.next('session.updated');
    speak(client);
    await sideband.next('response.done');
    await requestsUntil(caller.accountId, 2);
    expect(client.events.filter(({ type }) => type === 'response.created')).to.have.length(2);
  });

  it('end when their key hangs up, after which nobody can attach', async () => {
    // contract 4.16:31 4.16:32
    const caller = await app.createAccount({ fundedUsd: 10 });
    const other = await app.createAccount({ fundedUsd: 1 });
    const { id, client } = await newCall(caller.apiKey);
    const sideband = await attach(caller.apiKey, id);
    client.send(userMessage('[sim:tokens=500,prompt=50,chunk_ms=1000,say=one_two_three_four_five_six_seven_eight]'));
    client.send({ type: 'response.create', response: TEXT });
    await client.next('response.output_text.delta');
    expect((await hangUp(other.apiKey, id)).status).to.equal(404);
    expect((await hangUp(caller.apiKey, newId('realtimeCall'))).status).to.equal(404);
    const { status, body } = await hangUp(caller.apiKey, id);
    expect([status, body]).to.deep.equal([200, { id, object: 'realtime.call' }]);
    expect((await client.closed).code).to.equal(1000);
    expect((await sideband.next('error'))['error']).to.include({ code: 'realtime_session_expired' });
    const [request] = await requestsUntil(caller.accountId, 1);
    expect(request).to.include({ outcome: 'disconnected', input_tokens: '50', output_tokens: '500' });
    expect((await hangUp(caller.apiKey, id)).status).to.equal(200);
    const refusal = await refusalOfRealtime(`${app.baseUrl}/v1/realtime?call_id=${id}`, { bearer: caller.apiKey });
    expect([refusal.status, refusal.body.error.code]).to.deep.equal([410, 'realtime_session_expired']);
    await endOf(id);
  });

  it('end on request of another process', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const { id, client } = await newCall(apiKey);
    await app.database('realtime_calls').where({ id }).update({ hang_up_requested_at: new Date() });
    expect((await client.closed).code).to.equal(1000);
    await endOf(id);
  });

  it('end when their key is deleted, and after the time of the secret', async () => {
    // contract 4.16:33
    const caller = await app.createAccount({ fundedUsd: 10 });
    const { client } = await newCall(caller.apiKey);
    const secret = await createSecret((await app.createAccount({ fundedUsd: 10 })).apiKey, { session_seconds: 1 });
    const short = await openedCall(await postSdp(secret));
    await call(`${app.baseUrl}/admin/v1/keys/${caller.keyId}`, { method: 'DELETE', key: app.adminToken });
    await client.closed;
    await short.client.closed;
  });

  it('hold one response ahead, which pays for an answer to speech and is released at the end', async () => {
    // contract 4.16:43
    const poor = await app.createAccount({ fundedUsd: 1.28 });
    const before = await callsAtUpstream();
    const refused = await postSdp(poor.apiKey);
    expect([refused.status, ((await refused.json()) as ErrorBody).error.code]).to.deep.equal([
      402,
      'insufficient_credits',
    ]);
    expect(await callsAtUpstream()).to.deep.equal(before);
    const caller = await app.createAccount({ fundedUsd: 1.2862 });
    const { id, client } = await newCall(caller.apiKey);
    speak(client);
    const done = await client.next('response.done');
    expect(done['response']).to.include({ status: 'completed' });
    await client.closed;
    await endOf(id);
    const [request, ...others] = await requestsUntil(caller.accountId, 1);
    expect(others).to.have.length(0);
    expect(request).to.include({ outcome: 'succeeded', error_code: null });
    expect(Number(request?.charge)).to.be.above(0);
    const balance = () => call<{ data: { reserved_usd: number } }>(`${app.baseUrl}/v1/balance`, { key: caller.apiKey });
    await eventually(async () => (await balance()).body.data.reserved_usd === 0);
  });

  it('pay for the response of a client beyond its rate, which is cancelled', async () => {
    // contract 4.16:39
    const caller = await app.createAccount({ fundedUsd: 10, key: { rateLimitRpm: 1 } });
    await awaitRoomInMinute(app.database);
    const { client } = await newCall(caller.apiKey);
    const done = await client.ask('[sim:say=one_two_three_four,prompt=100,tokens=10,chunk_ms=50]', TEXT);
    expect(done['response']).to.include({ status: 'cancelled' });
    const [request] = await requestsUntil(caller.accountId, 1);
    expect(request).to.include({ outcome: 'disconnected', input_tokens: '100' });
  });

  it('end when their client has the upstream use what no session may use', async () => {
    // contract 4.16:34
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const updates: readonly object[] = [
      { tools: [{ type: 'mcp', server_url: 'https://evil.example' }] },
      { prompt: { id: 'pmpt_1' } },
      { type: 'transcription' },
    ];
    for (const session of updates) {
      const { client } = await newCall(apiKey);
      client.send({ type: 'session.update', session });
      await client.closed;
    }
    const { client } = await newCall(apiKey);
    client.send({ type: 'conversation.item.create', item: { type: 'mcp_call', name: 'x' } });
    await client.closed;
  });

  it('do not transcribe the input, which has no price', async () => {
    // contract 4.16:35
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const { client } = await newCall(apiKey);
    const transcription = { model: 'gpt-4o-transcribe' };
    client.send({ type: 'session.update', session: { audio: { input: { transcription } } } });
    await client.next('session.updated');
    const { session } = await client.next('session.updated');
    expect(session).to.have.nested.property('audio.input.transcription', null);
    for (let again = 0; again < 10; again += 1) {
      client.send({ type: 'session.update', session: { audio: { input: { transcription } } } });
    }
    await client.closed;
  });

  it('charge a client that leaves in the middle of a response, and nothing when the upstream breaks off', async () => {
    const caller = await app.createAccount({ fundedUsd: 10 });
    const left = await newCall(caller.apiKey);
    left.client.send(userMessage('[sim:chunk_ms=1000,say=one_two_three_four_five_six_seven_eight]'));
    left.client.send({ type: 'response.create' });
    await left.client.next('response.output_audio_transcript.delta');
    const [vendorId] = (await callsAtUpstream()).slice(-1);
    await call(`${app.simulatorUrl}/v1/realtime/calls/${vendorId}/hangup`, { method: 'POST', key: SIMULATOR_KEY });
    await endOf(left.id);
    const broken = await newCall(caller.apiKey);
    broken.client.send(userMessage('[sim:say=one_two_three,drop_after=1]'));
    broken.client.send({ type: 'response.create', response: TEXT });
    await endOf(broken.id);
    const [first, second] = await requestsUntil(caller.accountId, 2);
    expect(first?.outcome).to.equal('disconnected');
    expect(Number(first?.charge)).to.be.above(0);
    // The estimate of a short prompt, and not the hold.
    expect(Number(first?.input_tokens)).to.be.below(5_000);
    // contract 4.16:44
    // The first word plays for a second, of 20 tokens.
    expect(Number(first?.['audio_output_tokens'])).to.be.within(19, 1_000);
    // Both are rounded up, and the word is less than a token.
    expect(Number(first?.['output_tokens'])).to.be.at.least(Number(first?.['audio_output_tokens']));
    expect(second).to.include({ outcome: 'failed', charge: '0' });
    expect(await callsAtUpstream()).not.to.include(vendorId);
  });

  it('end when the process that followed them is dead', async () => {
    // contract 4.16:40
    const caller = await app.createAccount({ fundedUsd: 10 });
    const form = new FormData();
    form.set('sdp', OFFER);
    form.set('session', JSON.stringify({ model: MODEL }));
    const response = await fetch(`${app.simulatorUrl}/v1/realtime/calls`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SIMULATOR_KEY}` },
      body: form,
    });
    const vendorId = response.headers.get('location')?.split('/').at(-1) ?? '';
    const row = (upstreamCallId: string) => ({
      id: newId('realtimeCall'),
      account_id: caller.accountId,
      api_key_id: caller.keyId,
      model: MODEL,
      provider: 'simulator',
      key_hint: SIMULATOR_KEY.slice(-4),
      upstream_call_id: upstreamCallId,
      expires_at: new Date(Date.now() + 60_000),
      followed_until: new Date(Date.now() - 1_000),
    });
    const rows = [row(vendorId), row('ended_long_ago')];
    await app.database('realtime_calls').insert(rows);
    app.realtime.takeOverCalls(20);
    await Promise.all(rows.map(({ id }) => endOf(id)));
    expect(await callsAtUpstream()).not.to.include(vendorId);
  });
});
