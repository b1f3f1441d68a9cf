/** Transcription over real sockets: from the simulator, and from servers with answers that it never gives. */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import { bytesPerSecond, wavHeader } from '../../../domain/wav.ts';
import { SPOOLED_PREFIX } from '../../../storage/spool.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { soldTextModel } from '../../support/catalogue.ts';
import { lastRow, useTestText } from '../../support/text.ts';

const BY_SECOND = 'voice-stt';
const BY_TOKEN = 'voice-stt-mini';
const PICO_USD_PER_SECOND = 100_000_000n;
const PCM = { samplesPerSecond: 16_000, channels: 1 };

/** A WAV file of silence. @param announced the bytes of samples in its header */
function wavOf(seconds: number, announced?: number): Buffer {
  const samples = Buffer.alloc(seconds * bytesPerSecond(PCM));
  return Buffer.concat([wavHeader(PCM, announced ?? samples.byteLength), samples]);
}

function formOf(
  fields: Readonly<Record<string, string>>,
  file: Uint8Array<ArrayBuffer> | Buffer | null,
  type = 'audio/wav',
): FormData {
  const form = new FormData();
  if (file !== null) form.append('file', new Blob([new Uint8Array(file)], { type }), 'speech.wav');
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

function spooledFiles(): number {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(SPOOLED_PREFIX)).length;
}

