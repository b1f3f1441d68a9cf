import { Agent } from 'node:https';
import { connect } from 'node:net';
import OpenAI, { toFile } from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { API_URL, CALL, expect, look, MODEL as model, PIXEL, report, SAY, SCHEMA } from './check.mjs';

const client = new OpenAI();
const media = new OpenAI({ baseURL: `${API_URL}/v1` });
const ask = (content) => [{ role: 'user', content }];
const textOf = (completion) => completion.choices[0].message.content;

expect('turn', textOf(await client.chat.completions.create({ model, messages: ask(SAY) })), 'lighthouse');
const stream = client.chat.completions.stream({ model, messages: ask(SAY) });
expect('stream', await stream.finalContent(), 'lighthouse');
const parameters = SCHEMA;
const tools = [{ type: 'function', function: { name: 'look', parameters, parse: JSON.parse, function: look } }];
const runner = client.chat.completions.runTools({ model, messages: ask(CALL), tools });
expect('tools', await runner.finalContent(), 'rain in Oslo');
const response_format = { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } };
const messages = ask('Name a city.');
expect('structured', textOf(await client.chat.completions.create({ model, messages, response_format })), '"city"');
const image_url = { url: `data:image/png;base64,${PIXEL}` };
const picture = ask([
  { type: 'text', text: SAY },
  { type: 'image_url', image_url },
]);
expect('image', textOf(await client.chat.completions.create({ model, messages: picture })), 'light');
const text = { format: { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true } };
const response = await client.responses.create({ model, input: 'Name a city.', text, reasoning: { effort: 'low' } });
expect('responses', response.output_text, '"city"');
const { input_tokens } = await client.responses.inputTokens.count({ model, input: SAY });
expect('count', input_tokens > 0, 'true');
const embedded = await client.embeddings.create({ model: 'textm-embed', input: ['One', 'Two'], dimensions: 3 });
expect('embeddings', embedded.data.map(({ embedding }) => embedding.length).join(), '3,3');
const speech = { model: 'voice-tts', voice: 'alloy', input: 'One two three', response_format: 'wav' };
const spoken = Buffer.from(await (await client.audio.speech.create(speech)).arrayBuffer());
expect('speech', spoken.toString('latin1', 0, 4), 'RIFF');
const file = await toFile(spoken, 'speech.wav');
const prompt = '[sim:say=Good_morning.]';
const heard = { file, prompt, model: 'voice-stt' };
expect('transcription', (await client.audio.transcriptions.create(heard)).text, 'Good morning.');
const verbose = await client.audio.transcriptions.create({ ...heard, response_format: 'verbose_json' });
expect('verbose transcription', verbose.duration > 1, 'true');
const events = await client.audio.transcriptions.create({ ...heard, model: 'voice-stt-mini', stream: true });
let transcript = '';
for await (const event of events) if (event.type === 'transcript.text.done') transcript = event.text;
expect('streamed transcription', transcript, 'Good morning.');
const pictures = await media.images.generate({
  model: 'imagea-2.5-sunburst',
  prompt: 'A fox',
  n: 2,
  response_format: 'b64_json',
});
expect('pictures', pictures.data.map(({ b64_json }) => b64_json.length > 100).join(), 'true,true');
let video = await media.videos.create({ model: 'vidone-3.0', prompt: 'A fox', seconds: '4', size: '720x1280' });
while (video.status === 'queued' || video.status === 'in_progress') {
  await new Promise((resolve) => setTimeout(resolve, 500));
  video = await media.videos.retrieve(video.id);
}
const content = await (await media.videos.downloadContent(video.id)).arrayBuffer();
expect('video', [video.status, content.byteLength > 1_000].join(), 'completed,true');
expect('realtime', await converse(), 'rain in Oslo');
const requests = ['first', 'second'].map((custom_id) => {
  return JSON.stringify({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: ask(SAY) },
  });
});
const lines = await toFile(Buffer.from(requests.join('\n')), 'requests.jsonl');
const input = await client.files.create({ file: lines, purpose: 'batch' });
const endpoint = '/v1/chat/completions';
let batch = await client.batches.create({ input_file_id: input.id, endpoint, completion_window: '24h' });
while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
  await new Promise((resolve) => setTimeout(resolve, 500));
  batch = await client.batches.retrieve(batch.id);
}
expect('batch', [batch.status, batch.request_counts.completed].join(), 'completed,2');
const answers = (await (await client.files.content(batch.output_file_id)).text()).trim().split('\n');
const said = answers.map((line) => JSON.parse(line)).map(({ response }) => textOf(response.body));
expect('batch results', said.join(), 'lighthouse,');
report();

/** Holds a realtime conversation with a call of a tool, with a client secret. @returns the last text */
async function converse() {
  const { value: apiKey } = await media.realtime.clientSecrets.create({
    session: { type: 'realtime', model: 'demo-realtime', output_modalities: ['text'] },
  });
  // The SDK always uses TLS, which this machine has not.
  const agent = new Agent();
  agent.createConnection = () => connect(Number(new URL(API_URL).port), '127.0.0.1');
  const browser = new OpenAI({ apiKey, baseURL: `${API_URL}/v1` });
  const session = new OpenAIRealtimeWS({ model: 'demo-realtime', options: { agent } }, browser);
  const create = (item) => session.send({ type: 'conversation.item.create', item });
  const answer = await new Promise((resolve, reject) => {
    session.on('error', reject);
    session.on('session.created', () => {
      session.send({
        type: 'session.update',
        session: { type: 'realtime', tools: [{ type: 'function', name: 'look', parameters }] },
      });
      create({ type: 'message', role: 'user', content: [{ type: 'input_text', text: CALL }] });
      session.send({ type: 'response.create' });
    });
    session.on('response.function_call_arguments.done', ({ call_id, arguments: given }) => {
      create({ type: 'function_call_output', call_id, output: look(JSON.parse(given)) });
    });
    session.on('response.done', ({ response }) => {
      if (response.output[0].type === 'function_call') session.send({ type: 'response.create' });
    });
    session.on('response.output_text.done', ({ text }) => resolve(text));
  });
  session.close();
  return answer;
}
