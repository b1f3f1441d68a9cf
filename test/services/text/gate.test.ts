/** The checks of a text request before its model is called: contract 4.8, 5, 7.1 and 8. */
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { eventsOfText } from '../../text/support.ts';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { ASK, modelVia, useTestText, type TestText } from '../../support/text.ts';

/** Any of the envelopes. */
interface ErrorBody {
  readonly type?: string;
  readonly error: {
    readonly code?: string;
    readonly type?: string;
    readonly message: string;
    readonly retryable?: boolean;
    readonly request_id?: string;
    readonly retry_after_seconds?: number;
  };
}

async function errorOf(response: Response): Promise<ErrorBody> {
  // Each test checks the fields that it reads.
  return (await response.json()) as ErrorBody;
}

/** The content of an item of a native stream, without the values that differ between answers. */
function candidatesOf(item: unknown): unknown {
  return Object(item)['candidates'];
}

/** Asserts the common envelope. @param format the format whose SDKs read the error; any by default */
async function expectGateError(
  response: Response,
  status: number,
  code: string,
  format?: WireFormatName,
): Promise<ErrorBody['error']> {
  const { type, error } = await errorOf(response);
  if (format === 'messages') expect([type, error.type]).to.deep.equal(['error', code]);
  else if (format !== undefined) expect(error.type).to.equal('svc_error');
  expect([response.status, error.code]).to.deep.equal([status, code]);
  expect(error.retryable).to.be.a('boolean');
  expect(error.request_id).to.equal(response.headers.get('x-request-id'));
  return error;
}

/** Asserts the envelope of the format. */
async function expectFormatError(
  response: Response,
  format: WireFormatName,
  status: number,
  code: string,
): Promise<string> {
  const body = await errorOf(response);
  const { error } = body;
  expect([response.status, format === 'messages' ? error.type : error.code]).to.deep.equal([status, code]);
  expect(format === 'messages' ? body.type : error.type).to.equal(format === 'messages' ? 'error' : 'svc_error');
  expect(error).to.not.have.property('retryable');
  const id = response.headers.get('x-request-id') ?? '';
  expect(error.message.endsWith(` (request id: ${id})`), error.message).to.equal(true);
  return error.message;
}

const model = modelVia('chat-completions');

