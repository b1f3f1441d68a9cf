import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import { FORMATS } from '../../../text/formats.ts';
import {
  type AnswerPart,
  type StreamEvent,
  type TextResult,
  type Turn,
  UNREPORTED_USAGE,
} from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { resultOf } from '../answers.ts';
import { DONE, encodeEvent, type ServerSentEvent } from '../../../text/sse.ts';
import { runStage } from '../../../text/stage.ts';
import {
  answerOfStream,
  brokenStream,
  eventsOfText,
  partsOf,
  renderContext,
  streamedTo,
  textRequest,
} from '../support.ts';

const { upstream, client } = chatCompletions;
const options = { model: 'upstream-model', apiKey: 'secret' };

function answer(...chunks: readonly unknown[]): TextResult {
  return answerOfStream(
    chatCompletions,
    [...chunks.map((chunk) => JSON.stringify(chunk)), DONE].map((data) => encodeEvent(data)).join(''),
  );
}

function delta(value: unknown, finishReason: string | null = null): unknown {
  return { id: 'u', model: 'm', choices: [{ index: 0, delta: value, finish_reason: finishReason }] };
}

function calls(...toolCalls: readonly unknown[]): unknown {
  return delta({ tool_calls: toolCalls });
}

function chunkEvent(chunk: unknown): ServerSentEvent {
  return { event: null, data: JSON.stringify(chunk) };
}

function argumentsOf(result: TextResult): (string | null)[] {
  return partsOf(result).map((part) => (part.type === 'tool-call' ? part.arguments : null));
}

const call = (callId: string): AnswerPart => ({ type: 'tool-call', callId, name: 'look', arguments: '{}' });
const named = (name: string, text: string): unknown => ({ name, arguments: text });