describe('POST /v1/audio/transcriptions', () => {
  const text = useTestText();

  function send(
    fields: Readonly<Record<string, string>>,
    file: Buffer | null = wavOf(2.5),
    { task = 'transcriptions', apiKey = text.apiKey } = {},
  ): Promise<Response> {
    return fetch(`${text.baseUrl}/v1/audio/${task}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: formOf(fields, file),
    });
  }

  it('returns the transcript to the OpenAI SDK, and charges the seconds, rounded up', async () => {
    // contract 4.8.7:1 4.8.7:2 4.8.7:5 4.8.7:6
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const file = await toFile(wavOf(2.5), 'speech.wav', { type: 'audio/wav' });
    const prompt = '[sim:say=Good_morning.]';
    const answer = await openai.audio.transcriptions.create({ file, model: BY_SECOND, prompt, temperature: 0.5 });
    expect(answer).to.deep.equal({ text: 'Good morning.', usage: { type: 'duration', seconds: 3 } });
    expect(await lastRow(text)).to.include({
      format: 'transcriptions',
      outcome: 'succeeded',
      streamed: false,
      estimated: false,
      audio_seconds: '3',
      input_tokens: '0',
      output_tokens: '0',
      charge: String(3n * PICO_USD_PER_SECOND),
    });
    expect(spooledFiles()).to.equal(0);
  });

  for (const [response_format, expected, contentType] of [
    ['text', 'Hello there.\n', 'text/plain'],
    ['srt', '1\n00:00:00,000 --> 00:00:02,500\nHello there.\n', 'text/plain'],
    ['vtt', 'WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nHello there.\n', 'text/plain'],
    ['verbose_json', '"duration":2.5', 'application/json'],
  ] as const) {
    it(`has the format ${response_format}`, async () => {
      // contract 4.8.7:3 4.8.7:5
      const response = await send({ model: BY_SECOND, response_format, prompt: '[sim:say=Hello_there.]' });
      const body = await response.text();
      expect(response.status, body).to.equal(200);
      expect(response.headers.get('content-type')).to.contain(contentType);
      expect(body).to.contain(expected);
      expect(await lastRow(text)).to.include({ audio_seconds: '3' });
    });
  }

  it('has in the format verbose_json the segments of the upstream, with the fields that SDKs require', async () => {
    // contract 4.8.7:5
    const response = await send({
      model: BY_SECOND,
      response_format: 'verbose_json',
      prompt: '[sim:say=Hello_there.]',
    });
    const [segment] = Object(await response.json()).segments;
    expect(segment).to.include.keys('avg_logprob', 'compression_ratio', 'no_speech_prob');
  });

  for (const name of ['timestamp_granularities[]', 'timestamp_granularities', 'timestamp_granularities[0]']) {
    it(`reads the list ${name}, and no part without a value`, async () => {
      // contract 4.8.7:8
      const statuses = [];
      for (const granularity of ['word', 'line']) {
        const fields = { model: BY_SECOND, response_format: 'verbose_json', language: '', temperature: '' };
        statuses.push((await send({ ...fields, [name]: granularity })).status);
      }
      expect(statuses).to.deep.equal([200, 400]);
    });
  }

  it('charges tokens, of which those of audio have their own price', async () => {
    // contract 4.8.7:6
    const response = await send({ model: BY_TOKEN, prompt: 'A [sim:prompt=7,tokens=4]' });
    expect(Object(await response.json()).usage).to.deep.include({ type: 'tokens', input_tokens: 32, output_tokens: 4 });
    expect(await lastRow(text)).to.include({
      audio_seconds: '0',
      input_tokens: '32',
      audio_input_tokens: '25',
      output_tokens: '4',
      charge: String(7n * 1_250_000n + 25n * 3_000_000n + 4n * 5_000_000n),
    });
  });

  for (const model of [BY_TOKEN, BY_SECOND]) {
    it(`streams events, also of an upstream that answers at once: ${model}`, async () => {
      // contract 4.8.7:4
      const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
      const file = await toFile(wavOf(1), 'speech.wav');
      const stream = await openai.audio.transcriptions.create({
        file,
        model,
        stream: true,
        prompt: '[sim:say=One_two.]',
      });
      const events: { type: string }[] = [];
      for await (const event of stream) events.push(event);
      expect(events.at(-1)).to.include({ type: 'transcript.text.done', text: 'One two.' });
      expect(events.map(({ type }) => type)).to.include('transcript.text.delta');
      expect(await lastRow(text)).to.include({ outcome: 'succeeded', streamed: true });
    });
  }

  it('translates into English', async () => {
    // contract 4.8.7:1
    const response = await send({ model: BY_SECOND, prompt: '[sim:say=Hello]' }, wavOf(1), { task: 'translations' });
    expect([response.status, Object(await response.json()).text]).to.deep.equal([200, 'Hello']);
    expect(await lastRow(text)).to.include({ format: 'translations', audio_seconds: '1' });
    const other = await send({ model: BY_TOKEN }, wavOf(1), { task: 'translations' });
    expect(other.status).to.equal(404);
  });

  it('charges nothing for a failure, and removes the file', async () => {
    // contract 4.8.7:7
    const response = await send({ model: BY_SECOND, prompt: '[sim:fail=bad_request]' });
    expect(response.status).to.equal(400);
    expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    expect(spooledFiles()).to.equal(0);
  });

  it('holds for the seconds that the file announces, or for its size if these are not plausible or not known', async () => {
    // contract 4.8.7:6
    for (const [file, seconds] of [
      [wavOf(2.5), 3],
      [Buffer.alloc(10_000, 1), 21],
      [Buffer.concat([wavHeader({ samplesPerSecond: 192_000, channels: 2 }, 768_000), Buffer.alloc(5_000)]), 12],
    ] as const) {
      await (await send({ model: BY_SECOND }, file)).arrayBuffer();
      expect(text.charges.at(-1)?.audioSeconds, String(file.byteLength)).to.be.at.most(seconds);
    }
  });

  for (const [fields, file, message] of [
    [{}, wavOf(1), '"model" is required'],
    [{ model: BY_SECOND }, null, '"file" is required'],
    [{ model: BY_SECOND }, Buffer.alloc(0), 'The file is empty'],
    [{ model: BY_SECOND, file: 'text' }, null, 'Send the file as the part "file"'],
    [{ model: BY_SECOND, response_format: 'xml' }, wavOf(1), '"response_format" must be one of'],
    [{ model: BY_SECOND, temperature: '3' }, wavOf(1), '"temperature" must be between 0 and 1'],
    [
      { model: BY_SECOND, stream: 'true', response_format: 'srt' },
      wavOf(1),
      'must be json, text or diarized_json if "stream" is true',
    ],
    [{ model: BY_SECOND, speed: '2' }, wavOf(1), 'unknown field: speed'],
    [{ model: BY_SECOND, 'speed[a]': '2' }, wavOf(1), 'unknown field: speed[a]'],
    [{ model: BY_SECOND, prompt: 'a'.repeat(65 * 1024) }, wavOf(1), '"prompt" is too long'],
    [Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}`, ''])), wavOf(1), 'too many parts'],
  ] as const) {
    it(`refuses requests with: ${message}`, async () => {
      // contract 4.8.7:2 4.8.7:3
      await text.idle();
      const before = text.charges.length;
      const response = await send(fields, file);
      const { error } = Object(await response.json());
      expect([response.status, error.code]).to.deep.equal([400, 'bad_request']);
      expect(error.message).to.contain(message);
      await text.idle();
      expect([text.charges.length, spooledFiles()]).to.deep.equal([before, 0]);
    });
  }

  it('refuses the key of nobody, and a model outside the group of the key, before it reads the file', async () => {
    // contract 4.8.7:1
    expect((await send({ model: BY_SECOND }, wavOf(1), { apiKey: 'sk-none' })).status).to.equal(401);
    const apiKey = await text.createKey({ models: ['textc-M3'] });
    const response = await send({ model: BY_SECOND }, wavOf(1), { apiKey });
    expect(response.status).to.equal(403);
  });
});