describe('the access check of the text endpoints', () => {
  let refusal: Error | null = null;

  const text = useTestText({
    app: { rejectedUserAgents: ['BadBot'], trustedProxies: 1 },
    refuseHold: () => refusal,
  });

  afterEach(() => {
    refusal = null;
  });

  describe('the accepted places of a key', () => {
    const withoutBearer = { authorization: '' };
    const accepted: readonly [WireFormatName, string][] = [
      ['messages', 'x-api-key'],
      ['generate-content', 'x-native-api-key'],
      ['generate-content', 'x-goog-api-key'],
    ];

    for (const format of WIRE_FORMAT_NAMES) {
      it(`include Authorization: Bearer for ${format}, with and without sk-`, async () => {
        // contract 5:1 5:2 5:3 5:7
        for (const apiKey of [text.apiKey, text.apiKey.slice('sk-'.length)]) {
          expect((await text.ask(format, model, 'Hi', { apiKey })).status).to.equal(200);
        }
      });

      it(`are only the headers that the contract lists for ${format}`, async () => {
        // contract 5:1
        for (const header of ['x-api-key', 'x-native-api-key', 'x-goog-api-key']) {
          if (accepted.some(([name, listed]) => name === format && listed === header)) continue;
          const response = await text.ask(format, model, 'Hi', {
            headers: { ...withoutBearer, [header]: text.apiKey },
          });
          await expectGateError(response, 401, 'missing_api_key');
        }
      });
    }

    for (const [format, header] of accepted) {
      it(`include ${header} for ${format}`, async () => {
        // contract 5:2 5:3
        const headers = { ...withoutBearer, [header]: text.apiKey };
        expect((await text.ask(format, model, 'Hi', { headers })).status).to.equal(200);
      });
    }

    it('have an order: the specified header, then Authorization, so that a client’s placeholder does no harm', async () => {
      // contract 5:3 5:5
      const specified = { authorization: 'Bearer wrong', 'x-native-api-key': text.apiKey, 'x-goog-api-key': 'wrong' };
      const placeholder = { 'x-goog-api-key': 'unused' };
      for (const headers of [specified, placeholder]) {
        expect((await text.ask('generate-content', model, 'Hi', { headers })).status).to.equal(200);
      }
      const wrong = { authorization: 'Bearer wrong', 'x-goog-api-key': text.apiKey };
      await expectGateError(
        await text.ask('generate-content', model, 'Hi', { headers: wrong }),
        401,
        'invalid_api_key',
      );
    });

    it('include the query for the native format, which no log and no metric shows', async () => {
      // contract 5:3
      const { path, body } = ASK['generate-content'](model, 'Hi', false);
      for (const apiKey of [text.apiKey, 'sk-not-a-key-at-all']) {
        const response = await text.post(`${path}?key=${apiKey}`, body, { headers: withoutBearer });
        expect(response.status).to.equal(apiKey === text.apiKey ? 200 : 401);
        expect(await response.text()).to.not.contain(apiKey);
      }
      await text.idle();
      expect(text.logged() + (await text.measured())).to.not.match(new RegExp(`${text.apiKey}|sk-not-a-key`));
      const chat = ASK['chat-completions'](model, 'Hi', false);
      await expectGateError(
        await text.post(`${chat.path}?key=${text.apiKey}`, chat.body, { headers: withoutBearer }),
        401,
        'missing_api_key',
      );
    });
  });

  describe('a refusal in the common envelope', () => {
    for (const format of WIRE_FORMAT_NAMES) {
      it(`refuses a missing key on ${format}, even when everything else is wrong`, async () => {
        // contract 1:13 2.3:4 5:8 7.1:2 7.2:3
        const { path } = ASK[format](model, '', false);
        await expectGateError(
          await text.post(path, 'nonsense', { headers: { authorization: '' } }),
          401,
          'missing_api_key',
          format,
        );
      });

      it(`refuses an unknown model on ${format}: ids are exact and case-sensitive`, async () => {
        // contract 2.6:2 7.1:2 7.2:8
        for (const id of ['nothing', 'TEXTC-M3', 'textc-m3', 'textc-M3 ']) {
          const { message } = await expectGateError(await text.ask(format, id, 'Hi'), 404, 'not_found', format);
          expect(message).to.contain('GET /v1/models lists them');
        }
      });

      it(`refuses a model of images or videos on ${format}, and names its endpoint`, async () => {
        // contract 2.5:4
        const endpoints = { 'imagea-2.5-sunburst': '/v1/images/tasks', 'vidone-3.0': '/v1/videos/tasks' };
        for (const [id, endpoint] of Object.entries(endpoints)) {
          const { message } = await expectGateError(await text.ask(format, id, 'Hi'), 404, 'not_found', format);
          expect(message).to.contain(`use POST ${endpoint}`);
        }
      });

      it(`refuses a model outside the key’s group on ${format}`, async () => {
        // contract 5:14 7.1:2 7.2:7
        const apiKey = await text.createKey({ models: ['textc-M3'] });
        await expectGateError(await text.ask(format, model, 'Hi', { apiKey }), 403, 'access_denied', format);
      });

      it(`refuses requests that the account may not make on ${format}`, async () => {
        // contract 7.1:2 7.1:5
        refusal = new ServiceError('insufficient_credits', 'Top up.');
        await expectGateError(await text.ask(format, model, 'Hi'), 402, 'insufficient_credits', format);
        refusal = new ServiceError('forbidden', 'Top up.');
        await expectGateError(await text.ask(format, model, 'Hi'), 403, 'forbidden', format);
        refusal = new ServiceError('rate_limit_exceeded', 'Wait.', { retryAfterSeconds: 30 });
        const response = await text.ask(format, model, 'Hi');
        expect(response.headers.get('retry-after')).to.equal('30');
        expect((await expectGateError(response, 429, 'rate_limit_exceeded', format)).retry_after_seconds).to.equal(30);
      });
    }

    it('refuses a wrong, disabled, expired, exhausted or overlong key, with the reason', async () => {
      // contract 5:9 5:10 7.1:2
      const disabled = await text.createKey({ disabled: true });
      const expired = await text.createKey({ expiresAt: new Date(Date.now() - 1000) });
      const exhausted = await text.createKey({ usageLimit: 0n });
      const cases = {
        'sk-wrong': 'wrong',
        [disabled]: 'disabled',
        [expired]: 'expired',
        [exhausted]: 'exhausted',
        [`sk-${'x'.repeat(999)}`]: 'wrong',
      };
      for (const [apiKey, reason] of Object.entries(cases)) {
        const error = await expectGateError(
          await text.ask('messages', model, 'Hi', { apiKey }),
          401,
          'invalid_api_key',
        );
        expect(error.message).to.contain(reason);
      }
    });

    it('refuses an address outside the allowlist, as reported by the trusted proxy', async () => {
      // contract 5:13 7.1:2 7.2:7
      const apiKey = await text.createKey({ ipAllowlist: ['203.0.113.0/24'] });
      const from = (address: string): Promise<Response> =>
        text.ask('responses', model, 'Hi', { apiKey, headers: { 'x-forwarded-for': address } });
      expect((await from('203.0.113.7')).status).to.equal(200);
      await expectGateError(await from('203.0.113.7, 198.51.100.1'), 403, 'access_denied');
      await expectGateError(await text.ask('responses', model, 'Hi', { apiKey }), 403, 'access_denied');
    });

    it('refuses a model of another family on the native format, and the native model’s unknown methods', async () => {
      // contract 4.8.4:3
      await expectGateError(await text.ask('generate-content', 'textc-M3', 'Hi'), 404, 'not_found');
      expect((await text.ask('generate-content', 'texth-3.8-flash', 'Hi')).status).to.equal(200);
      for (const method of ['countTokens', 'embedContent', 'GenerateContent', '']) {
        expect((await text.post(`/v1beta/models/texth-3.8-flash:${method}`, {})).status).to.equal(404);
      }
    });

    it('refuses a body that is too large, announced or not', async () => {
      // contract 7.1:2 7.2:10 8.2:1
      const large = 33 * 2 ** 20;
      const response = await text.post('/v1/responses', Buffer.alloc(large, ' '));
      await expectGateError(response, 413, 'read_request_body_failed');
      expect(await statusOfEndlessBody(text)).to.equal(413);
    });

    it('refuses unknown paths and other methods with the common envelope alone', async () => {
      // contract 7.1:2
      const unknown = text.post('/v1/messages/unknown', {});
      for (const response of [await unknown, await fetch(`${text.baseUrl}/v1/messages`)]) {
        expect(await response.json())
          .to.have.keys('error')
          .and.have.property('error')
          .that.has.keys('code', 'message', 'retryable', 'request_id');
      }
    });

    it('refuses other methods with 405 and Allow, and answers OPTIONS', async () => {
      // contract 7.1:2 7.2:25
      for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const response = await fetch(`${text.baseUrl}/v1/messages`, { method });
        expect(response.headers.get('allow')).to.equal('POST');
        await expectGateError(response, 405, 'bad_request');
      }
      const options = await fetch(`${text.baseUrl}/v1beta/models/texth-3.8-flash:generateContent`, {
        method: 'OPTIONS',
      });
      expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'POST']);
    });

    it('refuses more requests a minute than the key has, and reports the limit with every answer', async () => {
      // contract 8.1:1 8.1:8 8.1:9
      await awaitRoomInMinute(text.database);
      const apiKey = await text.createKey({ rateLimitRpm: 2 });
      const first = await text.ask('chat-completions', model, 'Hi', { apiKey });
      expect(first.headers.get('ratelimit-limit')).to.equal('2');
      expect(first.headers.get('ratelimit-remaining')).to.equal('1');
      expect(first.headers.get('x-ratelimit-limit-requests')).to.equal('2');
      expect(first.headers.get('x-ratelimit-remaining-requests')).to.equal('1');
      const second = await text.ask('chat-completions', 'nothing', 'Hi', { apiKey });
      expect(second.headers.get('ratelimit-remaining')).to.equal('0');
      const third = await text.ask('chat-completions', model, 'Hi', { apiKey });
      const error = await expectGateError(third, 429, 'rate_limit_exceeded');
      expect(String(error.retry_after_seconds)).to.equal(third.headers.get('retry-after'));
    });

    it('refuses more requests a minute than the key has before any other check, whatever their outcome', async () => {
      // contract 7.1:2
      await awaitRoomInMinute(text.database);
      const endings: readonly [string, () => Promise<Response>][] = [
        ['an answer', () => text.ask('chat-completions', model, 'Hi', { apiKey })],
        ['not JSON', () => text.post('/v1/chat/completions', Buffer.from('{'), { apiKey })],
        ['a large body', () => text.post('/v1/responses', Buffer.alloc(2 ** 18, ' '), { apiKey })],
        ['no version', () => text.post('/v1/messages', {}, { apiKey })],
        ['no such model', () => text.ask('generate-content', 'nothing', 'Hi', { apiKey })],
      ];
      const apiKey = await text.createKey({ rateLimitRpm: endings.length });
      for (const [index, [ending, send]] of endings.entries()) {
        const left = (await send()).headers.get('ratelimit-remaining');
        expect([ending, left]).to.deep.equal([ending, String(endings.length - 1 - index)]);
      }
      for (const [, send] of endings) await expectGateError(await send(), 429, 'rate_limit_exceeded');
    });
  });

  it('refuses rejected clients before any other check, in plain text', async () => {
    // contract 5:27
    const response = await text.ask('messages', model, 'Hi', { headers: { 'user-agent': 'a badbot/1.0' } });
    expect([response.status, await response.text()]).to.deep.equal([403, 'error code: 1010']);
  });

  it('answers no other path', async () => {
    // contract 1:10 4.8.4:3
    for (const path of [
      '/v1/messages/batches/x/y',
      '/v1',
      '/v1beta/tunedModels',
      '/v1beta/models/%:generateContent',
      '/v1beta/models/texth-4-argon:countTokens',
    ]) {
      await expectGateError(await text.post(path, ASK['generate-content'](model, 'Hi', false).body), 404, 'not_found');
    }
  });

  it('answers the methods of the native format below /v1 as well', async () => {
    // contract 4.8.4:18
    const { body } = ASK['generate-content'](model, 'Hi', false);
    for (const method of ['generateContent', 'streamGenerateContent']) {
      expect((await text.post(`/v1/models/texth-4-argon:${method}`, body)).status, method).to.equal(200);
    }
    expect((await text.post('/v1/models/texth-4-argon:countTokens', body)).status).to.equal(404);
  });

  it('ignores the query of a path', async () => {
    const { body } = ASK.messages(model, 'Hi', false);
    expect((await text.post('/v1/messages?beta=true', body)).status).to.equal(200);
  });

  for (const upstream of ['chat-completions', 'generate-content'] as const) {
    const path = `/v1beta/models/${modelVia(upstream)}:streamGenerateContent`;
    const question = { contents: [{ parts: [{ text: 'Hi [sim:tokens=9]' }] }] };

    it(`streams the native format as events with alt=sse, and else as an array, from ${upstream}`, async () => {
      // contract 4.8.4:16 4.8.4:17
      const events = await text.post(`${path}?alt=sse`, question);
      expect(events.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
      const told = eventsOfText(await events.text()).map(({ data }) => candidatesOf(JSON.parse(data)));
      expect(told).to.have.length.above(2);
      for (const query of ['', '?alt=json']) {
        const array = await text.post(path + query, question);
        expect(array.headers.get('content-type')).to.equal('application/json; charset=utf-8');
        const items: unknown = await array.json();
        expect(Array.isArray(items) && items.map(candidatesOf)).to.deep.equal(told);
      }
    });

    it(`ends an array that ${upstream} cut off with the error, so that no client mistakes it for a complete one`, async () => {
      const broken = { contents: [{ parts: [{ text: 'Hi [sim:tokens=9,drop_after=4]' }] }] };
      const response = await text.post(path, broken);
      const items: unknown = await response.json();
      expect(Array.isArray(items) && items.at(-1)).to.have.nested.property('error.code', 503);
    });
  }

  describe('a refusal in the envelope of the format', () => {
    for (const format of WIRE_FORMAT_NAMES) {
      it(`refuses a body that is not JSON, not an object, too deep or of another type on ${format}`, async () => {
        // contract 4.8:2 7.1:3 7.1:4 7.1:6 8.2:2
        const { path, body } = ASK[format](model, 'Hi', false);
        const deep = '['.repeat(100) + ']'.repeat(100);
        for (const bad of ['{', '', '[]', 'null', '"text"', Buffer.from([0x7b, 0xff, 0x7d]), deep]) {
          await expectFormatError(await text.post(path, bad), format, 400, 'bad_request');
        }
        const form = await text.post(path, body, { headers: { 'content-type': 'application/x-www-form-urlencoded' } });
        await expectFormatError(form, format, 400, 'bad_request');
      });

      it(`refuses an unknown field on ${format}, by its name`, async () => {
        // contract 4.8:6
        const { path, body } = ASK[format](model, 'Hi', false);
        const response = await text.post(path, { ...body, surprise: 1 });
        expect(await expectFormatError(response, format, 400, 'bad_request')).to.contain('surprise');
      });
    }

    it('refuses a messages request without a version; the vendor’s own header counts as well', async () => {
      // contract 4.8.3:1 9:3
      const without = await text.ask('messages', model, 'Hi', { headers: { 'msgfmt-version': '' } });
      expect(await expectFormatError(without, 'messages', 400, 'bad_request')).to.contain('msgfmt-version');
      for (const headers of [
        { 'msgfmt-version': '', 'anthropic-version': '2023-06-01' },
        { 'msgfmt-version': 'any value' },
      ]) {
        expect((await text.ask('messages', model, 'Hi', { headers })).status).to.equal(200);
      }
    });

    it('refuses models of a family that the responses format does not serve', async () => {
      // contract 4.8:32
      const response = await text.ask('responses', 'claude-sonnet-5', 'Hi');
      await expectFormatError(response, 'responses', 400, 'bad_request');
      await expectGateError(await text.ask('messages', 'claude-sonnet-5', 'Hi'), 404, 'not_found');
    });

    it('refuses fields of responses that the model’s family does not take', async () => {
      // contract 4.8.2:10 4.8.2:11 4.8.2:14
      for (const field of ['reasoning', 'text']) {
        const body = { model: 'textc-M3', input: 'Hi', [field]: { effort: 'low', verbosity: 'low' } };
        const message = await expectFormatError(
          await text.post('/v1/responses', body),
          'responses',
          400,
          'bad_request',
        );
        expect(message).to.contain(`field "${field}" is not supported by model textc-M3`);
        expect((await text.post('/v1/responses', { ...body, [field]: null })).status).to.equal(200);
        expect((await text.post('/v1/responses', { ...body, model: 'textg-6-sol' })).status).to.equal(200);
      }
    });

    it('refuses efforts of reasoning that the model does not have, and accepts the others', async () => {
      // contract 4.8.1:18 4.8.2:10 4.8.2:15 4.8.2:16
      const ask = (model: string, effort: string): Promise<Response> =>
        text.post('/v1/responses', { model, input: 'Hi', reasoning: { effort } });
      for (const effort of ['none', 'minimal']) {
        const message = await expectFormatError(await ask('textg-6.1-sol', effort), 'responses', 400, 'bad_request');
        expect(message).to.contain('"reasoning.effort" must be one of: [low medium high xhigh max]');
      }
      for (const effort of ['low', 'medium', 'high', 'xhigh', 'max']) {
        expect((await ask('textg-6.1-sol', effort)).status, effort).to.equal(200);
      }
      expect((await ask('textg-5.6-sol', 'none')).status).to.equal(200);
      expect((await ask('textg-5.6-sol', 'minimal')).status).to.equal(400);
      const chat = { model: 'textg-6.1-sol', messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: 'none' };
      const refused = await text.post('/v1/chat/completions', chat);
      expect(await expectFormatError(refused, 'chat-completions', 400, 'bad_request')).to.contain('"reasoning_effort"');
    });

    it('refuses a native request without contents', async () => {
      // contract 4.8.4:4
      for (const body of [{}, { contents: [] }]) {
        const response = await text.post(`/v1beta/models/${model}:generateContent`, body);
        await expectFormatError(response, 'generate-content', 400, 'bad_request');
      }
    });
  });

  it('hands over the model, the token bound and the input estimate before the model is called', async () => {
    // contract 1:5 1:7 1:13 4.8:12
    text.charges.length = 0;
    const body = { model, max_tokens: 77, stream: true, messages: [{ role: 'user', content: 'word '.repeat(1_000) }] };
    const response = await text.post('/v1/messages', body);
    await response.text();
    const [charge] = text.charges;
    expect(charge).to.deep.include({ format: 'messages', streamed: true, maxOutputTokens: 77 });
    expect(charge?.requestId).to.equal(response.headers.get('x-request-id'));
    expect(charge?.model.id).to.equal(model);
    expect(charge?.estimateInputTokens()).to.be.within(950, 1_200);
  });

  it('settles nothing that it did not hold', async () => {
    // contract 8.3:6
    text.outcomes.length = 0;
    refusal = new ServiceError('insufficient_credits', 'Top up.');
    await text.ask('messages', model, 'Hi');
    await text.ask('messages', 'nothing', 'Hi');
    await text.idle();
    expect(text.outcomes).to.deep.equal([]);
  });
});

/** Sends more than any body may have, without announcing the length. */
function statusOfEndlessBody(text: TestText): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${text.baseUrl}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text.apiKey}` },
    });
    request.once('response', (response) => {
      resolve(response.statusCode);
      request.destroy();
    });
    request.once('error', reject);
    for (let sent = 0; sent <= 33; sent += 1) request.write(Buffer.alloc(2 ** 20, ' '));
  });
}
