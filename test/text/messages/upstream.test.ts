import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import {
  type AnswerPart,
  type TextRequest,
  type TextResult,
  type Turn,
  UNREPORTED_USAGE,
} from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { planConversion } from '../../../text/convert.ts';
import { messages } from '../../../text/messages/index.ts';
import { Meter } from '../../../text/meter.ts';
import { encodeEvent } from '../../../text/sse.ts';
import { resultOf } from '../answers.ts';
import { answerOfStream, partsOf, renderContext, textRequest } from '../support.ts';

const { upstream } = messages;
const options = { model: 'upstream-model', apiKey: 'secret' };

function recorded(name: string): TextResult {
  return answerOfStream(messages, readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8'));
}

function answer(...events: readonly JsonObject[]): TextResult {
  return answerOfStream(messages, events.map((event) => encodeEvent(JSON.stringify(event))).join(''));
}

function built(request: Partial<TextRequest>): JsonObject {
  return upstream.buildRequest(textRequest(request), options).body;
}

const start = {
  type: 'message_start',
  message: { id: 'm', content: [], usage: { input_tokens: 7, output_tokens: 1 } },
};
const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } };
const delta = (index: number | undefined, value: JsonObject) => ({ type: 'content_block_delta', index, delta: value });
const block = (index: number, value: JsonObject) => ({ type: 'content_block_start', index, content_block: value });
const text = (value: string) => ({ type: 'text_delta', text: value });
const json = (value: string) => ({ type: 'input_json_delta', partial_json: value });

const system = (value: string): Turn => ({ role: 'system', parts: [{ type: 'text', text: value }] });
const user: Turn = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] };
const call = (callId: string): AnswerPart => ({ type: 'tool-call', callId, name: 'look', arguments: '{"at":1}' });
const result = (callId: string): Turn => ({
  role: 'tool',
  parts: [{ type: 'tool-result', callId, content: [{ type: 'text', text: callId.toUpperCase() }] }],
});

