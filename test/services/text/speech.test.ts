/** Speech over real sockets: from the simulator, and from servers with answers that it never gives. */
import { expect } from 'chai';
import OpenAI from 'openai';
import { VOICE } from '../../../domain/policy.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { soldTextModel } from '../../support/catalogue.ts';
import { itRefusesRequests, lastRow, useTestText } from '../../support/text.ts';

const BY_CHARACTER = 'voice-tts';
const BY_TOKEN = 'voice-tts-mini';
const BASE = { model: BY_CHARACTER, voice: 'alloy' };
/** Three words of 0.4 s: 16-bit samples at 24 kHz. */
const THREE_WORDS = 3 * 19_200;
const WAV_HEADER = 44;

interface SpeechEvent {
  readonly type: string;
  readonly audio?: string;
  readonly usage?: Readonly<Record<string, number>>;
}

function eventsIn(body: string): readonly SpeechEvent[] {
  return body
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => JSON.parse(event.slice('data: '.length)));
}

describe('POST /v1/audio/speech', () => {
  const text = useTestText();

  it('returns the file that the upstream makes, as the OpenAI SDK expects it, and charges each character', async () => {
    // contract 4.8.6:1 4.8.6:3 4.8.6:4 4.8.6:6 4.8.6:7
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const input = 'Grüße, 你好 there';
    const answer = await openai.audio.speech.create({ ...BASE, input, response_format: 'wav', instructions: 'Softly' });
    expect(answer.headers.get('content-type')).to.equal('audio/wav');
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(bytes.toString('latin1', 0, 4)).to.equal('RIFF');
    expect(bytes).to.have.length(WAV_HEADER + THREE_WORDS);
    expect((await text.seen(1))[0]?.body).to.deep.equal({
      ...BASE,
      input,
      response_format: 'wav',
      instructions: 'Softly',
    });
    expect(await lastRow(text)).to.include({
      format: 'speech',
      upstream_format: 'chat-completions',
      outcome: 'succeeded',
      estimated: false,
      characters: '15',
      input_tokens: '0',
      output_tokens: '0',
      charge: String(15n * 15_000_000n),
    });
  });

  it('sends events on request, whose end has the usage', async () => {
    // contract 4.8.6:5 4.8.6:6
    const response = await text.post('/v1/audio/speech', { ...BASE, input: 'One two three', stream_format: 'sse' });
    expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const events = eventsIn(await response.text());
    expect(events.at(-1)?.type).to.equal('speech.audio.done');
    const audio = Buffer.concat(events.map((event) => Buffer.from(event.audio ?? '', 'base64')));
    expect(audio).to.have.length(WAV_HEADER + THREE_WORDS);
  });

  for (const stream_format of ['audio', 'sse'] as const) {
    it(`charges tokens that the upstream reports where they have the price: ${stream_format}`, async () => {
      const input = 'One two three [sim:prompt=7,tokens=40]';
      const body = { ...BASE, model: BY_TOKEN, input, stream_format, response_format: 'pcm' };
      const response = await text.post('/v1/audio/speech', body);
      const bytes = await response.text();
      expect(response.status, bytes).to.equal(200);
      if (stream_format === 'sse') {
        expect(eventsIn(bytes).at(-1)?.usage).to.deep.equal({ input_tokens: 7, output_tokens: 40, total_tokens: 47 });
      }
      expect((await text.seen(1))[0]?.body).to.include({ stream_format: 'sse' });
      expect(await lastRow(text)).to.include({
        input_tokens: '7',
        output_tokens: '40',
        audio_output_tokens: '40',
        estimated: false,
        charge: String(7n * 600_000n + 40n * 12_000_000n),
      });
    });
  }

  it('charges Genway’s own count of tokens if the upstream reports none', async () => {
    const body = { ...BASE, model: BY_TOKEN, input: 'One two three [sim:no_usage]', response_format: 'pcm' };
    await (await text.post('/v1/audio/speech', body)).arrayBuffer();
    const row = await lastRow(text);
    // 1.2 s at 25 tokens a second.
    expect(row).to.include({ outcome: 'succeeded', estimated: true, output_tokens: '30' });
    expect(BigInt(row['charge']) >= 30n * 12_000_000n).to.equal(true);
  });

  for (const [what, input, status] of [
    ['an upstream that refuses', 'Hello [sim:fail=bad_request]', 400],
    ['an upstream that fails', 'Hello [sim:status=500]', 503],
  ] as const) {
    it(`charges nothing for ${what}`, async () => {
      text.resumeUpstreams();
      const response = await text.post('/v1/audio/speech', { ...BASE, input });
      expect(response.status, await response.text()).to.equal(status);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
      text.resumeUpstreams();
    });
  }

  it('breaks the connection off when the upstream does, and charges nothing', async () => {
    // contract 4.8.6:8
    const response = await text.post('/v1/audio/speech', { ...BASE, input: 'One two three four [sim:drop_after=2]' });
    expect(response.status).to.equal(200);
    const failure = await response.arrayBuffer().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).to.be.an.instanceOf(Error);
    expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    text.resumeUpstreams();
  });

  it('charges all characters, and the tokens so far, if the client leaves', async () => {
    // contract 4.8.6:9
    for (const model of [BY_CHARACTER, BY_TOKEN]) {
      const cancelled = new AbortController();
      const input = 'One two three four five six [sim:chunk_ms=300]';
      const body = { ...BASE, model, input, response_format: 'pcm' };
      const response = await text.post('/v1/audio/speech', body, { signal: cancelled.signal });
      await response.body?.getReader().read();
      cancelled.abort();
      const row = await lastRow(text);
      expect(row).to.include({ outcome: 'disconnected', characters: String(input.length) });
      expect(BigInt(row['charge']) > 0n).to.equal(true);
    }
  });

  // contract 4.8.6:2 4.8.6:3 4.8.6:4 4.8.6:5
  itRefusesRequests(text, '/v1/audio/speech', [
    [{ voice: 'alloy', input: 'a' }, '"model" is required'],
    [{ ...BASE }, '"input" is required'],
    [{ ...BASE, input: '' }, '"input" must not be empty'],
    [{ ...BASE, input: 'a'.repeat(VOICE.maxCharacters + 1) }, '"input" accepts at most 4096 characters; it has 4097'],
    [{ model: BY_CHARACTER, input: 'a' }, '"voice" is required'],
    [{ ...BASE, input: 'a', voice: {} }, '"voice.id" is required'],
    [{ ...BASE, input: 'a', response_format: 'ogg' }, '"response_format" must be one of: [mp3 opus aac flac wav pcm]'],
    [{ ...BASE, input: 'a', speed: 5 }, '"speed" must be between 0.25 and 4'],
    [{ ...BASE, input: 'a', stream_format: 'x' }, '"stream_format" must be one of: [audio sse]'],
    [{ ...BASE, input: 'a', language: 'en' }, 'unknown field: language'],
  ]);

  it('is not of models that write, and models that speak do not write', async () => {
    // contract 4.8.6:10
    const speech = await text.post('/v1/audio/speech', { ...BASE, model: 'textc-M3', input: 'a' });
    expect([speech.status, Object(await speech.json()).error.code]).to.deep.equal([404, 'not_found']);
    const chat = await text.ask('chat-completions', BY_CHARACTER, 'Hello');
    expect(chat.status).to.equal(404);
    expect(Object(await chat.json()).error.message).to.contain('use POST /v1/audio/speech');
  });
});

