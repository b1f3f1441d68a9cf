/** Realtime sessions over real WebSockets, with a real database and the simulator as upstream: contract 4.16. */
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { expect } from 'chai';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { useTestApp } from '../../support/app.ts';
import { eventually } from '../../support/eventually.ts';
import { openRealtime, refusalOfRealtime, speak, type TestSession, userMessage } from '../../support/realtime.ts';
import { call } from '../../support/stack.ts';

const MODEL = 'demo-realtime';

describe('Realtime sessions', () => {
  const app = useTestApp({ simulatesText: true });
  const url = (): string => `${app.baseUrl}/v1/realtime?model=${MODEL}`;
  let apiKey: string;
  let accountId: string;
  before(async () => {
    ({ apiKey, accountId } = await app.createAccount({ fundedUsd: 100 }));
  });
  const opened: TestSession[] = [];
  const open = async (...parameters: Parameters<typeof openRealtime>): Promise<TestSession> => {
    const session = await openRealtime(...parameters);
    opened.push(session);
    return session;
  };
  afterEach(() => {
    for (const session of opened.splice(0)) session.close();
  });
  const createSecret = async (body: object = {}, key = apiKey) =>
    call<{ value: string; expires_at: number; session: Record<string, unknown> }>(
      `${app.baseUrl}/v1/realtime/client_secrets`,
      { method: 'POST', key, body: { session: { type: 'realtime', model: MODEL }, ...body } },
    );
  const requestsUntil = (account: string, count: number) =>
    eventually(async () => {
      const rows = await app
        .database<Readonly<Record<string, string | null>>>('text_requests')
        .where({ account_id: account })
        .orderBy('created_at')
        .orderBy('id');
      return rows.length === count ? rows : undefined;
    });
  const reservedOf = async (keyId: string): Promise<string | undefined> =>
    (await app.database<{ id: string; reserved: string }>('api_keys').where({ id: keyId }).first())?.reserved;

  it('hold a conversation whose responses are text requests with the usage of the vendor', async () => {
    // contract 4.16:20 4.16:22 4.16:24
    const session = await open(url(), { bearer: apiKey });
    const { session: settings } = await session.next('session.created');
    expect(settings).to.include({ model: MODEL });
    const done = await session.ask('[sim:say=Good_morning,prompt=100,cached=40,tokens=10]', {
      output_modalities: ['text'],
      metadata: { mine: 'yes' },
    });
    expect(done['response']).to.deep.include({ status: 'completed', metadata: { mine: 'yes' } });
    expect(session.events.map(({ type }) => type)).not.to.include('rate_limits.updated');
    const text = session.events.filter(({ type }) => type === 'response.output_text.delta');
    expect(text.map(({ delta }) => delta).join('')).to.equal('Good morning');
    const [request] = await requestsUntil(accountId, 1);
    expect(request).to.include({
      format: 'realtime',
      model: MODEL,
      outcome: 'succeeded',
      upstream: 'simulator',
      input_tokens: '100',
      cache_read_tokens: '40',
      output_tokens: '10',
    });
    // 60 × 4 + 40 × 0.40 + 10 × 16 USD per million tokens.
    expect(request?.charge).to.equal(String(416_000_000));
  });

  describe('refuse before the upgrade', () => {
    const secretFor = async (body: object): Promise<string> => (await createSecret(body)).body.value;
    const origin = 'https://app.example.com';

    it('in the order of the contract, each with its code in the common envelope', async () => {
      // contract 4.16:1 4.16:14
      const empty = await app.createAccount();
      const strict = { allowed_origins: [origin], transports: ['webrtc'] };
      const cases: readonly [
        code: string,
        status: number,
        options: Parameters<typeof openRealtime>[1],
        query?: string,
      ][] = [
        ['missing_api_key', 401, {}],
        ['invalid_client_secret', 401, { bearer: 'ek_unknown', origin: 'https://evil.example' }],
        ['invalid_api_key', 401, { bearer: 'sk-unknown' }],
        ['transport_not_allowed', 400, { bearer: await secretFor(strict), origin: 'https://evil.example' }],
        [
          'origin_not_allowed',
          403,
          { bearer: await secretFor({ allowed_origins: [origin] }), origin: 'https://evil.example' },
        ],
        ['origin_not_allowed', 403, { bearer: apiKey, origin }],
        ['not_found', 404, { bearer: apiKey }, 'model=unknown'],
        ['not_found', 404, { bearer: apiKey }, 'model=demo-chat'],
        ['bad_request', 400, { bearer: apiKey }, ''],
        ['insufficient_credits', 402, { bearer: empty.apiKey }],
      ];
      for (const [code, status, options, query = `model=${MODEL}`] of cases) {
        const refusal = await refusalOfRealtime(`${app.baseUrl}/v1/realtime?${query}`, options);
        expect([refusal.status, refusal.body.error.code], JSON.stringify(options)).to.deep.equal([status, code]);
        expect(refusal.body.error.request_id).to.equal(refusal.headers['x-request-id']);
      }
    });

    it('with 429 for a key beyond its limit, and 503 with Retry-After when the places of the account are taken', async () => {
      // contract 4.16:2
      const limited = await app.createAccount({ fundedUsd: 1, key: { rateLimitRpm: 1 } });
      await awaitRoomInMinute(app.database);
      await open(url(), { bearer: limited.apiKey });
      expect((await refusalOfRealtime(url(), { bearer: limited.apiKey })).body.error.code).to.equal(
        'rate_limit_exceeded',
      );
      const busy = await app.createAccount({ fundedUsd: 10 });
      const many = await Promise.all(Array.from({ length: 100 }, () => open(url(), { bearer: busy.apiKey })));
      const refusal = await refusalOfRealtime(url(), { bearer: busy.apiKey });
      expect([refusal.status, refusal.body.error.code, refusal.body.error.retryable]).to.deep.equal([
        503,
        'realtime_capacity_unavailable',
        true,
      ]);
      expect(refusal.headers['retry-after']).to.equal('5');
      many[0]?.close();
      await eventually(async () => {
        const session = await open(url(), { bearer: busy.apiKey }).catch(() => undefined);
        return session !== undefined;
      });
    });

    it('with 426 a request without an upgrade', async () => {
      const response = await fetch(url(), { headers: { authorization: `Bearer ${apiKey}` } });
      expect([response.status, response.headers.get('upgrade')]).to.deep.equal([426, 'websocket']);
    });
  });

  describe('with a client secret', () => {
    it('start with its settings, from a bearer token or the subprotocol of browsers', async () => {
      // contract 4.16:3 4.16:11 4.16:12
      const { status, body } = await createSecret({
        session: { type: 'realtime', model: MODEL, instructions: 'Be brief.', output_modalities: ['text'] },
        expires_after: { anchor: 'created_at', seconds: 10 },
      });
      expect(status).to.equal(200);
      expect(body.value).to.match(/^ek_/);
      expect(body.expires_at - Date.now() / 1000).to.be.within(5, 15);
      expect(body.session).to.include({ type: 'realtime', model: MODEL, instructions: 'Be brief.' });
      for (const options of [
        { bearer: body.value },
        { protocols: ['realtime', `openai-insecure-api-key.${body.value}`], origin: 'https://any.example' },
      ]) {
        const session = await open(`${app.baseUrl}/v1/realtime`, options);
        const created = await session.next('session.created');
        expect(created['session']).to.deep.include({
          instructions: 'Be brief.',
          output_modalities: ['text'],
          model: MODEL,
        });
      }
    });

    it('answer speech as its settings say', async () => {
      const detection = { type: 'server_vad', silence_duration_ms: 300 };
      const { body } = await createSecret({
        session: { type: 'realtime', model: MODEL, audio: { input: { turn_detection: detection } } },
      });
      expect(body.session).to.have.deep.nested.property('audio.input.turn_detection', detection);
      const session = await open(url(), { bearer: body.value });
      speak(session);
      await session.next('response.done');
    });

    it('open neither after the secret has expired nor for another model', async () => {
      const { value } = (await createSecret()).body;
      const other = await refusalOfRealtime(`${app.baseUrl}/v1/realtime?model=other`, { bearer: value });
      expect(other.body.error.code).to.equal('bad_request');
      await app.database('realtime_secrets').update({ expires_at: new Date(0) });
      expect((await refusalOfRealtime(url(), { bearer: value })).body.error.code).to.equal('invalid_client_secret');
    });

    it('may come only from its origins, which match as browsers write them', async () => {
      // contract 4.16:4 4.16:13
      const { value } = (
        await createSecret({ allowed_origins: ['https://App.example.com:443', 'http://localhost:3000'] })
      ).body;
      const sent: readonly [origin: string | undefined, isAllowed: boolean][] = [
        ['https://app.example.com', true],
        ['http://localhost:3000', true],
        [undefined, false],
        ['null', false],
        ['https://app.example.com:8443', false],
        ['http://app.example.com', false],
        ['https://sub.app.example.com', false],
        ['https://app.example.com.evil.example', false],
        ['https://evil.example?https://app.example.com', false],
      ];
      for (const [origin, isAllowed] of sent) {
        const options = { bearer: value, ...(origin !== undefined && { origin }) };
        if (isAllowed) await open(url(), options);
        else expect((await refusalOfRealtime(url(), options)).body.error.code, origin).to.equal('origin_not_allowed');
      }
      for (const wrong of ['*', 'null', 'app.example.com', 'https://app.example.com/path', 'https://*.example.com']) {
        expect((await createSecret({ allowed_origins: [wrong] })).status, wrong).to.equal(400);
      }
    });

    it('end when its key is deleted, and the secret opens no more', async () => {
      // contract 4.16:5
      const caller = await app.createAccount({ fundedUsd: 1 });
      const { value } = (await createSecret({}, caller.apiKey)).body;
      const session = await open(url(), { bearer: value });
      await session.next('session.created');
      const { status } = await call(`${app.baseUrl}/admin/v1/keys/${caller.keyId}`, {
        method: 'DELETE',
        key: app.adminToken,
      });
      expect(status).to.be.within(200, 204);
      expect((await session.next('error'))['error']).to.include({ code: 'invalid_api_key' });
      expect((await session.closed).code).to.equal(1008);
      expect((await refusalOfRealtime(url(), { bearer: value })).body.error.code).to.equal('invalid_client_secret');
    });

    it('last as long as the secret says', async () => {
      // contract 4.16:6 4.16:15
      const { value } = (await createSecret({ session_seconds: 1 })).body;
      const session = await open(url(), { bearer: value });
      expect((await session.next('error'))['error']).to.include({ code: 'realtime_session_expired' });
      expect((await session.closed).reason).to.equal('realtime_session_expired');
    });
  });

  it('refuse events that could change the price or act in the account at the vendor, and go on', async () => {
    // contract 4.16:7 4.16:16 4.16:17 4.16:18 4.16:19
    const session = await open(url(), { bearer: apiKey });
    await session.next('session.created');
    const refused: readonly object[] = [
      { type: 'session.update', session: { model: 'gpt-realtime' } },
      { type: 'session.update', session: { max_output_tokens: 4_097 } },
      { type: 'session.update', session: { max_output_tokens: 0 } },
      { type: 'session.update', session: { max_response_output_tokens: 9 } },
      { type: 'session.update', session: { type: 'transcription' } },
      { type: 'session.update', session: { tools: [{ type: 'mcp', server_url: 'https://evil.example' }] } },
      { type: 'session.update', session: { prompt: { id: 'pmpt_1' } } },
      { type: 'response.create', response: { max_output_tokens: 99_999 } },
      { type: 'response.create', response: { prompt: { id: 'pmpt_1' } } },
      { type: 'response.create', response: { input: [{ type: 'mcp_approval_response' }] } },
      { type: 'conversation.item.create', item: { type: 'mcp_call' } },
      { type: 'transcription_session.update', session: {} },
      { type: 'unknown' },
    ];
    for (const [index, event] of refused.entries()) {
      session.send({ ...event, event_id: `event-${index}` });
      const { error } = await session.next('error');
      expect(error, JSON.stringify(event)).to.include({
        type: 'invalid_request_error',
        code: 'bad_request',
        event_id: `event-${index}`,
      });
    }
    session.socket.send('{"type":');
    expect((await session.next('error'))['error']).to.include({ code: 'bad_request' });
    session.socket.send(
      `{"type":"input_audio_buffer.clear","type":"session.update","session":{"model":"gpt-realtime"}}`,
    );
    expect((await session.next('error'))['error']).to.include({ code: 'bad_request' });
    const done = await session.ask('[sim:say=Still_here]', { output_modalities: ['text'] });
    expect(done['response']).to.include({ status: 'completed' });
  });

  it('answer speech that voice activity ends, and bill the response that nobody requested', async () => {
    // contract 4.16:8
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    session.send({ type: 'session.update', session: { type: 'realtime', instructions: '[sim:say=Hello_there]' } });
    speak(session);
    await session.next('input_audio_buffer.speech_started');
    await session.next('response.output_audio.delta');
    await session.next('response.done');
    const [request] = await requestsUntil(caller.accountId, 1);
    expect(request).to.include({ outcome: 'succeeded', format: 'realtime' });
  });

  it('call a tool and go on with its result', async () => {
    const session = await open(url(), { bearer: apiKey });
    const tools = [
      { type: 'function', name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } },
    ];
    session.send({ type: 'session.update', session: { type: 'realtime', tools, output_modalities: ['text'] } });
    const done = await session.ask('[sim:tool=look]');
    const [item] = (done['response'] as { output: { call_id: string; type: string }[] }).output;
    expect(item?.type).to.equal('function_call');
    session.send({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: item?.call_id, output: 'a lighthouse' },
    });
    session.send({ type: 'response.create' });
    await session.next('response.done');
    const text = session.events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
    expect(text.join('')).to.equal('look => a lighthouse');
  });

  it('hold a conversation with a tool call through OpenAI’s own SDK, with a secret that the SDK created', async () => {
    const { value } = await new OpenAI({ apiKey, baseURL: `${app.baseUrl}/v1` }).realtime.clientSecrets.create({
      session: { type: 'realtime', model: MODEL, output_modalities: ['text'] },
    });
    // The SDK always uses TLS, which the agent leaves out.
    const agent = new Agent();
    agent.createConnection = () => connect(Number(new URL(app.baseUrl).port), '127.0.0.1');
    const client = new OpenAI({ apiKey: value, baseURL: `${app.baseUrl}/v1` });
    const session = new OpenAIRealtimeWS({ model: MODEL, options: { agent } }, client);
    const tools = [{ type: 'function' as const, name: 'look', description: 'Looks', parameters: { type: 'object' } }];
    const answer = new Promise<string>((resolve, reject) => {
      session.on('error', reject);
      session.on('response.output_text.done', ({ text }) => resolve(text));
      session.on('response.function_call_arguments.done', ({ call_id }) => {
        const item = { type: 'function_call_output' as const, call_id, output: 'a lighthouse' };
        session.send({ type: 'conversation.item.create', item });
      });
      session.on('response.done', ({ response }) => {
        if (response.output?.[0]?.type === 'function_call') session.send({ type: 'response.create' });
      });
      session.on('session.created', () => {
        session.send({ type: 'session.update', session: { type: 'realtime', tools } });
        session.send({
          type: 'conversation.item.create',
          item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: '[sim:tool=look]' }] },
        });
        session.send({ type: 'response.create' });
      });
    });
    expect(await answer).to.equal('look => a lighthouse');
    session.close();
  });

  it('charge nothing for a failed response, and what the vendor reports for a response that the client cuts off', async () => {
    // contract 4.16:9
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    const failed = await session.ask('[sim:fail=processing_failed]');
    expect(failed['response']).to.deep.include({ status: 'failed' });
    const other = await open(url(), { bearer: caller.apiKey });
    other.send(userMessage('[sim:tokens=500,prompt=50,chunk_ms=20,say=one_two_three_four_five_six_seven_eight]'));
    other.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    await other.next('response.output_text.delta');
    other.close();
    const [first, second] = await requestsUntil(caller.accountId, 2);
    expect(first).to.include({ outcome: 'failed', charge: '0', error_code: 'processing_failed' });
    expect(second).to.include({ outcome: 'disconnected' });
    expect(second).to.include({ input_tokens: '50', output_tokens: '500' });
    await eventually(async () => (await reservedOf(caller.keyId)) === '0');
  });

  it('charge the audio that was sent at the price of audio, if the vendor reports nothing of a response that is cut off', async () => {
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    const twoSeconds = { type: 'input_audio', audio: Buffer.alloc(96_000).toString('base64') };
    const item = { type: 'message', role: 'user', content: [twoSeconds] };
    session.send({ type: 'conversation.item.create', item });
    session.send(userMessage('[sim:no_usage,chunk_ms=1000,say=one_two_three_four]'));
    session.send({ type: 'response.create' });
    await session.next('response.output_audio.delta');
    session.close();
    const [row] = await requestsUntil(caller.accountId, 1);
    const counts = ['input_tokens', 'audio_input_tokens', 'output_tokens', 'audio_output_tokens'];
    const [input, heard, output, audio] = counts.map((count) => Number(row?.[count])) as [
      number,
      number,
      number,
      number,
    ];
    expect(heard, 'ten tokens for a second').to.equal(20);
    expect(input).to.be.within(25, 400);
    // A delta of 200 ms has 4 tokens.
    expect(audio).to.be.at.least(4);
    expect(output).to.be.above(audio);
    expect(row).to.include({ outcome: 'disconnected', estimated: true });
    const inputPrice = (input - heard) * 4 + heard * 32;
    expect(Number(row?.charge)).to.equal((inputPrice + (output - audio) * 16 + audio * 64) * 1_000_000);
  });

  it('release the hold of a response that the vendor refuses, and name the client’s event', async () => {
    // contract 4.16:23
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    session.send(userMessage('[sim:say=one_two_three_four_five,chunk_ms=50]'));
    session.send({ type: 'response.create', event_id: 'first' });
    session.send({ type: 'response.create', event_id: 'second' });
    expect((await session.next('error'))['error']).to.include({
      code: 'conversation_already_has_active_response',
      event_id: 'second',
    });
    await session.next('response.done');
    const rows = await requestsUntil(caller.accountId, 2);
    expect(rows.map(({ outcome }) => outcome)).to.have.members(['failed', 'succeeded']);
  });

  it('pass on that the vendor refuses to commit without audio, and go on', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: apiKey });
    session.send({ type: 'input_audio_buffer.commit', event_id: 'mine' });
    const { error } = await session.next('error');
    expect(error).to.include({ code: 'input_audio_buffer_commit_empty', event_id: 'mine' });
    const { response } = await session.ask('Hello', { output_modalities: ['text'] });
    expect(response).to.include({ status: 'completed' });
  });

  it('end with insufficient_credits when the money for a response is missing', async () => {
    // contract 4.16:10
    const poor = await app.createAccount({ fundedUsd: 0.001 });
    const session = await open(url(), { bearer: poor.apiKey });
    session.send(userMessage('Hello'));
    session.send({ type: 'response.create' });
    expect((await session.next('error'))['error']).to.include({ code: 'insufficient_credits' });
    expect((await session.closed).code).to.equal(1008);
  });

  it('charge the budget of the end user whom the key or the creator of the secret names, and end without it', async () => {
    // contract 5:28
    const caller = await app.createAccount({ fundedUsd: 10 });
    const budget = { end_user: 'ada', usage_limit_usd: 0.0001, limit_period: 'day' };
    const made = await call(`${app.baseUrl}/admin/v1/accounts/${caller.accountId}/end-user-budgets`, {
      method: 'POST',
      key: app.adminToken,
      body: budget,
    });
    expect(made.status).to.equal(200);
    const headers = { 'OpenAI-Safety-Identifier': 'ada' };
    const secret = await fetch(`${app.baseUrl}/v1/realtime/client_secrets`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${caller.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session: { type: 'realtime', model: MODEL } }),
    });
    const { value } = (await secret.json()) as { value: string };
    for (const options of [
      { bearer: caller.apiKey, headers },
      { bearer: value, headers: { 'OpenAI-Safety-Identifier': 'another' } },
    ]) {
      const session = await open(url(), options);
      session.send({ type: 'response.create' });
      expect((await session.next('error'))['error']).to.include({ code: 'insufficient_credits' });
      await session.closed;
    }
    const other = await open(url(), { bearer: caller.apiKey, headers: { 'OpenAI-Safety-Identifier': 'bob' } });
    await other.ask('Hello', { output_modalities: ['text'] });
    const [request] = await requestsUntil(caller.accountId, 1);
    expect(request).to.include({ end_user: 'bob', outcome: 'succeeded' });
  });

  it('end when a budget of the account for the model is spent', async () => {
    // contract 5:29
    const { accountId, apiKey } = await app.createAccount({ fundedUsd: 10 });
    const body = { models: [MODEL], usage_limit_usd: 0.0001, limit_period: 'day' };
    const path = `${app.baseUrl}/admin/v1/accounts/${accountId}/budgets`;
    expect((await call(path, { method: 'POST', key: app.adminToken, body })).status).to.equal(200);
    const session = await open(url(), { bearer: apiKey });
    session.send({ type: 'response.create' });
    expect((await session.next('error'))['error']).to.include({ code: 'insufficient_credits' });
    await session.closed;
  });

  it('request no response to speech when the money for it is missing', async () => {
    // contract 4.16:21
    const generated = async () => {
      const response = await fetch(`${app.simulatorUrl}/_sim/realtime`);
      return ((await response.json()) as { data: unknown[] }).data.length;
    };
    const before = await generated();
    const poor = await app.createAccount({ fundedUsd: 0.001 });
    const session = await open(url(), { bearer: poor.apiKey });
    speak(session);
    expect((await session.next('error'))['error']).to.include({ code: 'insufficient_credits' });
    await session.closed;
    expect(session.events.map(({ type }) => type)).not.to.include('response.created');
    expect(await generated()).to.equal(before);
  });

  it('transcribe speech with a model of the catalogue, at its own price, and with no other', async () => {
    // contract 4.16:41
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    const transcribeWith = async (model: string | null): Promise<unknown> => {
      const transcription = model === null ? null : { model };
      const input = { transcription, turn_detection: { type: 'server_vad', create_response: false } };
      session.send({ type: 'session.update', session: { audio: { input } } });
      return (await session.next('session.updated'))['session'];
    };
    expect(await transcribeWith('gpt-4o-transcribe')).to.have.nested.property('audio.input.transcription', null);
    for (const model of ['voice-stt', 'voice-stt-mini']) {
      expect(await transcribeWith(model)).to.have.nested.property('audio.input.transcription.model', model);
      speak(session);
      await session.next('conversation.item.input_audio_transcription.completed');
    }
    expect(await transcribeWith(null)).to.have.nested.property('audio.input.transcription', null);
    speak(session);
    await session.next('input_audio_buffer.committed');
    const rows = await requestsUntil(caller.accountId, 2);
    const seconds = rows.find(({ model }) => model === 'voice-stt');
    const tokens = rows.find(({ model }) => model === 'voice-stt-mini');
    expect(seconds).to.include({ format: 'realtime', outcome: 'succeeded', audio_seconds: '1' });
    // 0.0001 USD for the second that has begun; 10 × 3 + 4 × 5 USD per million tokens.
    expect(seconds?.charge).to.equal(String(100_000_000));
    expect(tokens).to.include({ outcome: 'succeeded', audio_input_tokens: '10', output_tokens: '4' });
    expect(tokens?.charge).to.equal(String(50_000_000));
    await eventually(async () => (await reservedOf(caller.keyId)) === '0');
  });

  it('do not answer speech if the client requests its responses itself', async () => {
    const session = await open(url(), { bearer: apiKey });
    const input = { turn_detection: { type: 'server_vad', create_response: false } };
    session.send({ type: 'session.update', session: { audio: { input } } });
    expect((await session.next('session.updated'))['session']).to.have.nested.property(
      'audio.input.turn_detection.create_response',
      false,
    );
    speak(session);
    await session.next('input_audio_buffer.committed');
    const done = await session.ask('[sim:say=Only_once]', { output_modalities: ['text'] });
    expect(done['response']).to.include({ status: 'completed' });
    expect(session.events.filter(({ type }) => type === 'response.created')).to.have.length(1);
  });

  it('keep what a slow client does not read, and deliver all of it in order', async () => {
    const session = await open(url(), { bearer: apiKey });
    await session.next('session.created');
    session.socket.pause();
    const done = session.ask('[sim:tokens=600]');
    // The audio of 600 tokens is more than buffers of the system hold.
    await eventually(() => session.socket.isPaused);
    await new Promise((resolve) => setTimeout(resolve, 300));
    session.socket.resume();
    expect((await done)['response']).to.include({ status: 'completed' });
    expect(session.events.filter(({ type }) => type === 'response.output_audio.delta')).to.have.length(600);
  });

  it('end with an error when the upstream breaks off, and count the response as a possible loss', async () => {
    // contract 4.16:26
    const caller = await app.createAccount({ fundedUsd: 10 });
    const session = await open(url(), { bearer: caller.apiKey });
    session.send(userMessage('[sim:say=one_two_three,drop_after=1]'));
    session.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    expect((await session.next('error'))['error']).to.include({ code: 'processing_timeout' });
    const [row] = await requestsUntil(caller.accountId, 1);
    expect(row).to.include({ outcome: 'failed', charge: '0', error_code: 'processing_timeout', upstream: 'simulator' });
    const attempts = await app.database('failed_text_attempts').where({ account_id: caller.accountId });
    expect(attempts).to.have.length(1);
    const metrics = await fetch(`${app.baseUrl}/metrics`, { headers: { authorization: `Bearer ${app.metricsToken}` } });
    expect(await metrics.text()).to.match(/genway_text_possible_loss_usd_total\{upstream="simulator"\} 0\.\d+/);
  });

  describe('in a process that stops', () => {
    it('send a notice of their end, and end in time', async () => {
      // contract 4.16:25
      const session = await open(url(), { bearer: apiKey });
      await session.next('session.created');
      const stopped = app.realtime.stop(200);
      expect(await session.next('session.expired')).to.include({ closes_in_ms: 200 });
      expect((await session.next('error'))['error']).to.include({ code: 'realtime_session_expired' });
      expect((await session.closed).code).to.equal(1001);
      await stopped;
      const refusal = await refusalOfRealtime(url(), { bearer: apiKey });
      expect(refusal.body.error.code).to.equal('realtime_capacity_unavailable');
    });
  });
});
