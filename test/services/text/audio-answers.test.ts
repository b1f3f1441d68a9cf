/** Answers with audio over real sockets: in the two formats that have audio, over upstreams of the two. */
import { GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import OpenAI from 'openai';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { soldTextModel } from '../../support/catalogue.ts';
import { lastRow, useTestText } from '../../support/text.ts';
import type { TextModel, TextRoute } from '../../../catalogue/types.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../domain/json.ts';

const MODEL = 'demo-audio';
/** Three pieces, each with a token of text, and two of audio for 0.1 s: 16-bit samples at 24 kHz. */
const PROMPT = 'Hello [sim:prompt=7,tokens=3]';
const SAMPLES = 3 * 4_800;
const WAV_HEADER = 44;
const COUNTS = { input_tokens: '7', audio_input_tokens: '0', output_tokens: '9', audio_output_tokens: '6' };
const CHARGE = 7n * 2_500_000n + 3n * 10_000_000n + 6n * 64_000_000n;
const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };
const MESSAGES = [{ role: 'user', content: PROMPT }];

function modelOver(id: string, route: Partial<TextRoute>): TextModel {
  const model = soldTextModel(MODEL);
  return { ...model, id, routes: [{ ...model.routes[0], model: id, ...route }] };
}

function eventsIn(body: string): readonly JsonObject[] {
  return body
    .split(/\r?\n\r?\n/)
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)));
}

interface Heard {
  readonly audio: Buffer;
  readonly transcript: string;
  readonly usage: JsonObject;
}

function heardInChat(answers: readonly JsonObject[], field: 'message' | 'delta'): Heard {
  const pieces = answers
    .flatMap(({ choices }) => listOf(choices))
    .map((choice) => objectOf(objectOf(objectOf(choice)[field])['audio']));
  return {
    audio: Buffer.concat(pieces.map(({ data }) => Buffer.from(stringOf(data), 'base64'))),
    transcript: pieces.map(({ transcript }) => stringOf(transcript)).join(''),
    usage: objectOf(answers.at(-1)?.['usage']),
  };
}

function heardNatively(answers: readonly JsonObject[]): Heard {
  const parts = answers
    .flatMap(({ candidates }) => listOf(candidates))
    .flatMap((candidate) => listOf(objectOf(objectOf(candidate)['content'])['parts']))
    .map(objectOf);
  return {
    audio: Buffer.concat(parts.map(({ inlineData }) => Buffer.from(stringOf(objectOf(inlineData)['data']), 'base64'))),
    transcript: parts.map(({ text }) => stringOf(text)).join(''),
    usage: objectOf(answers.at(-1)?.['usageMetadata']),
  };
}