describe('speech of a model', () => {
  const silence = Buffer.alloc(48_000);
  const part = { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: silence.toString('base64') } };
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 25, totalTokenCount: 30 };
  let sent = '';
  let path = '';
  let finishReason = 'STOP';
  const upstream = useScriptedUpstream((request, response, body) => {
    sent = body;
    path = request.url ?? '';
    if (path.includes(':streamGenerateContent')) {
      response.setHeader('content-type', 'text/event-stream');
      for (const answer of [
        { candidates: [{ content: { parts: [part] } }] },
        { candidates: [{ content: { parts: [] }, finishReason }], usageMetadata },
      ]) {
        response.write(`data: ${JSON.stringify(answer)}\r\n\r\n`);
      }
      response.end();
    } else if (path.includes(':generateContent')) {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ candidates: [{ content: { parts: [part] }, finishReason }], usageMetadata }, null, 2),
      );
    } else response.end(silence);
  });
  beforeEach(() => {
    finishReason = 'STOP';
  });
  const text = useTestText(() => {
    const byToken = soldTextModel(BY_TOKEN);
    const byCharacter = soldTextModel(BY_CHARACTER);
    const { pricing } = byCharacter;
    const bySecond = { ...pricing, rates: { ...pricing.rates, character: 0n, audioSecond: 1_000_000n } };
    return {
      upstreams: [{ name: 'own', apiKeys: ['k'] as const, baseUrls: upstream.baseUrls }],
      models: [
        {
          ...byToken,
          id: 'own',
          routes: [
            { ...byToken.routes[0], provider: 'own', format: 'generate-content', set: { service_tier: 'flex' } },
          ],
        },
        { ...byCharacter, id: 'by-second', pricing: bySecond, routes: [{ ...byCharacter.routes[0], provider: 'own' }] },
      ],
    };
  });

  it('of the native format gets a WAV header from Genway, and has tokens of audio', async () => {
    // contract 4.8.6:70
    const body = { model: 'own', voice: 'Kore', input: 'Hello', instructions: 'Say calmly', response_format: 'wav' };
    const response = await text.post('/v1/audio/speech', body);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.status, bytes.toString('latin1', 0, 200)).to.equal(200);
    expect(bytes).to.have.length(WAV_HEADER + silence.length);
    expect(bytes.readUInt32LE(24)).to.equal(24_000);
    expect(await lastRow(text)).to.include({ input_tokens: '5', output_tokens: '25', audio_output_tokens: '25' });
    expect(JSON.parse(sent), 'the fields that the route sets').to.include({ service_tier: 'flex' });
    expect(path).to.match(/:generateContent$/);
  });

  it('comes as a stream of the native format if the client gets events', async () => {
    const body = { model: 'own', voice: 'Kore', input: 'Hello', response_format: 'pcm', stream_format: 'sse' };
    const events = eventsIn(await (await text.post('/v1/audio/speech', body)).text());
    const audio = Buffer.concat(events.map((event) => Buffer.from(event.audio ?? '', 'base64')));
    expect(audio.equals(silence)).to.equal(true);
    expect(path).to.contain(':streamGenerateContent');
  });

  for (const [reason, status, code] of [
    ['OTHER', 503, 'result_transfer_failed'],
    ['MAX_TOKENS', 503, 'result_transfer_failed'],
    ['SAFETY', 400, 'content_policy_violation'],
  ] as const) {
    it(`fails and costs nothing if the native format ends it with ${reason}`, async () => {
      // contract 4.8.6:71
      finishReason = reason;
      const body = { model: 'own', voice: 'Kore', input: 'Hello', response_format: 'wav' };
      const response = await text.post('/v1/audio/speech', body);
      expect([response.status, Object(await response.json()).error.code]).to.deep.equal([status, code]);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
      text.resumeUpstreams();
      const streamed = await text.post('/v1/audio/speech', { ...body, stream_format: 'sse' });
      expect(eventsIn(await streamed.text()).at(-1)).to.nested.include({ type: 'error', 'error.code': code });
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
      text.resumeUpstreams();
    });
  }

  it('is refused by a route that does not have the format', async () => {
    const response = await text.post('/v1/audio/speech', { model: 'own', voice: 'Kore', input: 'Hello' });
    expect(response.status).to.equal(400);
    expect(Object(await response.json()).error.message).to.contain('"response_format" must be one of: [wav pcm]');
  });

  it('costs its seconds, rounded up, where seconds have the price', async () => {
    const body = { model: 'by-second', voice: 'a', input: 'Hello there', response_format: 'pcm' };
    await (await text.post('/v1/audio/speech', body)).arrayBuffer();
    expect(await lastRow(text)).to.include({ audio_seconds: '1', charge: String(1_000_000n), estimated: false });
  });
});
