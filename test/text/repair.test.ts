/** The repairs of answers on the identity path, and that nothing else changes. */
import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { UNREPORTED_USAGE } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { type Frame, isLong, readFrame } from '../../text/frames.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent } from '../../text/sse.ts';
import { chain, runStage, type Stage } from '../../text/stage.ts';
import { resultOf } from './answers.ts';
import { answerOfStream, eventsOfText, fromBytes, renderContext, textRequest } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };

function plan(format: WireFormatName) {
  return planForwarding(FORMATS[format].upstream, { model: 'm' }, textRequest(), options, new Meter());
}

/** The text of a forwarded stream. */
function passed(format: WireFormatName, text: string): string {
  return Buffer.concat(runStage([Buffer.from(text)], fromBytes(plan(format).forwardStream()))).toString();
}

/** The same, with long frames parsed beforehand. */
function passedInSteps(format: WireFormatName, text: string): string {
  const stage = plan(format).forwardStream();
  const read: Stage<Frame, Frame> = { push: (frame, emit) => emit(isLong(frame) ? runSteps(frame) : frame), end() {} };
  return Buffer.concat(runStage([Buffer.from(text)], fromBytes(chain(read, stage)))).toString();
}

function runSteps(frame: Frame): Frame {
  const steps = readFrame(frame);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function frames(...events: readonly unknown[]): string {
  return events.map((event) => encodeEvent(typeof event === 'string' ? event : JSON.stringify(event))).join('');
}

function dataOf(stream: string): unknown[] {
  return eventsOfText(stream).map(({ data }): unknown => (data === '[DONE]' ? data : JSON.parse(data)));
}

const chunk = (delta: JsonObject, reason: string | null = null): JsonObject => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const completion = (message: JsonObject, reason: string | null): JsonObject => ({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
});
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
/** A piece of a call. */
const piece = (text: unknown, fields: JsonObject = {}, name?: string): JsonObject => ({
  ...fields,
  function: { ...(name !== undefined && { name }), arguments: text },
});
const started = (index: number, id: string, text: string): JsonObject => ({
  ...piece(text, { index, id, type: 'function' }, 'look'),
});

describe('a forwarded answer', () => {
  describe('in chat completions', () => {
    const cases: readonly (readonly [string, JsonObject, JsonObject])[] = [
      ['a reason of its own', completion({ content: 'x' }, 'eos'), completion({ content: 'x' }, 'stop')],
      [
        'another word for the bound',
        completion({ content: 'x' }, 'max_tokens'),
        completion({ content: 'x' }, 'length'),
      ],
      [
        'calls that ended with a stop',
        completion({ content: null, tool_calls: [call] }, 'stop'),
        completion({ content: null, tool_calls: [call] }, 'tool_calls'),
      ],
      [
        'reasoning under its other name',
        completion({ reasoning: 'Hm', content: 'x' }, 'stop'),
        completion({ content: 'x', reasoning_content: 'Hm' }, 'stop'),
      ],
      [
        'nothing where a text belongs',
        completion({ content: null, reasoning_content: 'Hm' }, 'length'),
        completion({ content: '', reasoning_content: 'Hm' }, 'length'),
      ],
      [
        'content in parts',
        completion(
          {
            content: [
              { type: 'thinking', thinking: 'Hm' },
              { type: 'text', text: 'x' },
            ],
          },
          'stop',
        ),
        completion({ content: 'x', reasoning_content: 'Hm' }, 'stop'),
      ],
      [
        'arguments as an object',
        completion({ content: null, tool_calls: [{ ...call, ...piece({ a: 1 }, {}, 'look') }] }, 'tool_calls'),
        completion({ content: null, tool_calls: [{ ...call, ...piece('{"a":1}', {}, 'look') }] }, 'tool_calls'),
      ],
      [
        'a call without arguments',
        completion({ content: null, tool_calls: [{ ...call, function: { name: 'look' } }] }, 'tool_calls'),
        completion({ content: null, tool_calls: [call] }, 'tool_calls'),
      ],
      [
        'empty objects for nothing',
        completion({ content: 'x', audio: { id: '', data: '' }, function_call: { name: '', arguments: '' } }, 'stop'),
        completion({ content: 'x' }, 'stop'),
      ],
    ];
    for (const [what, sent, repaired] of cases) {
      it(`a forwarded answer in chat completions is repaired of ${what}`, () => {
        expect(plan('chat-completions').checkResult(sent)).to.deep.equal(repaired);
      });
    }

    it('has a call in the legacy form where clients that sent tools look for it', () => {
      const called = completion({ content: null, function_call: call.function }, 'function_call');
      const { choices } = plan('chat-completions').checkResult(called) as { choices: [{ message: JsonObject }] };
      expect(choices[0]).to.include({ finish_reason: 'tool_calls' });
      expect(choices[0].message['tool_calls'])
        .to.have.nested.property('[0].id')
        .that.matches(/^call_/);
      expect(choices[0].message).to.not.have.property('function_call');
      expect(choices[0].message['tool_calls']).to.have.deep.nested.property('[0].function', call.function);
    });

    it('has an id for each call', () => {
      const { id: _id, ...unnamed } = call;
      const { choices } = plan('chat-completions').checkResult(
        completion({ content: null, tool_calls: [call, unnamed] }, 'tool_calls'),
      ) as { choices: [{ message: { tool_calls: [JsonObject, JsonObject] } }] };
      const [first, second] = choices[0].message.tool_calls;
      expect(first).to.deep.equal(call);
      expect(second)
        .to.deep.include(unnamed)
        .and.property('id')
        .to.match(/^call_/);
    });

    const streams: readonly (readonly [string, sent: readonly JsonObject[], repaired: readonly JsonObject[]])[] = [
      [
        'calls that share an index',
        [
          { tool_calls: [started(0, 'a', '{"a":1}')] },
          { tool_calls: [started(0, 'b', '{"b":')] },
          { tool_calls: [piece('2}', { index: 0 })] },
        ],
        [
          { tool_calls: [started(0, 'a', '{"a":1}')] },
          { tool_calls: [started(1, 'b', '{"b":')] },
          { tool_calls: [piece('2}', { index: 1 })] },
        ],
      ],
      [
        'calls without an index',
        [
          { tool_calls: [piece('{"a":', { id: 'a' }, 'look')] },
          { tool_calls: [piece('1}')] },
          { tool_calls: [piece('{}', { id: 'b' }, 'look')] },
        ],
        [
          { tool_calls: [started(0, 'a', '{"a":')] },
          { tool_calls: [piece('1}', { index: 0 })] },
          { tool_calls: [started(1, 'b', '{}')] },
        ],
      ],
      [
        'arguments as an object',
        [{ tool_calls: [piece({ a: 1 }, { index: 0, id: 'a' }, 'look')] }],
        [{ tool_calls: [started(0, 'a', '{"a":1}')] }],
      ],
      [
        'a call without an id',
        [{ tool_calls: [piece('{', { index: 0 }, 'look')] }, { tool_calls: [piece('}', { index: 0 })] }],
        [{ tool_calls: [started(0, 'minted', '{')] }, { tool_calls: [piece('}', { index: 0 })] }],
      ],
      [
        'a name that follows the arguments',
        [
          { role: 'assistant', tool_calls: [piece('{"a":', { index: 0, id: 'a' })] },
          { tool_calls: [piece('1}', { index: 0 }, 'look')] },
        ],
        [{ role: 'assistant' }, { tool_calls: [started(0, 'a', '{"a":1}')] }],
      ],
      [
        'content in parts',
        [{ content: [{ type: 'text', text: 'a' }, 'b'] }, { content: [{ type: 'thinking', thinking: 'Hm' }] }],
        [{ content: 'ab' }, { content: null, reasoning_content: 'Hm' }],
      ],
    ];
    for (const [what, sent, repaired] of streams) {
      it(`a forwarded stream in chat completions is repaired of ${what}`, () => {
        // contract 4.8:35
        const text = passed('chat-completions', frames(...sent.map((delta) => chunk(delta)), '[DONE]'));
        const read = dataOf(text.replaceAll(/call_minted_\w+/g, 'minted'));
        expect(read.slice(0, sent.length)).to.deep.equal(repaired.map((delta) => chunk(delta)));
      });
    }

    it('has arguments for each call of a stream at its end, with and without a reason', () => {
      const called = chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look' } }] });
      for (const end of [[chunk({}, 'stop'), '[DONE]'], ['[DONE]']]) {
        const read = dataOf(passed('chat-completions', frames(called, ...end))) as JsonObject[];
        expect(read.at(-2)).to.deep.nested.include({
          'choices[0].delta.tool_calls': [started(0, 'a', '{}')],
          'choices[0].finish_reason': 'tool_calls',
        });
      }
    });

    it('keeps the bytes of sound calls, of probabilities, and of text about calls', () => {
      const logprobs = { content: [{ token: 'x', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null };
      const stream = frames(
        chunk({ role: 'assistant', content: null, tool_calls: [started(0, 'a', '')] }),
        chunk({ tool_calls: [piece('{"a":', { index: 0 })] }),
        chunk({ tool_calls: [piece('1}', { index: 0 })] }),
        chunk({ tool_calls: [started(1, 'b', '{}')] }),
        { id: 'c', choices: [{ index: 0, delta: { content: '{"arguments": {"content": [' }, logprobs }] },
        chunk({}, 'tool_calls'),
        '[DONE]',
      ).replaceAll('":', '": ');
      const request = textRequest({ tools: [{ name: 'look' }] });
      const forwarding = planForwarding(FORMATS['chat-completions'].upstream, {}, request, options, new Meter());
      const text = Buffer.concat(runStage([Buffer.from(stream)], fromBytes(forwarding.forwardStream()))).toString();
      expect(text).to.equal(stream);
    });

    it('has the pieces of a call in the legacy form where clients that sent tools look for them', () => {
      const stream = frames(
        chunk({ function_call: { name: 'look', arguments: '{"a"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
        chunk({}, 'function_call'),
        '[DONE]',
      );
      const [first, second, last] = dataOf(passed('chat-completions', stream)) as JsonObject[];
      expect(first).to.nested.include({ 'choices[0].delta.tool_calls[0].function.name': 'look' });
      expect(first)
        .to.have.nested.property('choices[0].delta.tool_calls[0].id')
        .that.matches(/^call_/);
      expect(second).to.deep.equal(chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }));
      expect(last).to.nested.include({ 'choices[0].finish_reason': 'tool_calls' });
    });

    it('stays the same object when it needs no repair', () => {
      // contract 4.8:35
      for (const sound of [
        completion({ content: 'x', vendor: [1] }, 'stop'),
        completion({ content: null, tool_calls: [call] }, 'tool_calls'),
      ]) {
        expect(plan('chat-completions').checkResult(sound)).to.equal(sound);
      }
    });

    it('a forwarded stream is repaired event by event, and all other events keep their bytes', () => {
      const sound = 'id: 7\ndata: {"choices": [{"index": 0, "delta": {"content": "say \\"reasoning\\": no"}}]}\n\n';
      const stream = frames(chunk({ reasoning: 'Hm' })) + sound + frames(chunk({}, 'eos'), '[DONE]');
      expect(passed('chat-completions', stream)).to.equal(
        frames(chunk({ reasoning_content: 'Hm' })) + sound + frames(chunk({}, 'stop'), '[DONE]'),
      );
    });

    it('ends a stream with calls as such, and one without content with an empty text', () => {
      const calls = chunk({ tool_calls: [{ index: 0, ...call }] });
      expect(dataOf(passed('chat-completions', frames(calls, chunk({}, 'stop'), '[DONE]')))).to.deep.equal([
        calls,
        chunk({}, 'tool_calls'),
        '[DONE]',
      ]);
      const thought = chunk({ reasoning_content: 'Hm' });
      expect(dataOf(passed('chat-completions', frames(thought, chunk({}, 'length'), '[DONE]')))).to.deep.equal([
        thought,
        chunk({ content: '' }, 'length'),
        '[DONE]',
      ]);
    });

    it('ends with one end mark, even if the upstream sent none, omitted its blank line, or continued after it', () => {
      const events = frames(chunk({ content: 'x' }), chunk({}, 'stop'));
      for (const ending of ['', 'data: [DONE]', 'data: [DONE]\n', frames('[DONE]', '[DONE]'), frames('[DONE]', {})]) {
        expect(passed('chat-completions', events + ending)).to.equal(events + frames('[DONE]'));
      }
      const unended = events.trimEnd();
      expect(passed('chat-completions', unended)).to.equal(events + frames('[DONE]'));
    });

    it('ends each choice with a reason, even if the upstream sent none', () => {
      // contract 4.8.1:34
      const said = { ...chunk({ content: 'x' }), model: 'own-name' };
      const called = { id: 'c', choices: [{ index: 1, delta: { tool_calls: [{ index: 0, ...call }] } }] };
      const end = (index: number, reason: string): JsonObject => ({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 0,
        model: 'own-name',
        choices: [{ index, delta: {}, finish_reason: reason }],
      });
      const stream = frames(called, said, '[DONE]');
      expect(dataOf(passed('chat-completions', stream))).to.deep.equal([
        called,
        said,
        end(0, 'stop'),
        end(1, 'tool_calls'),
        '[DONE]',
      ]);
    });
  });

  describe('in messages', () => {
    it('has an empty text block when thinking used the whole budget, whole and streamed', () => {
      const thinking = { type: 'thinking', thinking: 'Hm', signature: 's' };
      const cut = { type: 'message', content: [thinking], stop_reason: 'max_tokens' };
      expect(plan('messages').checkResult(cut)).to.deep.equal({
        ...cut,
        content: [thinking, { type: 'text', text: '' }],
      });
      const events = [
        { type: 'message_start', message: { id: 'm', content: [] } },
        { type: 'content_block_start', index: 0, content_block: thinking },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
        { type: 'message_stop' },
      ];
      expect(dataOf(passed('messages', frames(...events)))).to.deep.equal([
        ...events.slice(0, 3),
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        { type: 'content_block_stop', index: 1 },
        ...events.slice(3),
      ]);
    });

    const text = { type: 'text', text: 'x' };
    const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
    const message = (block: JsonObject, reason: string | null): JsonObject => ({
      type: 'message',
      content: [block],
      stop_reason: reason,
    });

    for (const [block, told, known] of [
      [text, 'pause_turn', 'end_turn'],
      [text, null, 'end_turn'],
      [text, 'model_context_window_exceeded', 'max_tokens'],
      [toolUse, 'end_turn', 'tool_use'],
    ] as const) {
      it(`has the reason ${known} for ${told} after ${block.type}`, () => {
        expect(plan('messages').checkResult(message(block, told))).to.deep.equal(message(block, known));
        const start = { type: 'content_block_start', index: 0, content_block: block };
        const end = (reason: string | null) => ({ type: 'message_delta', delta: { stop_reason: reason }, usage: {} });
        const rest = [{ type: 'content_block_stop', index: 0 }, end(told ?? 'done'), { type: 'message_stop' }];
        expect(dataOf(passed('messages', frames(start, ...rest)))).to.deep.include(end(known));
      });
    }
  });

  it('in messages has a reason and the charged usage, even if the upstream sent neither', () => {
    // contract 4.8:27 4.8.3:22
    const events = [
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 0, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'A lighthouse.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_stop' },
    ];
    const meter = new Meter(() => ({ ...UNREPORTED_USAGE, inputTotal: 40, outputTotal: 5 }));
    const forwarding = planForwarding(FORMATS.messages.upstream, { model: 'm' }, textRequest(), options, meter);
    const passedOn = runStage([Buffer.from(frames(...events))], fromBytes(forwarding.forwardStream()));
    expect(dataOf(Buffer.concat(passedOn).toString())).to.deep.equal([
      ...events.slice(0, -1),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: 40, output_tokens: 5 },
      },
      ...events.slice(-1),
    ]);
  });

  describe('in the native format', () => {
    const response = (finishReason?: string): JsonObject => ({
      candidates: [
        { content: { role: 'model', parts: [{ text: 'x' }] }, ...(finishReason !== undefined && { finishReason }) },
      ],
    });

    it('has only the format’s reasons, and none before the end', () => {
      expect(plan('generate-content').checkResult(response('OTHER'))).to.deep.equal(response('STOP'));
      const stream = frames(response('FINISH_REASON_UNSPECIFIED'), response('OTHER'));
      expect(dataOf(passed('generate-content', stream))).to.deep.equal([response(), response('STOP')]);
    });

    it('has no thoughts, whole and streamed', () => {
      const thought = { text: 'Hm', thought: true };
      const holding = (...parts: JsonObject[]): JsonObject => ({ candidates: [{ content: { role: 'model', parts } }] });
      const whole = { candidates: [{ content: { parts: [thought, { text: 'x' }] }, finishReason: 'STOP' }] };
      expect(plan('generate-content').checkResult(whole)).to.deep.equal({
        candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }],
      });
      const stream = frames(holding(thought), holding(thought, { text: 'x' }), response('STOP'));
      expect(dataOf(passed('generate-content', stream))).to.deep.equal([holding({ text: 'x' }), response('STOP')]);
    });
  });

  describe('in responses', () => {
    const item = (id: string): JsonObject => ({ id, type: 'message', content: [{ type: 'output_text', text: id }] });
    const ended = (id: string, index?: number): JsonObject => ({
      type: 'response.output_item.done',
      ...(index !== undefined && { output_index: index }),
      item: item(id),
    });
    const end = (output?: readonly JsonObject[], status = 'completed'): JsonObject => ({
      type: `response.${status}`,
      response: { id: 'r', ...(output !== undefined && { output }), status },
    });
    const LONG = 'x'.repeat(200_000);
    const ENDS: Readonly<Record<string, readonly [sent: readonly JsonObject[], output: readonly JsonObject[]]>> = {
      'the items of the stream instead of none': [
        [ended('a', 0), ended('b', 1), end([])],
        [item('a'), item('b')],
      ],
      'the items of the stream instead of no output': [[ended('a', 0), end(undefined, 'incomplete')], [item('a')]],
      'the items in the order of their places': [
        [ended('b', 1), ended('a', 0), end([])],
        [item('a'), item('b')],
      ],
      'items without places in the order of the stream': [
        [ended('a'), ended('b'), end([])],
        [item('a'), item('b')],
      ],
      'an item at its place once': [[ended('a', 0), ended('b', 0), end([])], [item('b')]],
      'a long item': [[ended(LONG), end([])], [item(LONG)]],
      'an empty output if there were no items': [[end()], []],
      'its own items': [[ended('a', 0), end([item('b')])], [item('b')]],
    };
    for (const [what, [sent, output]] of Object.entries(ENDS)) {
      it(`ends a stream with ${what}, with and without names of events`, () => {
        // contract 4.8.2:28 4.8.2:31
        const named = sent.map((event) => encodeEvent(JSON.stringify(event), String(event['type']))).join('');
        for (const stream of [frames(...sent), named]) {
          const read = dataOf(passedInSteps('responses', stream));
          expect(read.slice(0, -1)).to.deep.equal(sent.slice(0, -1));
          expect(read.at(-1)).to.have.deep.nested.property('response.output', output);
        }
      });
    }

    it('repeats the bound that the client sent, whatever bound the upstream received', () => {
      const forwarding = (body: JsonObject) =>
        planForwarding(FORMATS.responses.upstream, body, textRequest(), options, new Meter());
      const response = (bound: number | null, status: string): JsonObject => ({
        max_output_tokens: bound,
        output: [],
        status,
      });
      const bounded = forwarding({ max_output_tokens: 5 });
      expect(bounded.checkResult(response(16, 'incomplete'))).to.deep.equal(response(5, 'incomplete'));
      const stream = [
        { type: 'response.created', response: response(16, 'in_progress') },
        { type: 'response.incomplete', response: response(16, 'incomplete') },
      ];
      const text = Buffer.concat(runStage([Buffer.from(frames(...stream))], fromBytes(bounded.forwardStream())));
      expect(dataOf(text.toString())).to.deep.equal([
        { type: 'response.created', response: response(5, 'in_progress') },
        { type: 'response.incomplete', response: response(5, 'incomplete') },
      ]);
      expect(forwarding({}).checkResult(response(4_096, 'completed'))).to.deep.equal(response(null, 'completed'));
    });
  });
});

