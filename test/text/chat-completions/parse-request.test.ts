import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { parseRequest } from '../../../text/chat-completions/parse-request.ts';
import { READ_REQUEST } from '../../../text/chat-completions/request-shape.ts';
import { itDecidesEveryField } from '../support.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const base = { model: 'textc-M3', messages: [{ role: 'user', content: 'Hello' }] };

const EXAMPLES = {
  model: 'textd-v2.5',
  messages: [{ role: 'user', content: 'Bye' }],
  max_tokens: 10,
  max_completion_tokens: 10,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 0.5,
  top_p: 0.5,
  top_k: 3,
  stop: 'END',
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } }],
  tool_choice: { type: 'function', function: { name: 'look' } },
  parallel_tool_calls: false,
  n: 2,
  seed: 1,
  frequency_penalty: 1,
  presence_penalty: 1,
  response_format: { type: 'json_schema', json_schema: { name: 'place', schema: { type: 'object' } } },
  reasoning_effort: 'high',
  verbosity: 'low',
  user: 'someone',
  prompt_cache_key: 'conversation',
  audio: { voice: 'alloy' },
  web_search_options: { search_context_size: 'low' },
  functions: [{ name: 'look' }],
  function_call: { name: 'look' },
};

const refusal = createRefusalReader(parseRequest);

function turnsOf(...messages: readonly JsonObject[]) {
  return parseRequest({ ...base, messages }).turns;
}

