import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import { FORMATS } from '../../text/formats.ts';
import { streamedTo, textRequest } from './support.ts';

const OPTIONS = { model: 'upstream-model', apiKey: 'secret' };
const MESSAGES = [{ role: 'user', content: 'Hi' }];
const BASES: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': { model: 'm', messages: MESSAGES },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 7, messages: MESSAGES },
  'generate-content': { contents: [{ parts: [{ text: 'Hi' }] }] },
};
const ADDRESS = { model: 'm', stream: false };
const JSON_SCHEMA = { type: 'json_schema', name: 'x', schema: {}, json_schema: { name: 'x', schema: {} } };
const FORMAT_TYPES = [{ type: 'text' }, { type: 'json_object' }, JSON_SCHEMA];
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const VERBOSITIES = ['low', 'medium', 'high'];
const SEVERAL_STOPS = [Array(64).fill('x'), ['x'.repeat(65_536)]];
const TOO_MANY_STOPS = [Array(65).fill('x'), ['x'.repeat(65_537)]];

/** For each field, accepted values at its bounds, and refused values just beyond them. */
const BOUNDS: readonly (readonly [WireFormatName, string, readonly unknown[], readonly unknown[]])[] = [
  ['chat-completions', 'temperature', [0, 2], [-0.1, 2.1]],
  ['chat-completions', 'top_p', [0, 1], [-0.1, 1.1]],
  ['chat-completions', 'top_k', [0, 40], [-1, 0.5]],
  ['chat-completions', 'seed', [-7, 7], [0.5]],
  ['chat-completions', 'frequency_penalty', [-2, 2], [-2.1, 2.1]],
  ['chat-completions', 'presence_penalty', [-2, 2], [-2.1, 2.1]],
  ['chat-completions', 'n', [1, 128], [0, 129]],
  ['chat-completions', 'stop', ['x', ...SEVERAL_STOPS], TOO_MANY_STOPS],
  [
    'chat-completions',
    'tool_choice',
    ['auto', 'none', 'required', { type: 'function', function: { name: 'x' } }],
    ['any'],
  ],
  ['chat-completions', 'parallel_tool_calls', [true, false], ['no']],
  ['chat-completions', 'response_format', FORMAT_TYPES, [{ type: 'xml' }]],
  ['chat-completions', 'reasoning_effort', EFFORTS, ['most']],
  ['chat-completions', 'verbosity', VERBOSITIES, ['loud']],
  ['responses', 'temperature', [0, 2], [-0.1, 2.1]],
  ['responses', 'top_p', [0, 1], [-0.1, 1.1]],
  ['responses', 'tool_choice', ['auto', 'none', 'required', { type: 'function', name: 'x' }], ['any']],
  ['responses', 'text', FORMAT_TYPES.map((format) => ({ format })), [{ format: { type: 'xml' } }]],
  ['responses', 'text', VERBOSITIES.map((verbosity) => ({ verbosity })), [{ verbosity: 'loud' }]],
  ['messages', 'temperature', [0, 2], [-0.1, 2.1]],
  ['messages', 'top_p', [0, 1], [-0.1, 1.1]],
  ['messages', 'top_k', [0, 40], [-1, 0.5]],
  ['messages', 'stop_sequences', SEVERAL_STOPS, TOO_MANY_STOPS],
  [
    'messages',
    'output_config',
    ['low', 'medium', 'high', 'xhigh', 'max'].map((effort) => ({ effort })),
    [{ effort: 'none' }],
  ],
  ['generate-content', 'temperature', [0, 2], [-0.1, 2.1]],
  ['generate-content', 'topP', [0, 1], [-0.1, 1.1]],
  ['generate-content', 'topK', [0, 40], [-1, 0.5]],
  ['generate-content', 'frequencyPenalty', [-2, 2], [-2.1, 2.1]],
  ['generate-content', 'presencePenalty', [-2, 2], [-2.1, 2.1]],
  ['generate-content', 'candidateCount', [1, 8], [0, 9]],
  ['generate-content', 'stopSequences', SEVERAL_STOPS, TOO_MANY_STOPS],
];

/** The error of a body with that field; null if the field is accepted. */
function refusalOf(format: WireFormatName, field: string, value: unknown): string | null {
  const isNative = format === 'generate-content';
  const fields = isNative ? { generationConfig: { [field]: value } } : { [field]: value };
  try {
    FORMATS[format].client.parseRequest({ ...BASES[format], ...fields }, isNative ? { address: ADDRESS } : {});
    return null;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request') return error.message;
    throw error;
  }
}