describe('the usage in an answer', () => {
  const charged = { ...UNREPORTED_USAGE, inputTotal: 7, outputTotal: 3 };
  /** An answer of each format with some text, whole and as a stream, that reports this usage. */
  const answers: Readonly<Record<WireFormatName, (input: number, output: number) => readonly [JsonObject, string]>> = {
    'chat-completions': (input, output) => {
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      const stream = frames(chunk({ content: 'x' }), chunk({}, 'stop'), { id: 'c', choices: [], usage }, '[DONE]');
      return [{ ...completion({ content: 'x' }, 'stop'), usage }, stream];
    },
    responses: (input, output) => {
      const usage = {
        input_tokens: input,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input + output,
      };
      const item = { type: 'message', content: [{ type: 'output_text', text: 'x' }] };
      const response = { status: 'completed', output: [item], usage };
      return [response, frames({ type: 'response.completed', response })];
    },
    messages: (input, output) => {
      const usage = { input_tokens: input, output_tokens: output };
      const block = { type: 'text', text: 'x' };
      const stream = frames(
        { type: 'message_start', message: {} },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
        { type: 'message_stop' },
      );
      return [{ type: 'message', content: [block], stop_reason: 'end_turn', usage }, stream];
    },
    'generate-content': (input, output) => {
      const usageMetadata = {
        promptTokenCount: input,
        candidatesTokenCount: output,
        totalTokenCount: input + output,
      };
      const response = { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }], usageMetadata };
      return [response, frames(response)];
    },
  };

  for (const format of WIRE_FORMAT_NAMES) {
    it(`in ${format} is the charged usage, forwarded or converted, whatever the upstream reported`, () => {
      // contract 4.8:27 4.8:28
      const body = { stream_options: { include_usage: true } };
      const request = textRequest({ includeUsage: true });
      const [expectedWhole, expectedStream] = answers[format](7, 3);
      for (const [whole, stream] of [answers[format](7, 1_668), answers[format](0, 0)]) {
        const forwarding = planForwarding(FORMATS[format].upstream, body, request, options, new Meter(() => charged));
        expect(forwarding.checkResult(whole)).to.deep.equal(expectedWhole);
        const passedOn = runStage([Buffer.from(stream)], fromBytes(forwarding.forwardStream()));
        expect(dataOf(Buffer.concat(passedOn).toString())).to.deep.equal(dataOf(expectedStream));
        for (const client of WIRE_FORMAT_NAMES) {
          const conversion = () =>
            planConversion(FORMATS[client], FORMATS[format], request, options, new Meter(() => charged));
          const context = renderContext({ includeUsage: true });
          const read = [
            resultOf(FORMATS[client].upstream.parseResult(conversion().convertResult(whole, context))),
            answerOfStream(
              FORMATS[client],
              runStage([Buffer.from(stream)], fromBytes(conversion().convertStream(context))).join(''),
            ),
          ];
          for (const { usage } of read) expect(usage).to.include({ inputTotal: 7, outputTotal: 3 });
        }
      }
    });
  }

  it('in chat completions is added to a stream whose upstream sent none, if the client requested it', () => {
    // The first chunk has what the upstream reports about the prompt, and no identity.
    const first = { id: '', model: '', object: '', created: 0, choices: [], prompt_filter_results: [{ index: 0 }] };
    const identity = { id: 'c', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'own-name' };
    const stream = frames(first, { ...identity, ...chunk({ content: 'x' }) }, { ...identity, ...chunk({}, 'stop') });
    for (const ending of ['', frames('[DONE]')]) {
      const body = { stream_options: { include_usage: true } };
      const meter = new Meter(() => charged);
      const upstream = FORMATS['chat-completions'].upstream;
      const forwarding = planForwarding(upstream, body, textRequest({ includeUsage: true }), options, meter);
      const passedOn = runStage([Buffer.from(stream + ending)], fromBytes(forwarding.forwardStream()));
      expect(dataOf(Buffer.concat(passedOn).toString()).slice(3)).to.deep.equal([
        { ...identity, choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
        '[DONE]',
      ]);
    }
  });
});