describe('an answer with audio', () => {
  const text = useTestText(() => ({
    models: [
      modelOver('audio-native', { format: 'generate-content' }),
      modelOver('audio-renamed', { model: 'another-name' }),
      { ...modelOver('audio-text', {}), routes: [{ ...soldTextModel(MODEL).routes[0], outputModalities: ['text'] }] },
    ],
  }));

  async function inChat(model: string, stream: boolean, body: JsonObject = {}): Promise<Heard> {
    const options = stream ? { stream, stream_options: { include_usage: true } } : {};
    const sent = { model, messages: MESSAGES, ...SPOKEN, ...options, ...body };
    const response = await text.post('/v1/chat/completions', sent);
    const answer = await response.text();
    expect(response.status, answer).to.equal(200);
    return stream ? heardInChat(eventsIn(answer), 'delta') : heardInChat([JSON.parse(answer)], 'message');
  }

  async function natively(model: string, stream: boolean, modalities = ['AUDIO']): Promise<Heard> {
    const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } };
    const generationConfig = { responseModalities: modalities, speechConfig };
    const path = `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
    const response = await text.post(path, { contents: [{ parts: [{ text: PROMPT }] }], generationConfig });
    const answer = await response.text();
    expect(response.status, answer).to.equal(200);
    return heardNatively(stream ? eventsIn(answer) : [JSON.parse(answer)]);
  }

  for (const stream of [false, true]) {
    for (const [model, hasTranscript] of [
      [MODEL, true],
      ['audio-renamed', true],
      ['audio-native', false],
    ] as const) {
      const how = `${stream ? 'streamed' : 'whole'} over ${model}`;

      it(`in chat completions has the audio, the counts and the price of each kind of token: ${how}`, async () => {
        // contract 4.8.1:40 4.8.1:41
        const { audio, transcript, usage } = await inChat(model, stream);
        expect(audio).to.have.length(SAMPLES);
        expect(transcript).to.equal(hasTranscript ? 'alpha beta gamma' : '');
        expect(usage).to.include({ prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 });
        expect(objectOf(usage['completion_tokens_details'])['audio_tokens']).to.equal(6);
        expect(await lastRow(text)).to.include({ ...COUNTS, estimated: false, charge: String(CHARGE) });
      });

      it(`in the native format has the audio, the counts and the price of each kind of token: ${how}`, async () => {
        // contract 4.8.4:20
        const { audio, usage } = await natively(model, stream);
        expect(audio).to.have.length(SAMPLES);
        expect(usage).to.include({ promptTokenCount: 7, candidatesTokenCount: 9 });
        expect(listOf(usage['candidatesTokensDetails'])).to.deep.include({ modality: 'AUDIO', tokenCount: 6 });
        expect(await lastRow(text)).to.include({ ...COUNTS, estimated: false, charge: String(CHARGE) });
      });
    }
  }

  it('is held for at the price of audio, up to the bound of the request', async () => {
    await inChat(MODEL, false, { max_tokens: 30 });
    expect(text.charges.at(-1)).to.include({ hasAudioOutput: true, hasAudioInput: false, maxOutputTokens: 30 });
    await inChat(MODEL, false, { modalities: ['text'] }).catch(() => {});
    expect(text.charges.at(-1)).to.include({ hasAudioOutput: false });
  });

  it('is a WAV file on request, also of upstreams that send only samples', async () => {
    for (const model of [MODEL, 'audio-native']) {
      const { audio } = await inChat(model, false, { audio: { voice: 'alloy', format: 'wav' } });
      expect(audio).to.have.length(WAV_HEADER + SAMPLES);
      expect(audio.toString('latin1', 0, 4)).to.equal('RIFF');
    }
  });

  it('has the transcript as text in the native format if the client wants text, too', async () => {
    for (const stream of [false, true]) {
      expect((await natively(MODEL, stream, ['TEXT', 'AUDIO'])).transcript).to.equal('alpha beta gamma');
      expect((await natively(MODEL, stream)).transcript).to.equal('');
    }
  });

  it('is what the SDKs of the formats expect, and may be referred to by its id', async () => {
    // contract 4.8.1:42
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const request = { model: MODEL, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } } as const;
    const first = { role: 'user', content: PROMPT } as const;
    const answer = await openai.chat.completions.create({
      ...request,
      modalities: ['text', 'audio'],
      messages: [first],
    });
    const message = answer.choices[0]?.message;
    expect(message?.content).to.equal(null);
    expect(message?.audio?.id).to.match(/^audio_/);
    expect((message?.audio?.expires_at ?? 0) > Date.now() / 1000).to.equal(true);
    const second = { role: 'assistant', audio: { id: message?.audio?.id ?? '' } } as const;
    await openai.chat.completions.create({
      model: MODEL,
      messages: [first, second, { role: 'user', content: 'More' }],
    });
    expect(listOf((await text.seen(1))[0]?.body['messages'])[1]).to.deep.equal(second);
    expect(text.charges.at(-1)).to.include({ hasAudioInput: true, hasAudioOutput: false });
    const google = new GoogleGenAI({ apiKey: text.apiKey, httpOptions: { baseUrl: text.baseUrl } });
    const config = { responseModalities: ['AUDIO'] };
    const spoken = await google.models.generateContent({ model: 'audio-native', contents: PROMPT, config });
    expect(spoken.candidates?.[0]?.content?.parts?.[0]?.inlineData?.mimeType).to.equal(
      'audio/L16;codec=pcm;rate=24000',
    );
  });

  it('becomes its transcript for upstreams that do not know the audio, or is refused without one', async () => {
    // contract 4.8.1:42
    const history = (audio: JsonObject) => [
      ...MESSAGES,
      { role: 'assistant', audio },
      { role: 'user', content: 'More' },
    ];
    const audio = { id: 'audio_1', transcript: 'I said this' };
    for (const model of ['audio-text', 'audio-native', 'demo-messages', 'demo-responses', 'demo-native']) {
      const kept = await text.post('/v1/chat/completions', { model, messages: history(audio) });
      expect(kept.status, `${model} ${await kept.text()}`).to.equal(200);
      if (model !== 'audio-text') expect(JSON.stringify((await text.seen(1))[0]?.body)).to.contain('I said this');
      const lost = await text.post('/v1/chat/completions', { model, messages: history({ id: 'audio_1' }), top_k: 1 });
      if (model === 'audio-text') continue;
      expect(
        [lost.status, Object(await lost.json()).error.message.includes('send what was said')],
        model,
      ).to.deep.equal([400, true]);
    }
  });

  it('is refused before any money where the model has none, with what to do', async () => {
    // contract 4.8.1:40 4.8.4:20
    const native = { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { responseModalities: ['AUDIO'] } };
    const before = text.charges.length;
    for (const [path, body, field] of [
      ['/v1/chat/completions', { model: 'demo-chat', messages: MESSAGES, ...SPOKEN }, 'modalities'],
      ['/v1/chat/completions', { model: 'textc-M3', messages: MESSAGES, ...SPOKEN }, 'modalities'],
      ['/v1beta/models/demo-native:generateContent', native, 'generationConfig.responseModalities'],
    ] as const) {
      const response = await text.post(path, body);
      const { error } = Object(await response.json());
      expect([response.status, error.code]).to.deep.equal([400, 'bad_request']);
      expect(error.message).to.match(new RegExp(`^"${field}": .* does not answer with audio; use a model`));
    }
    const json = { model: MODEL, messages: MESSAGES, ...SPOKEN, response_format: { type: 'json_object' } };
    expect((await text.post('/v1/chat/completions', json)).status).to.equal(400);
    expect(text.charges).to.have.length(before);
  });

  it('is refused over an upstream that cannot express the request, and costs nothing', async () => {
    for (const [model, body, message] of [
      ['audio-native', { audio: { voice: { id: 'own' }, format: 'wav' } }, '"audio.voice" must be the name of a voice'],
      ['audio-native', { audio: { voice: 'Kore', format: 'mp3' } }, '"audio.format" must be one of: [wav pcm16]'],
      [
        'audio-native',
        { audio: { voice: 'Kore', format: 'wav' }, stream: true },
        '"audio.format" must be one of: [pcm16]',
      ],
    ] as const) {
      const response = await text.post('/v1/chat/completions', { model, messages: MESSAGES, ...SPOKEN, ...body });
      expect(response.status).to.equal(400);
      expect(Object(await response.json()).error.message).to.contain(message);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    }
  });

  it('charges Genway’s own count of audio at the price of audio if the client leaves', async () => {
    const cancelled = new AbortController();
    const messages = [{ role: 'user', content: 'Hello [sim:tokens=40,chunk_ms=100]' }];
    const body = { model: MODEL, messages, ...SPOKEN, stream: true };
    const response = await text.post('/v1/chat/completions', body, { signal: cancelled.signal });
    const reader = response.body?.getReader();
    for (let seen = 0; seen < 8_000;) seen += (await reader?.read())?.value?.length ?? 8_000;
    cancelled.abort();
    const row = await lastRow(text);
    expect(row).to.include({ outcome: 'disconnected', estimated: true });
    const [input, output, audio] = ['input_tokens', 'output_tokens', 'audio_output_tokens'].map((name) =>
      BigInt(row[name]),
    );
    expect(audio! > 0n).to.equal(true);
    expect(BigInt(row['charge'])).to.equal(
      input! * 2_500_000n + (output! - audio!) * 10_000_000n + audio! * 64_000_000n,
    );
  });

  it('reports settings of audio without the modality as fields without effect', async () => {
    const { audio } = SPOKEN;
    const chat = await text.post('/v1/chat/completions', { model: MODEL, messages: MESSAGES, audio });
    expect(chat.headers.get('x-genway-ignored')).to.equal('audio');
    await chat.arrayBuffer();
  });

  it('shows the modalities of each model of conversations', async () => {
    // contract 2.8:4
    const models = Object(
      await (await fetch(`${text.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${text.apiKey}` } })).json(),
    ).data;
    const modalitiesOf = (id: string) =>
      listOf(models)
        .map(objectOf)
        .find((model) => model['id'] === id)?.['output_modalities'];
    expect(modalitiesOf(MODEL)).to.deep.equal(['text', 'audio']);
    expect(modalitiesOf('demo-chat')).to.deep.equal(['text']);
    expect(modalitiesOf('voice-tts')).to.equal(undefined);
  });
});

describe('audio in a request', () => {
  const text = useTestText(() => ({ models: [modelOver('audio-native', { format: 'generate-content' })] }));
  const data = Buffer.alloc(4_800).toString('base64');

  for (const model of [MODEL, 'audio-native']) {
    for (const client of ['chat', 'native'] as const) {
      it(`has its own count and price: ${client} over ${model}`, async () => {
        const said = 'What is this? [sim:prompt=300,tokens=2]';
        const sound = { type: 'input_audio', input_audio: { data, format: 'wav' } };
        const response =
          client === 'chat'
            ? await text.post('/v1/chat/completions', {
                model,
                messages: [{ role: 'user', content: [{ type: 'text', text: said }, sound] }],
              })
            : await text.post(`/v1beta/models/${model}:generateContent`, {
                contents: [{ parts: [{ text: said }, { inlineData: { mimeType: 'audio/wav', data } }] }],
              });
        const answer = Object(await response.json());
        expect(response.status, JSON.stringify(answer)).to.equal(200);
        if (client === 'chat') expect(answer.usage.prompt_tokens_details.audio_tokens).to.equal(258);
        else {
          expect(answer.usageMetadata.promptTokensDetails).to.deep.include({ modality: 'AUDIO', tokenCount: 258 });
        }
        expect(text.charges.at(-1)).to.include({ hasAudioInput: true });
        expect(await lastRow(text)).to.include({
          input_tokens: '300',
          audio_input_tokens: '258',
          charge: String(42n * 2_500_000n + 258n * 32_000_000n + 2n * 10_000_000n),
        });
      });
    }
  }

  it('is refused in types that the upstream cannot take, and costs nothing', async () => {
    const contents = [{ parts: [{ inlineData: { mimeType: 'audio/ogg', data } }] }];
    const response = await text.post(`/v1beta/models/${MODEL}:generateContent`, { contents });
    expect(response.status).to.equal(400);
    expect(Object(await response.json()).error.message).to.contain('the model takes audio as wav or mp3');
    expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
  });
});

describe('audio of other upstreams', () => {
  const upstream = useScriptedUpstream((_request, response) => {
    const delta = (audio: object, finish_reason: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'own', choices: [{ index: 0, delta: { audio }, finish_reason }] })}\n\n`,
      );
    response.setHeader('content-type', 'text/event-stream');
    delta({ transcript: 'Hello ' });
    delta({ transcript: 'there' });
    delta({ id: 'audio_9', data: Buffer.alloc(4_800).toString('base64'), expires_at: 9 }, 'stop');
    response.write(
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 4, completion_tokens: 10, total_tokens: 14 } })}\n\n`,
    );
    response.end('data: [DONE]\n\n');
  });
  const text = useTestText(() => ({
    upstreams: [{ name: 'own', apiKeys: ['k'] as const, baseUrls: upstream.baseUrls }],
    models: [modelOver('own', { provider: 'own' })],
  }));

  it('keeps pieces with a transcript alone, and is charged by Genway’s own count where they report none', async () => {
    const response = await text.post('/v1/chat/completions', {
      model: 'own',
      messages: MESSAGES,
      ...SPOKEN,
      stream: true,
    });
    const { transcript, audio } = heardInChat(eventsIn(await response.text()), 'delta');
    expect([transcript, audio.length]).to.deep.equal(['Hello there', 4_800]);
    // 0.1 s at 25 tokens a second.
    expect(await lastRow(text)).to.include({ output_tokens: '10', audio_output_tokens: '3', estimated: true });
  });
});