describe('the settings of a text request', () => {
  for (const [format, field, taken, refused] of BOUNDS) {
    it(`are accepted up to their bounds and refused by name beyond them: ${field} of ${format}`, () => {
      // contract 4.8:13 4.8:15 4.8.1:6 4.8.1:7 4.8.1:8 4.8.1:10 4.8.1:13 4.8.1:17 4.8.1:18 4.8.1:19 4.8.2:6 4.8.2:11 4.8.3:7 4.8.4:9
      for (const value of taken) expect(refusalOf(format, field, value)).to.equal(null);
      for (const value of refused) expect(refusalOf(format, field, value)).to.contain(`"${field}`.replace(/^"/, ''));
    });
  }

  it('reach the models that have them: top_k, seed and penalties', () => {
    // contract 4.8:17
    const sampling = { topK: 3, seed: 4, frequencyPenalty: 0.5, presencePenalty: 0.25 };
    const sent = WIRE_FORMAT_NAMES.map((format) => {
      const text = JSON.stringify(FORMATS[format].upstream.buildRequest(textRequest({ sampling }), OPTIONS).body);
      return [
        format,
        ['top_?k":3', 'seed":4', 'frequency_?penalty":0.5', 'presence_?penalty":0.25'].map((field) =>
          new RegExp(field, 'i').test(text),
        ),
      ];
    });
    expect(Object.fromEntries(sent)).to.deep.equal({
      'chat-completions': [true, true, true, true],
      responses: [false, false, false, false],
      messages: [true, false, false, false],
      'generate-content': [true, true, true, true],
    });
  });

  it('have a temperature of at most 1 at messages upstreams, whose own range ends there', () => {
    // contract 4.8:14
    for (const temperature of [0, 0.5, 1, 1.5, 2]) {
      const { upstream } = FORMATS.messages;
      const request = textRequest({ sampling: { temperature } });
      const forwarded = upstream.forwardRequest({ ...BASES.messages, temperature }, request, OPTIONS);
      for (const { body } of [upstream.buildRequest(request, OPTIONS), forwarded]) {
        expect(body['temperature']).to.equal(Math.min(temperature, 1));
      }
    }
  });

  it("bound the output by the client's limit, even far above the output of models", () => {
    // contract 4.8:10
    const bound = 1_000_000_000;
    for (const [format, field] of [
      ['chat-completions', 'max_tokens'],
      ['responses', 'max_output_tokens'],
      ['messages', 'max_tokens'],
      ['generate-content', 'maxOutputTokens'],
    ] as const) {
      expect(refusalOf(format, field, bound), format).to.equal(null);
    }
  });
});

describe('a link to a file', () => {
  const source = { kind: 'url', url: 'https://files.example.com/a.pdf', mediaType: 'application/pdf' } as const;
  const turns = [{ role: 'user', parts: [{ type: 'file', source }] }] as const;

  for (const format of WIRE_FORMAT_NAMES) {
    const isTaken = format !== 'chat-completions';
    it(`${isTaken ? 'is passed to' : 'is refused, asking for the file itself, for'} models that speak ${format}`, () => {
      // contract 4.8:31
      const build = () => JSON.stringify(FORMATS[format].upstream.buildRequest(textRequest({ turns }), OPTIONS).body);
      if (isTaken) expect(build()).to.contain(source.url);
      else expect(build).to.throw(ServiceError, 'send the file itself').with.property('code', 'bad_request');
    });
  }
});

describe('the parts of a chat-completions message', () => {
  const parse = (message: JsonObject) =>
    FORMATS['chat-completions'].client.parseRequest({ model: 'm', messages: [message] }, {}).turns;

  it('may be text, images, files and sounds', () => {
    // contract 4.8.1:25
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
      ...['wav', 'mp3'].map((format) => ({ type: 'input_audio', input_audio: { format, data: 'AAAA' } })),
    ];
    const [turn] = parse({ role: 'user', content });
    expect(turn?.parts.map(({ type }) => type)).to.deep.equal(['text', 'image', 'file', 'file', 'file']);
    const ogg = { type: 'input_audio', input_audio: { format: 'ogg', data: 'AAAA' } };
    expect(() => parse({ role: 'user', content: [ogg] })).to.throw(ServiceError, 'must be one of: [wav mp3]');
  });

  it('are read without other fields, which have no effect', () => {
    // contract 4.8.1:29
    const message = { role: 'assistant', content: 'Hi' };
    expect(parse({ ...message, annotations: [1], name: 'x', weight: 1, anything: {} })).to.deep.equal(parse(message));
  });

  it('stream as reasoning, then text, then the reason and the end mark', () => {
    // contract 4.8.1:34
    const text = streamedTo(FORMATS['chat-completions'], [
      { type: 'response-start', id: null, model: null },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', text: 'Hm' },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'Yes' },
      { type: 'text-end', id: 't' },
      { type: 'finish', reason: 'stop' },
    ]);
    const places = [
      '"object":"chat.completion.chunk"',
      '"reasoning_content":"Hm"',
      '"content":"Yes"',
      '"finish_reason":"stop"',
      'data: [DONE]',
    ].map((part) => text.indexOf(part));
    expect(places)
      .to.deep.equal(places.toSorted((one, other) => one - other))
      .and.not.include(-1);
  });
});