/** The answers of each format's upstreams when moderation cuts them, whole and in the last events of a stream. */
const MODERATED: Readonly<
  Record<WireFormatName, { readonly whole: JsonObject; readonly stream: readonly JsonObject[] }>
> = {
  'chat-completions': {
    whole: completion({ content: 'Begun' }, 'content_filter'),
    stream: [chunk({ content: 'Begun' }), chunk({ content: ' and' }, 'content_filter')],
  },
  responses: {
    whole: { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] },
    stream: [
      { type: 'response.output_text.delta', output_index: 0, delta: 'Begun' },
      {
        type: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] },
      },
    ],
  },
  messages: {
    whole: { type: 'message', content: [{ type: 'text', text: 'Begun' }], stop_reason: 'refusal' },
    stream: [
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Begun' } },
      { type: 'message_delta', delta: { stop_reason: 'refusal' } },
    ],
  },
  'generate-content': {
    whole: { candidates: [{ content: { parts: [{ text: 'Begun' }] }, finishReason: 'SAFETY' }] },
    stream: [
      { candidates: [{ content: { parts: [{ text: 'Begun' }] } }] },
      { candidates: [{ finishReason: 'PROHIBITED_CONTENT' }] },
    ],
  },
};

/** The part of a stream that passed before it failed, and the error code. */
function untilFailure(
  stage: { push: (bytes: Uint8Array, emit: (piece: string | Uint8Array) => void) => void },
  text: string,
) {
  let sent = '';
  try {
    stage.push(
      Buffer.from(text),
      (piece) => void (sent += typeof piece === 'string' ? piece : Buffer.from(piece).toString()),
    );
  } catch (error) {
    return { sent, code: error instanceof ServiceError ? error.code : null };
  }
  return { sent, code: null };
}