describe('chat completions request', () => {
  const { modalities: _, ...shape } = READ_REQUEST.full.shape;
  itDecidesEveryField(parseRequest, { shape }, base, EXAMPLES);

  it('accepts text and audio as kinds of answers, and needs the voice and the format of audio', () => {
    // contract 4.8.1:21
    const modalities = ['text', 'audio'];
    expect(refusal({ ...base, modalities: ['text'] })).to.equal('accepted');
    expect(refusal({ ...base, modalities, audio: { voice: 'alloy', format: 'wav' } })).to.equal('accepted');
    expect(refusal({ ...base, modalities, audio: { voice: { id: 'own' }, format: 'mp3' } })).to.equal('accepted');
    for (const [wrong, message] of [
      [{ modalities: ['image'] }, '"modalities[0]" must be one of: [text audio]'],
      [{ modalities, audio: null }, '"audio" is required'],
      [{ modalities, audio: { format: 'wav' } }, '"audio.voice" is required'],
      [{ modalities, audio: { voice: {}, format: 'wav' } }, '"audio.voice.id" is required'],
      [
        { modalities, audio: { voice: 'alloy', format: 'ogg' } },
        '"audio.format" must be one of: [wav aac mp3 flac opus pcm16]',
      ],
    ] as const) {
      expect(refusal({ ...base, ...wrong })).to.equal(message);
    }
  });

  const refusals: readonly (readonly [unknown, string])[] = [
    [[], 'the request body must be an object'],
    [{ messages: base.messages }, '"model" is required'],
    [{ ...base, model: 5 }, '"model" must be a string'],
    [{ ...base, messages: [] }, '"messages" requires at least 1 item'],
    [{ ...base, messages: 'Hello' }, '"messages" must be an array'],
    [{ ...base, messages: [{ role: 'user', content: 5 }] }, '"messages[0].content" must be a string or an array'],
    [{ ...base, messages: [{ role: 'user' }] }, '"messages[0].content" is required'],
    [
      { ...base, messages: [{ role: 'bot', content: '' }] },
      '"messages[0].role" must be one of: [system developer user assistant tool function]',
    ],
    [{ ...base, messages: [{ role: 'tool', content: 'x' }] }, '"messages[0].tool_call_id" is required'],
    [
      { ...base, messages: [{ role: 'user', content: [{ type: 'video' }] }] },
      '"messages[0].content[0].type" must be one of: [text image_url file input_audio video_url]',
    ],
    [{ ...base, max_tokens: '10' }, '"max_tokens" must be an integer'],
    [{ ...base, max_tokens: 0 }, '"max_tokens" must be at least 1'],
    [{ ...base, temperature: 'hot' }, '"temperature" must be a number'],
    [{ ...base, stream: 'yes' }, '"stream" must be a boolean'],
    [{ ...base, stop: ['a', 1] }, '"stop[1]" must be a string'],
    [{ ...base, tools: [{ type: 'web_search' }] }, '"tools[0].type" must be one of: [function]'],
    [{ ...base, colour: 'red' }, 'unknown field: colour'],
    [{ ...base, ['__proto__x']: 1, toString: 1 }, 'unknown field: __proto__x'],
  ];
  for (const [body, message] of refusals) {
    it(`a request is refused with: ${message}`, () => expect(refusal(body)).to.equal(message)); // contract 4.8:4 4.8.1:1 4.8.1:2 4.8.1:3 4.8.1:4 4.8.1:9 4.8.1:11 4.8.1:25 4.8.1:28
  }

  it('keeps system text in its place, under either name of the role', () => {
    // contract 4.8.1:25
    const system = { role: 'system', content: 'Be kind.' };
    const developer = { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] };
    expect(turnsOf(system, { role: 'user', content: 'Hi' }, developer).map((turn) => turn.role)).to.deep.equal([
      'system',
      'user',
      'system',
    ]);
  });

  it('has images as bytes or as a link, in order', () => {
    // contract 4.8:30 4.8.1:25
    const content = [
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAAA', detail: 'low' } },
      { type: 'text', text: 'and' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ];
    expect(turnsOf({ role: 'user', content })[0]?.parts).to.deep.equal([
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' }, detail: 'low' },
      { type: 'text', text: 'and' },
      { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } },
    ]);
  });

  it('accepts an answer that a client sends back: reasoning, text, calls without arguments', () => {
    // contract 4.8.1:26
    const answer = {
      role: 'assistant',
      content: null,
      reasoning_content: 'Hm.',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '' } }],
      provider_specific_fields: {},
    };
    expect(turnsOf(answer)[0]?.parts).to.deep.equal([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' },
    ]);
  });

  it('converts functions to tools, and matches their results to the calls by name', () => {
    // contract 4.8.1:16
    const functions = [{ name: 'look', parameters: { type: 'object' } }];
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"at":1}' } },
      { role: 'function', name: 'look', content: 'one' },
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"at":2}' } },
      { role: 'function', name: 'look', content: 'two' },
    ];
    const request = parseRequest({ ...base, functions, messages });
    expect(request.tools).to.deep.equal(functions);
    expect(request).to.deep.include({ functions: { answers: true }, parallelToolCalls: false });
    const [, first, firstResult, second, secondResult] = request.turns.map(({ parts }) => parts[0]);
    expect(first).to.include({ type: 'tool-call', name: 'look', arguments: '{"at":1}' });
    expect(firstResult).to.have.property('callId', Object(first)['callId']);
    expect(secondResult).to.have.property('callId', Object(second)['callId']);
    expect(Object(first)['callId']).to.not.equal(Object(second)['callId']);
    expect(refusal({ ...base, messages: [{ role: 'function', name: 'look', content: 'x' }] })).to.contain(
      'must answer a function_call of "look"',
    );
  });

  it('reads the schema that some clients put beside `json_object`', () => {
    const formatOf = (format: JsonObject) => parseRequest({ ...base, response_format: format }).outputFormat;
    const schema = { type: 'object' };
    expect(formatOf({ type: 'json_object' })).to.deep.equal({ type: 'json-object' });
    expect(formatOf({ type: 'json_object', schema })).to.deep.equal({ type: 'json-schema', name: 'answer', schema });
  });

  it('uses the larger of both fields for the output bound', () => {
    // contract 4.8.1:3
    for (const [older, newer] of [
      [5, 6],
      [6, 5],
    ]) {
      const body = { ...base, max_tokens: older, max_completion_tokens: newer };
      expect(parseRequest(body).sampling.maxOutputTokens).to.equal(6);
    }
  });
});