describe('a transcription', () => {
  let sent = '';
  const segment = { type: 'transcript.text.segment', id: 's1', speaker: 'agent', start: 0, end: 1, text: 'Hi' };
  const upstream = useScriptedUpstream((request, response, body) => {
    sent = body;
    if (body.includes('diarized_json')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of [segment, { type: 'transcript.text.done', text: 'Hi' }]) {
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      }
      response.end();
      return;
    }
    if (body.includes('name="stream"')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const delta = { type: 'transcript.text.delta', delta: 'word '.repeat(40) };
      response.write(`data: ${JSON.stringify(delta)}\n\n`);
      return;
    }
    if (request.url?.includes(':generateContent') !== true) {
      response.end(JSON.stringify({ text: 'Long', usage: { type: 'duration', seconds: 9 } }));
      return;
    }
    const { contents } = JSON.parse(body);
    const { data, mimeType } = contents[0].parts[1].inlineData;
    const words = `${mimeType} ${Buffer.from(data, 'base64').byteLength}`;
    const details = [
      { modality: 'TEXT', tokenCount: 10 },
      { modality: 'AUDIO', tokenCount: 32 },
    ];
    const usageMetadata = { promptTokenCount: 42, candidatesTokenCount: 5, promptTokensDetails: details };
    const candidates = [{ content: { parts: [{ text: words }] }, finishReason: 'STOP' }];
    response.end(JSON.stringify({ candidates, usageMetadata }));
  });
  const text = useTestText(() => {
    const [byToken, bySecond] = [soldTextModel(BY_TOKEN), soldTextModel(BY_SECOND)];
    return {
      settings: { readOnMs: 1_000 },
      upstreams: [{ name: 'own', apiKeys: ['k'] as const, baseUrls: upstream.baseUrls }],
      models: [
        { ...byToken, id: 'native', routes: [{ ...byToken.routes[0], provider: 'own', format: 'generate-content' }] },
        { ...bySecond, id: 'long', routes: [{ ...bySecond.routes[0], provider: 'own' }] },
      ],
    };
  });

  async function send(model: string, file: Buffer, type?: string): Promise<Response> {
    return fetch(`${text.baseUrl}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text.apiKey}` },
      body: formOf({ model }, file, type),
    });
  }

  it('of an upstream of the native format has the file in the request, and tokens of audio', async () => {
    const file = wavOf(1);
    // contract 4.8.7:73
    const response = await send('native', file, 'application/octet-stream');
    const answer = Object(await response.json());
    expect(answer.text).to.equal(`audio/wav ${file.byteLength}`);
    expect(answer.usage).to.deep.include({ type: 'tokens', input_tokens: 42, output_tokens: 5 });
    expect(await lastRow(text)).to.include({ input_tokens: '42', audio_input_tokens: '32', output_tokens: '5' });
  });

  it('gets the settings of chunks and speakers as the OpenAI SDK sends them, and has events of segments', async () => {
    // contract 4.8.7:74 4.8.7:75
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const reference = `data:audio/wav;base64,${wavOf(10).toString('base64')}`;
    const stream = await openai.audio.transcriptions.create({
      file: await toFile(wavOf(1), 'speech.wav', { type: 'audio/wav' }),
      model: 'long',
      stream: true,
      response_format: 'diarized_json',
      chunking_strategy: { type: 'server_vad', threshold: 0.4 },
      known_speaker_names: ['agent', 'caller'],
      known_speaker_references: [reference, reference],
    });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events[0]).to.deep.equal(segment);
    expect(events.at(-1)?.type).to.equal('transcript.text.done');
    const parts = [...sent.matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)/g)].map(([, name, value]) => [name, value]);
    expect(parts).to.deep.include.members([
      ['chunking_strategy[type]', 'server_vad'],
      ['chunking_strategy[threshold]', '0.4'],
      ['known_speaker_names[]', 'agent'],
      ['known_speaker_names[]', 'caller'],
      ['known_speaker_references[]', reference],
    ]);
  });

  it('costs the seconds that its text takes to speak if the client leaves, even if the file announced fewer', async () => {
    // contract 4.8.7:6
    const leaving = new AbortController();
    const response = await fetch(`${text.baseUrl}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text.apiKey}` },
      body: formOf({ model: 'long', stream: 'true' }, wavOf(1)),
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    leaving.abort();
    expect(await lastRow(text)).to.include({ outcome: 'disconnected', audio_seconds: '10' });
  });

  it('costs the seconds that the upstream heard, even if the file announced fewer', async () => {
    // contract 4.8.7:6
    await (await send('long', wavOf(1))).json();
    const row = await lastRow(text);
    expect(row).to.include({ audio_seconds: '9', charge: String(9n * PICO_USD_PER_SECOND), absorbed: '0' });
  });
});