describe('chat completions upstream', () => {
  describe('tool calls', () => {
    it('tool calls are distinguished by index, the id only on the first delta', () => {
      const result = answer(
        calls({ index: 0, id: 'a', function: named('x', '') }, { index: 1, id: 'b', function: named('y', '') }),
        calls({ index: 1, function: { arguments: '{"b":1}' } }),
        calls({ index: 0, function: { arguments: '{"a":1}' } }),
        delta({}, 'tool_calls'),
      );
      expect(argumentsOf(result)).to.deep.equal(['{"a":1}', '{"b":1}']);
    });

    it('tool calls are distinguished by id when all have index 0 or none', () => {
      for (const index of [0, undefined]) {
        const result = answer(
          calls({ index, id: 'a', function: named('x', '{}') }),
          calls({ index, id: 'b', function: named('x', '{"b":1}') }),
        );
        expect(argumentsOf(result)).to.deep.equal(['{}', '{"b":1}']);
      }
    });

    it('tool calls are distinguished by name when they have neither index nor id', () => {
      const result = answer(
        calls({ function: named('x', '{"a":1}') }, { function: named('x', '{"b":') }),
        calls({ function: { arguments: '1}' } }),
      );
      expect(argumentsOf(result)).to.deep.equal(['{"a":1}', '{"b":1}']);
    });

    it('stay one call when id and name are repeated on each delta', () => {
      const result = answer(
        calls({ index: 0, id: 'a', function: named('x', '{"a"') }),
        calls({ index: 0, id: 'a', function: named('x', ':1}') }),
      );
      expect(argumentsOf(result)).to.deep.equal(['{"a":1}']);
    });

    it('have the name that follows the first delta, or comes in pieces', () => {
      const tools = [{ name: 'look' }];
      for (const deltas of [
        [{ id: 'a', function: { arguments: '{"a":' } }, { function: named('look', '1}') }],
        [{ id: 'a', function: { name: null, arguments: '{"a":1}' } }, { function: { name: 'look' } }],
        [{ id: 'a', function: named('lo', '') }, { function: named('ok', '{"a":1}') }],
        [
          { id: 'a', function: named('lo', '') },
          { id: 'a', function: { name: 'ok' } },
          { function: named('', '{"a":1}') },
        ],
        [
          { id: 'a', function: named('look', '') },
          { id: 'a', function: named('look', '{"a":1}') },
        ],
      ]) {
        const chunks = deltas.map((each) => calls({ index: 0, ...each }));
        const text = [...chunks.map((chunk) => JSON.stringify(chunk)), DONE].map((data) => encodeEvent(data)).join('');
        const parsed = runStage(eventsOfText(text), upstream.parseStream({ tools }));
        expect(partsOf(resultOf(parsed)), JSON.stringify(deltas)).to.deep.equal([
          { type: 'tool-call', callId: 'a', name: 'look', arguments: '{"a":1}' },
        ]);
      }
    });

    it('start before their arguments if the request has their tools, and keep their order', () => {
      const start = chunkEvent(calls({ index: 0, id: 'a', function: named('look', '') }));
      const parser = upstream.parseStream({ tools: [{ name: 'look' }] });
      const events: StreamEvent[] = [];
      parser.push(start, (event) => void events.push(event));
      expect(events.at(-1)).to.deep.include({ type: 'tool-input-start', callId: 'a', name: 'look' });
      const result = answer(
        calls({ index: 0, id: 'a', function: named('x', '') }, { index: 1, id: 'b', function: named('y', '{}') }),
      );
      expect(partsOf(result).map((part) => part.type === 'tool-call' && part.name)).to.deep.equal(['x', 'y']);
    });

    it('may give their arguments as an object', () => {
      expect(argumentsOf(answer(calls({ id: 'a', function: { name: 'x', arguments: { a: 1 } } })))).to.deep.equal([
        '{"a":1}',
      ]);
    });

    it('turn a finish reason of stop into tool calls', () => {
      const result = answer(calls({ id: 'a', function: named('x', '{}') }), delta({}, 'stop'));
      expect(result.choices[0]?.finish.reason).to.equal('tool-calls');
    });
  });

  describe('usage', () => {
    const usage = { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 };

    it('counts as reported in the last content chunk, in a chunk without choices, or in the choice', () => {
      const last = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };
      const [choice] = last.choices;
      const results = [
        answer({ ...last, usage }),
        answer(last, { choices: [], usage }),
        answer({ choices: [{ ...choice, usage }] }),
      ];
      for (const result of results) expect(result.usage.inputTotal).to.equal(12);
    });

    it('counts reasoning that is reported only in the total as output', () => {
      expect(answer(delta({}, 'stop'), { choices: [], usage }).usage.outputTotal).to.equal(342);
    });

    it('usage is unreported, not zero, when it never arrives', () => {
      expect(answer(delta({ content: 'x' }, 'stop')).usage.outputTotal).to.equal(null);
    });
  });

  it('puts reasoning before the text of the same chunk, under either of its names', () => {
    for (const field of ['reasoning_content', 'reasoning']) {
      expect(partsOf(answer(delta({ content: 'Yes', [field]: 'Hm' }, 'stop')))).to.deep.equal([
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'Yes' },
      ]);
    }
  });

  it('returns a refusal of the model as text', () => {
    expect(answer(delta({ refusal: 'No.' }, 'stop')).choices).to.deep.equal([
      { parts: [{ type: 'text', text: 'No.' }], finish: { reason: 'stop' } },
    ]);
  });

  it('treats the end mark as a stop when no reason was given', () => {
    expect(answer(delta({ content: 'x' })).choices[0]?.finish.reason).to.equal('stop');
  });

  it('throws on an error inside the stream, by its code', () => {
    const cases = [
      [{ error: { message: 'x', code: 'content_filter' } }, 'content_policy_violation'],
      [{ error: { message: 'x', code: 429 } }, 'rate_limit_exceeded'],
      [{ error: 'broken' }, 'processing_failed'],
    ] as const;
    for (const [frame, code] of cases) {
      expect(() => answer(delta({ content: 'x' }), frame))
        .to.throw(ServiceError)
        .with.property('code', code);
    }
  });

  it('throws on invalid JSON, and on a whole answer without choices', () => {
    expect(() => answerOfStream(chatCompletions, encodeEvent('{"choices":'))).to.throw(ServiceError, 'cannot be read');
    for (const body of [null, [], {}, { choices: [] }, { choices: 'x' }]) {
      expect(() => resultOf(upstream.parseResult(body))).to.throw(ServiceError, 'cannot be read');
    }
  });

  it('does not pass the upstream’s error text on', () => {
    const error = upstream.parseError(400, {
      error: { message: 'key sk-1 at 10.0.0.1', code: 'context_length_exceeded' },
    });
    expect(error.code).to.equal('bad_request');
    expect(error.message).to.contain('context window').and.not.contain('sk-1');
  });

  it('receives tool results in the order of the calls, followed by their images', () => {
    const image = { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } } as const;
    const turns: Turn[] = [
      { role: 'assistant', parts: [call('a'), call('b')] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', content: [{ type: 'text', text: 'B' }] }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'A' }, image] }] },
    ];
    const { body } = upstream.buildRequest(textRequest({ turns }), options);
    expect(body['messages']).to.have.nested.property('[1].tool_call_id', 'a');
    expect(body['messages']).to.have.nested.property('[2].tool_call_id', 'b');
    expect(body['messages']).to.have.nested.property('[3].content[1].image_url.url', image.source.url);
  });

  it('the upstream is always asked for usage, which the client sees only on request', () => {
    const body = {
      model: 'textc-M3',
      messages: [],
      stream: true,
      stream_options: { include_obfuscation: false },
      logprobs: true,
    };
    const forwarded = upstream.forwardRequest(body, textRequest(), options);
    expect(forwarded.body).to.deep.equal({
      ...body,
      model: 'upstream-model',
      stream_options: { include_obfuscation: false, include_usage: true },
    });
    expect(forwarded.shouldKeepEvent?.({ event: null, data: '{"id":"x","choices":[],"usage":{}}' })).to.equal(false);
    expect(forwarded.shouldKeepEvent?.({ event: null, data: '{"id":"x","choices":[{}]}' })).to.equal(true);
    expect(upstream.forwardRequest(body, textRequest({ includeUsage: true }), options).shouldKeepEvent).to.equal(
      undefined,
    );
  });

  it('receives no empty list of a client’s own body, and no settings for tools without tools', () => {
    // contract 4.8:35
    const question = { role: 'user', content: 'Hi' };
    const answered = { role: 'assistant', content: 'Hello' };
    const sent = { model: 'm', messages: [question, { ...answered, tool_calls: [] }], tools: [], stop: [] };
    const settings = { tool_choice: 'none', parallel_tool_calls: false };
    const request = textRequest({ stream: false });
    for (const body of [
      { ...sent, ...settings },
      { ...sent, ...settings, tools: null },
    ]) {
      expect(upstream.forwardRequest(body, request, options).body).to.deep.equal({
        model: options.model,
        messages: [question, answered],
      });
    }
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const whole = { model: options.model, messages: [question], tools, ...settings, stop: ['x'] };
    expect(upstream.forwardRequest(whole, request, options).body).to.deep.equal(whole);
  });

  it('receives a client’s developer messages as system messages', () => {
    // contract 4.8.1:45
    const rest = { content: 'Be brief.', name: 'genway' };
    const body = {
      model: 'm',
      messages: [
        { role: 'developer', ...rest },
        { role: 'user', content: 'Hi' },
      ],
    };
    const { messages } = upstream.forwardRequest(body, textRequest(), options).body;
    expect(messages).to.deep.equal([{ role: 'system', ...rest }, body.messages[1]]);
  });

  it('receives a client’s result of a tool as one text, unless its parts have more than text', () => {
    // contract 4.8:35
    const result = { role: 'tool', tool_call_id: 'call_1' };
    const parts = ['one', 'two'].map((text) => ({ type: 'text', text }));
    const marked = [{ type: 'text', text: 'one', cache_control: { type: 'ephemeral' } }];
    const contents = [parts, marked, 'one', []];
    const messages = contents.map((content) => ({ ...result, content }));
    const { body } = upstream.forwardRequest({ model: 'm', messages }, textRequest(), options);
    expect(body['messages']).to.deep.equal([{ ...result, content: 'one\ntwo' }, ...messages.slice(1)]);
  });

  it('receives no options of a stream with a request for a whole answer', () => {
    // contract 4.8:35
    const body = { model: 'm', messages: [], stream: false, stream_options: { include_usage: true } };
    const { body: sent } = upstream.forwardRequest(body, textRequest({ stream: false }), options);
    expect(sent).to.not.have.any.keys('stream_options');
  });

  it('receives one system message, at the beginning, if the model is of the Qwen family', () => {
    // contract 4.8:22
    const says = (text: string) => [{ type: 'text', text }] as const;
    const turns: Turn[] = [
      { role: 'system', parts: says('One.') },
      { role: 'system', parts: says('Two.') },
      { role: 'user', parts: says('Hi') },
      { role: 'system', parts: says('Three.') },
    ];
    const body = { model: 'm', messages: turns.map(({ role, parts }) => ({ role, content: parts })) };
    const qwen = { ...options, model: 'Qwen/Qwen3.8-27B' };
    const reminder = { role: 'user', content: '<system-reminder>\nThree.\n</system-reminder>' };
    expect(upstream.buildRequest(textRequest({ turns }), qwen).body['messages']).to.deep.equal([
      { role: 'system', content: 'One.\n\nTwo.' },
      { role: 'user', content: 'Hi' },
      reminder,
    ]);
    expect(upstream.forwardRequest(body, textRequest({ turns }), qwen).body['messages']).to.deep.equal([
      { role: 'system', content: 'One.\n\nTwo.' },
      { role: 'user', content: says('Hi') },
      reminder,
    ]);
    const other = { ...options, model: 'gpt-6-sol' };
    expect(upstream.forwardRequest(body, textRequest({ turns }), other).body['messages']).to.have.length(4);
  });

  it('receives no thinking before a call that the request requires, if the model refuses both together', () => {
    // contract 4.8:70
    const body = { model: 'm', messages: [], thinking: { type: 'enabled' }, tools: [{}] };
    const request = textRequest({
      tools: [{ name: 'look' }],
      toolChoice: { type: 'required' },
      reasoningEffort: 'low',
    });
    const sentTo = (model: string, wanted = request) => {
      const named = { ...options, model, reasons: true };
      return [upstream.forwardRequest(body, wanted, named), upstream.buildRequest(wanted, named)];
    };
    for (const model of ['deepseek-v4-pro', 'moonshotai/kimi-k2.6']) {
      for (const { body: sent, omitted } of sentTo(model)) {
        expect(sent['thinking']).to.deep.equal({ type: 'disabled' });
        expect(sent).to.not.have.any.keys('reasoning_effort');
        expect(omitted).to.deep.equal(['reasoningEffort']);
      }
      for (const { body: sent, omitted } of sentTo(model, { ...request, toolChoice: { type: 'auto' } })) {
        expect(sent).to.include({ reasoning_effort: 'low' });
        expect(omitted).to.deep.equal([]);
      }
    }
    for (const { body: sent } of sentTo('kimi-k3')) expect(sent).to.include({ reasoning_effort: 'low' });
  });

  describe('receives in place of reasoning that the client dropped', () => {
    const question = { role: 'user', content: 'Hi' };
    const answered = { role: 'assistant', content: 'Hello' };
    const turns: Turn[] = [
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ type: 'text', text: 'Hello' }] },
    ];
    /** Both kinds of requests to a model. */
    function messagesTo(model: string, reasons: boolean): unknown[] {
      const named = { ...options, model, reasons };
      const body = { model: 'm', messages: [question, answered] };
      return [
        upstream.forwardRequest(body, textRequest({ turns }), named).body['messages'],
        upstream.buildRequest(textRequest({ turns }), named).body['messages'],
      ];
    }

    for (const model of ['deepseek-v4-pro', 'moonshotai/Kimi-K2.5', 'mimo-v2-pro']) {
      it(`a blank, if the model is ${model}`, () => {
        // contract 4.8:63
        const messages = [question, { ...answered, reasoning_content: ' ' }];
        expect(messagesTo(model, true)).to.deep.equal([messages, messages]);
      });
    }

    it('nothing, if the model does not reason or has another name', () => {
      // contract 4.8:63
      const messages = [question, answered];
      expect([...messagesTo('deepseek-chat', false), ...messagesTo('gpt-6-sol', true)]).to.deep.equal(
        Array.from({ length: 4 }, () => messages),
      );
    });

    it('nothing, if the client kept the reasoning', () => {
      // contract 4.8:63
      for (const kept of [{ reasoning_content: 'Hm.' }, { reasoning: 'Hm.' }]) {
        const messages = [question, { ...answered, ...kept }];
        const named = { ...options, model: 'deepseek-v4-pro', reasons: true };
        const { body } = upstream.forwardRequest({ model: 'm', messages }, textRequest(), named);
        expect(body['messages']).to.deep.equal(messages);
      }
    });
  });

  it('receives a name with every file', () => {
    // contract 4.8:29
    const source = { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERg==' } as const;
    const names = [undefined, 'a.pdf'].map((filename) => {
      const turns: Turn[] = [{ role: 'user', parts: [{ type: 'file', source, filename }] }];
      return upstream.buildRequest(textRequest({ turns }), options).body['messages'];
    });
    expect(names).to.containSubset([
      [{ content: [{ file: { filename: 'file' } }] }],
      [{ content: [{ file: { filename: 'a.pdf' } }] }],
    ]);
  });

  it('receives videos as the client sent them', () => {
    // contract 4.8.1:25
    const content = ['https://example.com/a.mp4', 'data:video/webm;base64,AAAA'].map((url) => {
      return { type: 'video_url', video_url: { url } };
    });
    const messages = [{ role: 'user', content }];
    const request = client.parseRequest({ model: 'm', messages }, {});
    expect(upstream.buildRequest(request, options).body['messages']).to.deep.equal(messages);
    expect(FORMATS['generate-content'].upstream.buildRequest(request, options).body['contents']).to.deep.equal([
      {
        role: 'user',
        parts: [
          { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' } },
          { inlineData: { mimeType: 'video/webm', data: 'AAAA' } },
        ],
      },
    ]);
  });

  it('receives options for web search only where its route permits them', () => {
    // contract 4.8.1:22
    const chatFields = { web_search_options: {} };
    const asked = textRequest({ chatFields });
    const told = { ...options, chatFields: ['web_search_options'] } as const;
    for (const { body } of [
      upstream.buildRequest(asked, options),
      upstream.forwardRequest(chatFields, asked, options),
    ]) {
      expect(body).to.not.have.any.keys('web_search_options');
    }
    for (const { body } of [upstream.buildRequest(asked, told), upstream.forwardRequest(chatFields, asked, told)]) {
      expect(body).to.deep.include({ web_search_options: {} });
    }
    for (const other of [FORMATS.responses, FORMATS.messages, FORMATS['generate-content']]) {
      const { body } = other.upstream.buildRequest(textRequest({ chatFields }), options);
      expect(body).to.deep.equal(other.upstream.buildRequest(textRequest(), options).body);
    }
  });

  it('receives no field that decides what the gateway pays or what its account stores', () => {
    // contract 4.8.1:24
    const prediction = { type: 'content', content: 'perhaps' };
    const body = { model: 'm', messages: [], service_tier: 'priority', store: true, prediction };
    const forwarded = upstream.forwardRequest(body, textRequest({ stream: false }), options);
    expect(forwarded.body).to.deep.equal({ model: options.model, messages: [] });
  });

  it('receives the output limit in the one field that it accepts, whatever field the client uses', () => {
    const request = textRequest({ stream: false, sampling: { maxOutputTokens: 7 } });
    const bodies = [{}, { max_tokens: 5 }, { max_completion_tokens: 5 }, { max_tokens: 5, max_completion_tokens: 7 }];
    for (const maxTokensField of [undefined, 'max_tokens', 'max_completion_tokens'] as const) {
      const named = { ...options, maxTokensField };
      const sent = [
        upstream.buildRequest(request, named).body,
        ...bodies.map((body) => upstream.forwardRequest(body, request, named).body),
      ];
      for (const { max_tokens, max_completion_tokens } of sent) {
        const expected = maxTokensField === 'max_completion_tokens' ? [undefined, 7] : [7, undefined];
        expect([max_tokens, max_completion_tokens]).to.deep.equal(expected);
      }
    }
  });
});