describe('an answer refused by moderation', () => {
  for (const upstream of WIRE_FORMAT_NAMES) {
    const { whole, stream } = MODERATED[upstream];

    for (const client of WIRE_FORMAT_NAMES) {
      it(`is a policy violation in ${client} from ${upstream}, whole and after the text already streamed`, () => {
        // contract 4.8.4:15
        const conversion = planConversion(FORMATS[client], FORMATS[upstream], textRequest(), options, new Meter());
        expect(() => conversion.convertResult(whole, renderContext()))
          .to.throw(ServiceError)
          .with.property('code', 'content_policy_violation');
        const { sent, code } = untilFailure(fromBytes(conversion.convertStream(renderContext())), frames(...stream));
        expect(code).to.equal('content_policy_violation');
        expect(sent)
          .to.contain('Begun')
          .and.not.match(/content_filter|refusal|SAFETY|PROHIBITED/);
      });
    }

    it(`is a policy violation where ${upstream} is forwarded, without its last event`, () => {
      expect(() => plan(upstream).checkResult(whole))
        .to.throw(ServiceError)
        .with.property('code', 'content_policy_violation');
      const { sent, code } = untilFailure(fromBytes(plan(upstream).forwardStream()), frames(...stream));
      expect(code).to.equal('content_policy_violation');
      expect(sent).to.equal(frames(...stream.slice(0, 1)));
    });
  }

  for (const reason of ['SAFETY', 'RECITATION', 'BLOCKLIST', 'SPII', 'MODEL_ARMOR', 'IMAGE_SAFETY', 'sensitive']) {
    it(`is recognized by each of its finish reasons: ${reason}`, () => {
      const native = { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: reason }] };
      expect(() => plan('generate-content').checkResult(native)).to.throw(ServiceError, 'moderation');
      expect(() => plan('chat-completions').checkResult(completion({ content: 'x' }, reason))).to.throw('moderation');
    });
  }
});