describe('messages upstream', () => {
  describe('recorded streams', () => {
    it('give text, the stop sequence that matched, and usage with the cached tokens inside the input', () => {
      expect(recorded('text')).to.deep.equal({
        id: 'msg_01Hq7nPeYk3vbTf8Xc2WmLsA',
        model: 'claude-haiku-4-5-20251001',
        choices: [
          {
            parts: [{ type: 'text', text: 'It is sunny: 22 °C ☀️' }],
            finish: { reason: 'stop-sequence', stopSequence: 'END' },
          },
        ],
        usage: {
          ...UNREPORTED_USAGE,
          inputTotal: 1233,
          cacheRead: 1024,
          cacheWrite: 188,
          cacheWrite1h: 0,
          outputTotal: 14,
        },
      });
    });

    it('give signed, redacted reasoning and tool calls with and without arguments', () => {
      const { choices, usage } = recorded('thinking-and-tools');
      expect(choices).to.deep.equal([
        {
          parts: [
            { type: 'reasoning', text: 'Two places, so two calls.', signature: 'EqQBCkYIBxgCKkD0aGlua2luZw==' },
            { type: 'reasoning', text: '', signature: 'EmwKAhgBEgy3va3pzix/LafPsn4=', redacted: true },
            { type: 'text', text: 'I will look.' },
            {
              type: 'tool-call',
              callId: 'toolu_01A9sbYt7gkWeCq2Xy5PzRfM',
              name: 'get_weather',
              arguments: '{"place": "Zürich"}',
            },
            { type: 'tool-call', callId: 'toolu_01Ds8Lk3NvTx6Hw1QyEjBmGp', name: 'get_time', arguments: '{}' },
          ],
          finish: { reason: 'tool-calls' },
        },
      ]);
      expect(usage).to.deep.equal({
        ...UNREPORTED_USAGE,
        inputTotal: 512,
        cacheRead: 0,
        cacheWrite: 0,
        cacheWrite1h: 0,
        outputTotal: 131,
        reasoning: 40,
      });
    });

    it('give reasoning alone when the limit left room for nothing else, and keep the usage of the start', () => {
      const { choices, usage } = recorded('thinking-cut');
      expect(choices).to.deep.equal([
        { parts: [{ type: 'reasoning', text: 'First I list every prime below' }], finish: { reason: 'length' } },
      ]);
      expect(usage).to.include({ inputTotal: 44, outputTotal: 16 });
    });

    it('throw on an error event in the middle', () => {
      expect(() => recorded('overloaded'))
        .to.throw(ServiceError)
        .with.property('code', 'processing_unavailable');
    });

    it('recorded streams are repaired if they come from compatible services: blocks not started or ended, one id twice, usage only at the end', () => {
      const { choices, usage } = recorded('compatible');
      const [reasoning, said, first, second] = choices[0]?.parts ?? [];
      expect(reasoning).to.deep.equal({ type: 'reasoning', text: 'Look first.' });
      expect(said).to.deep.equal({ type: 'text', text: 'Just a moment.' });
      expect(first).to.deep.include({ callId: 'functions.look:0', arguments: '{"place":"here"}' });
      expect(second).to.include({ name: 'look', arguments: '{}' }).and.not.include({ callId: 'functions.look:0' });
      expect(choices[0]?.finish).to.deep.equal({ reason: 'tool-calls' });
      expect(usage).to.include({ inputTotal: 144, cacheRead: 64, outputTotal: 25 });
    });
  });

  it('keeps interleaved tool calls apart by the index of their blocks', () => {
    const parts = partsOf(
      answer(
        start,
        block(0, { type: 'tool_use', id: 'a', name: 'look', input: {} }),
        block(1, { type: 'tool_use', id: 'b', name: 'look', input: {} }),
        delta(0, json('{"at"')),
        delta(1, json('{"at":2}')),
        delta(0, json(':1}')),
        stop,
      ),
    );
    expect(parts.map((part) => (part.type === 'tool-call' ? part.arguments : null))).to.deep.equal([
      '{"at":1}',
      '{"at":2}',
    ]);
  });

  it('assigns a delta without an index to the block before it', () => {
    expect(partsOf(answer(start, delta(3, text('a')), delta(undefined, text('b')), stop))).to.deep.equal([
      { type: 'text', text: 'ab' },
    ]);
  });

  it('ignores a second start, pings, unknown events and blocks of tools that the upstream runs itself', () => {
    const events = [
      start,
      start,
      { type: 'ping' },
      { type: 'news' },
      block(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
      { type: 'content_block_stop', index: 0 },
      delta(1, text('Found.')),
      delta(1, { type: 'citations_delta', citation: {} }),
      stop,
    ];
    expect(answer(...events).choices[0]?.parts).to.deep.equal([{ type: 'text', text: 'Found.' }]);
  });

  it('uses a later count unless it is 0', () => {
    const end = { ...stop, usage: { input_tokens: 0, output_tokens: 5, cache_read_input_tokens: 3 } };
    expect(answer(start, delta(0, text('x')), end).usage).to.include({ inputTotal: 10, cacheRead: 3, outputTotal: 5 });
  });

  it('uses the final report of the output, even if it is 0', () => {
    const none = { ...stop, usage: { output_tokens: 0 } };
    expect(answer(start, delta(0, text('x')), none).usage.outputTotal).to.equal(0);
    expect(answer(start, delta(0, text('x')), stop, none).usage.outputTotal).to.equal(5);
  });

  it('does not add the tokens that an earlier pass cached to the input of the last', () => {
    const usage = {
      input_tokens: 9,
      cache_creation_input_tokens: 55_096,
      cache_read_input_tokens: 0,
      output_tokens: 3,
    };
    const first = { ...start, message: { ...start.message, usage } };
    const iterations = [{ type: 'message', ...usage }];
    const last = { ...stop, usage: { ...usage, input_tokens: 181, cache_creation_input_tokens: 0, iterations } };
    expect(answer(first, delta(0, text('x')), last).usage).to.include({ inputTotal: 181, cacheWrite: 0 });
  });

  it('keeps the counts of the start if the end repeats the input with zeros', () => {
    const usage = { input_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 40, output_tokens: 1 };
    const first = { ...start, message: { ...start.message, usage } };
    const last = { ...stop, usage: { ...usage, cache_read_input_tokens: 0, output_tokens: 5 } };
    expect(answer(first, delta(0, text('x')), last).usage).to.include({ inputTotal: 49, cacheRead: 40 });
  });

  it('reads cache writes that are reported only by lifetime', () => {
    const cache = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 4 };
    const end = { ...stop, usage: { output_tokens: 5, cache_creation: cache } };
    expect(answer(start, delta(0, text('x')), end).usage).to.include({
      inputTotal: 41,
      cacheWrite: 34,
      cacheWrite1h: 4,
    });
  });

  it('keeps the lifetime of cache writes, if only the start of a stream reports it', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 4 };
    const usage = { input_tokens: 7, cache_creation_input_tokens: 34, output_tokens: 1 };
    const first = { ...start, message: { ...start.message, usage: { ...usage, cache_creation } } };
    const last = { ...stop, usage: { ...usage, output_tokens: 5 } };
    const used = { inputTotal: 41, cacheWrite: 34, cacheWrite1h: 4, outputTotal: 5 };
    expect(answer(first, delta(0, text('x')), last).usage).to.include(used);
    const all = { ...usage, cache_creation: { ...cache_creation, ephemeral_1h_input_tokens: 34 }, output_tokens: 5 };
    expect(answer(first, delta(0, text('x')), { ...stop, usage: all }).usage).to.include({ ...used, cacheWrite1h: 34 });
  });

  it('charges the same usage whole as streamed in two reports', () => {
    const count = fc.option(fc.nat(1000), { nil: undefined });
    const reported = fc.record({
      input_tokens: fc.integer({ min: 1, max: 1000 }),
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      cache_creation: fc.option(fc.record({ ephemeral_1h_input_tokens: fc.nat(1000) }), { nil: undefined }),
      output_tokens: fc.nat(1000),
    });
    fc.assert(
      fc.property(reported, (usage) => {
        const whole = { content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn', usage };
        const first = { ...start, message: { ...start.message, usage: { ...usage, output_tokens: 1 } } };
        const last = { ...stop, usage: { output_tokens: usage.output_tokens } };
        const expected = resultOf(upstream.parseResult(JSON.parse(JSON.stringify(whole)))).usage;
        for (const end of [last, { ...stop, usage }]) {
          expect(answer(first, delta(0, text('x')), end).usage).to.deep.equal(expected);
        }
      }),
    );
  });

  const toolUse = { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } };
  const another = { ...start, message: { ...start.message, id: 'another' } };

  it('refuses an answer that restarts after the client received part of it', () => {
    const halfCall = [start, block(0, { ...toolUse, input: {} }), delta(0, json('{"at":'))];
    for (const events of [
      [...halfCall, start],
      [...halfCall, another],
      [start, delta(0, text('Hello')), another, delta(0, text('Hello there'))],
    ]) {
      expect(() => answer(...events, block(0, toolUse), stop))
        .to.throw(ServiceError)
        .with.property('code', 'result_transfer_failed');
    }
    expect(partsOf(answer(start, another, delta(0, text('Hello')), stop))).to.deep.equal([
      { type: 'text', text: 'Hello' },
    ]);
  });

  it('keeps a call whole when text is put into its block', () => {
    const read = answer(
      start,
      block(0, { ...toolUse, input: {} }),
      delta(0, json('{"at"')),
      delta(0, text('Look')),
      delta(0, json(':1}')),
      delta(0, text('ing')),
      { type: 'content_block_stop', index: 0 },
      stop,
    );
    expect(partsOf(read)).to.deep.equal([call('a'), { type: 'text', text: 'Looking' }]);
  });

  it('reads the parts in the start event, once, and before the following parts', () => {
    const content = [{ type: 'server_tool_result' }, { type: 'text', text: 'Look:' }, toolUse];
    const full = { ...start, message: { ...start.message, content, stop_reason: 'tool_use' } };
    const expected = [{ type: 'text', text: 'Look:' }, call('a')];
    expect(partsOf(answer(full, { type: 'message_stop' }))).to.deep.equal(expected);
    expect(partsOf(answer(full, block(2, toolUse), stop))).to.deep.equal(expected);
    expect(partsOf(answer(full, full, block(1, { type: 'text', text: 'Look:' }), stop))).to.deep.equal(expected);
    expect(partsOf(answer(full, delta(3, text('Well.')), stop))).to.deep.equal([
      ...expected,
      { type: 'text', text: 'Well.' },
    ]);
  });

  it('treats the end event as the end when no reason was given', () => {
    expect(answer(start, delta(0, text('x')), { type: 'message_stop' }).choices[0]?.finish.reason).to.equal('stop');
  });

  const reasons = [
    ['end_turn', 'stop'],
    ['pause_turn', 'stop'],
    ['stop_sequence', 'stop-sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
  ] as const;
  for (const [reason, expected] of reasons) {
    it(`reads the stop reason ${reason}, streamed and whole`, () => {
      const whole = { type: 'message', content: [{ type: 'text', text: 'x' }], stop_reason: reason };
      const streamed = answer(start, delta(0, text('x')), { ...stop, delta: { stop_reason: reason } });
      for (const read of [resultOf(upstream.parseResult(whole)), streamed]) {
        expect(read.choices[0]?.finish).to.deep.equal({ reason: expected });
      }
    });
  }

  it('throws on an error in place of an answer, and on any invalid answer', () => {
    const error = { type: 'error', error: { type: 'rate_limit_error', message: 'x' } };
    expect(() => upstream.parseResult(error))
      .to.throw(ServiceError)
      .with.property('code', 'rate_limit_exceeded');
    for (const body of [null, [], {}, { content: 'x' }]) {
      expect(() => upstream.parseResult(body)).to.throw(ServiceError, 'cannot be read');
    }
  });

  const failures = [
    [400, 'invalid_request_error', 'max_tokens: Field required', 'bad_request'],
    [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum', 'bad_request'],
    [400, 'invalid_request_error', 'Output blocked by content filtering policy', 'content_policy_violation'],
    [400, 'invalid_request_error', 'Your credit balance is too low', 'processing_unavailable'],
    [401, 'authentication_error', 'invalid x-api-key', 'processing_unavailable'],
    [404, 'not_found_error', 'model: x', 'processing_unavailable'],
    [429, 'rate_limit_error', 'Too many tokens', 'rate_limit_exceeded'],
    [500, 'api_error', 'Internal server error', 'processing_failed'],
    [529, 'overloaded_error', 'Overloaded', 'processing_unavailable'],
  ] as const;
  for (const [status, type, message, code] of failures) {
    it(`maps "${message}" with ${status} to ${code}, and does not pass the sentence on`, () => {
      const error = upstream.parseError(status, { type: 'error', error: { type, message } }, 7);
      expect(error).to.include({ code, retryAfterSeconds: 7 });
      expect(error.message).to.not.contain(message);
    });
  }

  it('reads any events as an answer or as a failure, and never crashes', () => {
    const value = fc.record({
      type: fc.constantFrom('text', 'tool_use', 'text_delta', 'input_json_delta', 'signature_delta', 'thinking_delta'),
      text: fc.jsonValue(),
      partial_json: fc.jsonValue(),
      stop_reason: fc.jsonValue(),
    });
    const event = fc.record({
      type: fc.constantFrom(
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'ping',
      ),
      index: fc.oneof(fc.nat(2), fc.jsonValue()),
      message: fc.jsonValue(),
      content_block: fc.oneof(value, fc.jsonValue()),
      delta: fc.oneof(value, fc.jsonValue()),
      usage: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        try {
          expect(answer(...events, stop).choices).to.have.lengthOf(1);
        } catch (error) {
          expect(error).to.be.instanceOf(ServiceError).with.property('code', 'result_transfer_failed');
        }
        expect(() => answer(...events)).to.throw(ServiceError, 'cut short');
      }),
    );
  });

  describe('receives', () => {
    it('its own key and version, and a token limit if the client sent none', () => {
      const request = upstream.buildRequest(textRequest(), options);
      expect(request.path).to.equal('/messages');
      expect(request.headers).to.deep.equal({ 'x-api-key': 'secret', 'anthropic-version': '2023-06-01' });
      expect(request.body).to.deep.equal({
        model: 'upstream-model',
        max_tokens: 64_000,
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
      });
    });

    it('system text from the beginning in one field, and later system text in its place', () => {
      // contract 4.8:22
      const body = built({ turns: [system('Be kind.'), system('Be fair.'), user, system('Be brief.')] });
      const later = '<system-reminder>\nBe brief.\n</system-reminder>';
      const content = ['Hello', later].map((text) => ({ type: 'text', text }));
      expect(body).to.deep.include({ system: 'Be kind.\n\nBe fair.', messages: [{ role: 'user', content }] });
    });

    it('tool results of one message together, in the order of the calls, before the text of the user', () => {
      const turns: Turn[] = [
        user,
        { role: 'assistant', parts: [call('a'), call('b')] },
        result('b'),
        result('a'),
        user,
      ];
      expect(built({ turns })['messages']).to.deep.equal([
        { role: 'user', content: 'Hello' },
        {
          role: 'assistant',
          content: ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'look', input: { at: 1 } })),
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'A' },
            { type: 'tool_result', tool_use_id: 'b', content: 'B' },
            { type: 'text', text: 'Hello' },
          ],
        },
      ]);
    });

    it('neighbours of one role as one message, without blank text', () => {
      const blank: Turn = { role: 'assistant', parts: [{ type: 'text', text: '\n' }] };
      expect(built({ turns: [user, blank, user] })['messages']).to.deep.equal([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'text', text: 'Hello' },
          ],
        },
      ]);
    });

    it('only signed reasoning, and redacted reasoning unchanged', () => {
      const parts: AnswerPart[] = [
        { type: 'reasoning', text: 'Unsigned.' },
        { type: 'reasoning', text: 'Signed.', signature: 'c2ln' },
        { type: 'reasoning', text: '', signature: 'cmVk', redacted: true },
        { type: 'text', text: 'Hi' },
      ];
      expect(built({ turns: [{ role: 'assistant', parts }] })['messages']).to.deep.equal([
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Signed.', signature: 'c2ln' },
            { type: 'redacted_thinking', data: 'cmVk' },
            { type: 'text', text: 'Hi' },
          ],
        },
      ]);
    });

    it('tool call ids in the characters that it accepts, the same in call and result', () => {
      const turns: Turn[] = [{ role: 'assistant', parts: [call('functions.look:0')] }, result('functions.look:0')];
      const sent = built({ turns })['messages'];
      expect(sent).to.have.nested.property('[0].content[0].id', 'functions_look_0');
      expect(sent).to.have.nested.property('[1].content[0].tool_use_id', 'functions_look_0');
    });

    it('images, also in tool results, and PDF documents', () => {
      const image = { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } } as const;
      const pdf = { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' } as const;
      const turns: Turn[] = [
        { role: 'assistant', parts: [call('a')] },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content: [image], isError: true }] },
        { role: 'user', parts: [{ type: 'file', source: pdf, filename: 'Report' }] },
      ];
      expect(built({ turns })['messages']).to.have.deep.nested.property('[1].content', [
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'image', source: { type: 'url', url: image.source.url } }],
          is_error: true,
        },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
          title: 'Report',
        },
      ]);
    });

    it('an answer to continue without white space at its end', () => {
      // contract 4.8:58
      const turns: Turn[] = [
        { role: 'user', parts: [{ type: 'text', text: 'Hi ' }] },
        { role: 'assistant', parts: [{ type: 'text', text: 'Answer: ' }] },
      ];
      expect(built({ turns })['messages']).to.deep.equal([
        { role: 'user', content: 'Hi ' },
        { role: 'assistant', content: 'Answer:' },
      ]);
    });

    for (const mediaType of ['text/plain', 'text/markdown', 'text/csv', 'application/json', 'application/ld+json']) {
      it(`a file of the type ${mediaType} as a document of text`, () => {
        // contract 4.8:57
        const source = { kind: 'base64', mediaType, data: Buffer.from('Zürich').toString('base64') } as const;
        const turns: Turn[] = [{ role: 'user', parts: [{ type: 'file', source, filename: 'a.txt' }] }];
        expect(built({ turns })['messages']).to.have.deep.nested.property('[0].content', [
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Zürich' }, title: 'a.txt' },
        ]);
      });
    }

    it('tools with an object schema, and the option for one call at a time inside the tool choice', () => {
      const tools = [{ name: 'look' }, { name: 'listen', parameters: { properties: {} }, strict: true }];
      expect(built({ tools, parallelToolCalls: false })).to.deep.include({
        tools: [
          { name: 'look', input_schema: { type: 'object' } },
          {
            name: 'listen',
            input_schema: { type: 'object', properties: {}, additionalProperties: false },
            strict: true,
          },
        ],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      });
      expect(built({ tools, toolChoice: { type: 'required' } })['tool_choice']).to.deep.equal({ type: 'any' });
      expect(built({ tools, toolChoice: { type: 'none' }, parallelToolCalls: false })['tool_choice']).to.deep.equal({
        type: 'none',
      });
      expect(built({ toolChoice: { type: 'required' } })).to.not.have.property('tool_choice');
    });

    it('the effort of reasoning, with none as disabled thinking', () => {
      // contract 4.8.3:11
      expect(built({ reasoningEffort: 'xhigh' })['output_config']).to.deep.equal({ effort: 'xhigh' });
      expect(built({ reasoningEffort: 'minimal' })['output_config']).to.deep.equal({ effort: 'low' });
      expect(built({ reasoningEffort: 'none' })).to.deep.include({ thinking: { type: 'disabled' } });
    });

    it('a schema for the answer and the name of the end user', () => {
      // contract 4.8.1:20
      const schema = { type: 'object', additionalProperties: false };
      expect(built({ outputFormat: { type: 'json-schema', name: 'x', schema }, userId: 'someone' })).to.deep.include({
        output_config: { format: { type: 'json_schema', schema } },
        metadata: { user_id: 'someone' },
      });
    });

    it('no stop sequence of white space alone, at which the gateway cuts instead', () => {
      const request = textRequest({ sampling: { stopSequences: ['\n', 'END'] } });
      const plan = planConversion(chatCompletions, messages, request, options, new Meter());
      expect(plan.upstreamRequest.body['stop_sequences']).to.deep.equal(['END']);
      const body = { type: 'message', content: [{ type: 'text', text: 'One\nTwo' }], stop_reason: 'end_turn' };
      expect(plan.convertResult(body, renderContext())).to.have.nested.property('choices[0].message.content', 'One');
    });
  });

  const audio = { kind: 'base64', mediaType: 'audio/wav', data: 'AAAA' } as const;
  const inexpressible: readonly (readonly [string, Partial<TextRequest>])[] = [
    ['audio/wav', { turns: [{ role: 'user', parts: [{ type: 'file', source: audio }] }] }],
  ];
  for (const [named, request] of inexpressible) {
    it(`refuses requests that the format cannot express, naming ${named}`, () => {
      expect(() => built(request))
        .to.throw(ServiceError, named)
        .with.property('code', 'bad_request');
    });
  }

  it('receives a temperature within its range, converted or forwarded', () => {
    expect(built({ sampling: { temperature: 1.5 } })).to.include({ temperature: 1 });
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], temperature: 1.5 };
    const forwarded = upstream.forwardRequest(body, messages.client.parseRequest(body, {}), options);
    expect(forwarded.body).to.include({ temperature: 1 });
  });

  it('receives the lifetime of a cache in forwarded bodies only with full compatibility', () => {
    // contract 4.8.3:14
    const bodyWith = (cache: JsonObject): JsonObject => {
      const text = { type: 'text', text: 'Hi', cache_control: cache };
      const result = { type: 'tool_result', tool_use_id: 'a', content: [text], cache_control: cache };
      const call = { type: 'tool_use', id: 'a', name: 'look', input: { cache_control: { ttl: '1h' } } };
      return {
        model: 'texti-k3',
        max_tokens: 10,
        system: [text],
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: [call] },
          { role: 'user', content: [result, text] },
        ],
        tools: [{ name: 'look', input_schema: { type: 'object' }, cache_control: cache }],
        cache_control: cache,
      };
    };
    const body = bodyWith({ type: 'ephemeral', ttl: '1h' });
    const forwarded = upstream.forwardRequest(body, messages.client.parseRequest(body, {}), options);
    expect(forwarded.body).to.deep.equal({ ...bodyWith({ type: 'ephemeral' }), model: 'upstream-model' });
    const full = { compatibility: 'full' } as const;
    const kept = upstream.forwardRequest(body, messages.client.parseRequest(body, full), { ...options, ...full });
    expect(kept.body).to.deep.equal({ ...body, model: 'upstream-model' });
  });

  it('receives a body of its own format without the fields that have no effect', () => {
    // contract 4.8.3:15
    const body = {
      model: 'texti-k3',
      max_tokens: 10,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }],
      cache_control: { type: 'ephemeral' },
      temperature: null,
      tool_choice: { type: 'any' },
      thinking: { type: 'enabled', budget_tokens: 1024 },
      service_tier: 'auto',
    };
    const forwarded = upstream.forwardRequest(body, messages.client.parseRequest(body, {}), options);
    const { max_tokens, messages: sent, cache_control } = body;
    expect(forwarded.body).to.deep.equal({ model: 'upstream-model', max_tokens, messages: sent, cache_control });
    expect(forwarded).to.not.have.property('shouldKeepEvent');
    const withTools = { ...body, tools: [{ name: 'look', input_schema: { type: 'object' } }] };
    const request = messages.client.parseRequest(withTools, {});
    expect(upstream.forwardRequest(withTools, request, options).body).to.deep.include({ tool_choice: { type: 'any' } });
  });
});