describe('chat completions answer', () => {
  const events = [
    { type: 'response-start', id: null, model: null },
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', text: 'Hm' },
    { type: 'reasoning-end', id: 'r' },
    { type: 'finish', reason: 'length' },
  ] as const;

  it('has empty content, not null, when reasoning used the whole budget', () => {
    // contract 4.8.1:32
    const result = { id: null, model: null, choices: [{ parts: [], finish: { reason: 'length' } }] } as const;
    const body = client.renderResult({ ...result, usage: UNREPORTED_USAGE }, renderContext());
    expect(body).to.have.nested.property('choices[0].message.content', '');
    expect(body).to.have.nested.property('choices[0].finish_reason', 'length');
  });

  it('streams a chunk with usage only on request, and one id in every chunk', () => {
    // contract 4.8.1:5 4.8.1:34
    const withUsage = streamedTo(chatCompletions, events, renderContext({ includeUsage: true }));
    const without = streamedTo(chatCompletions, events, renderContext());
    expect(withUsage).to.contain('"choices":[],"usage":{"prompt_tokens":0');
    expect(without).to.not.contain('usage');
    expect(new Set(without.match(/"id":"[^"]*"/g))).to.deep.equal(new Set(['"id":"chatcmpl-0123456789abcdef"']));
  });

  it('reports an error after the first byte in a separate frame', () => {
    // contract 7.1:8
    const frame = client.renderStreamError(new ServiceError('processing_failed', 'It broke.'), 'req_1', brokenStream());
    expect(frame).to.equal(
      'data: {"error":{"message":"It broke. (request id: req_1)","type":"svc_error","code":"processing_failed"}}\n\n',
    );
  });
});
