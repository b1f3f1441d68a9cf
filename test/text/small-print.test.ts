/** How vendors deviate from the formats that they speak, over both paths: converted and forwarded. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import type { AnswerPart, TextResult } from '../../text/canonical.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { DONE, encodeEvent } from '../../text/sse.ts';
import { resultOf } from './answers.ts';
import { answerOfStream, fromBytes, partsOf, textRequest } from './support.ts';
import { casesOf } from '../support/properties.ts';

const options = { model: 'upstream', apiKey: 'secret' };

/** An answer with a text and a finish reason, as each format has it whole and in a stream. */
interface Sample {
  readonly whole: (text: string, reason?: string) => JsonObject;
  readonly streamed: (text: string, reason?: string) => readonly JsonObject[];
  readonly hasEndMark?: boolean;
}

const candidate = (text: string, finishReason?: string): JsonObject => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason }],
});
const block = { type: 'content_block_delta', index: 0 };
const SAMPLES: Readonly<Record<Exclude<WireFormatName, 'responses'>, Sample>> = {
  'chat-completions': {
    whole: (content, finish_reason) => ({ choices: [{ index: 0, message: { content }, finish_reason }] }),
    streamed: (content, finish_reason) => [
      { choices: [{ index: 0, delta: { content } }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
    ],
    hasEndMark: true,
  },
  messages: {
    whole: (text, stop_reason) => ({ type: 'message', content: [{ type: 'text', text }], stop_reason }),
    streamed: (text, stop_reason) => [
      { type: 'message_start', message: {} },
      { ...block, delta: { type: 'text_delta', text } },
      { type: 'message_delta', delta: { stop_reason } },
      { type: 'message_stop' },
    ],
  },
  'generate-content': {
    whole: candidate,
    streamed: (text, reason) => [candidate(text), { candidates: [{ finishReason: reason }] }],
  },
};

function frames(events: readonly JsonObject[], endMark = ''): string {
  return events.map((event) => encodeEvent(JSON.stringify(event))).join('') + endMark;
}

/** The bytes that a client receives, and the error that follows them. */
function passOn(name: WireFormatName, text: string, size = text.length): { passed: string; code: unknown } {
  const stage = fromBytes(
    planForwarding(FORMATS[name].upstream, {}, textRequest(), options, new Meter()).forwardStream(),
  );
  const bytes = Buffer.from(text);
  let passed = '';
  const emit = (piece: Uint8Array): void => void (passed += Buffer.from(piece).toString());
  try {
    for (let at = 0; at < bytes.length; at += size) stage.push(bytes.subarray(at, at + size), emit);
    stage.end(emit);
  } catch (error) {
    return { passed, code: error instanceof ServiceError ? error.code : error };
  }
  return { passed, code: null };
}

/** How an answer is read whole, streamed and forwarded, as a finish reason or as an error code. */
function readEveryWay(name: keyof typeof SAMPLES, text: string, reason?: string): unknown[] {
  const { whole, streamed, hasEndMark } = SAMPLES[name];
  const format = FORMATS[name];
  const stream = frames(streamed(text, reason), hasEndMark === true ? encodeEvent(DONE) : '');
  const outcomeOf = (read: () => TextResult): unknown => {
    try {
      return read().choices[0]?.finish.reason;
    } catch (error) {
      return error instanceof ServiceError ? error.code : error;
    }
  };
  return [
    outcomeOf(() => resultOf(format.upstream.parseResult(whole(text, reason)))),
    outcomeOf(() => answerOfStream(format, stream)),
    passOn(name, stream).code,
  ];
}

describe('the dialect of a vendor', () => {
  for (const name of ['chat-completions', 'messages', 'generate-content'] as const) {
    describe(`of ${name}`, () => {
      it('has reasons of other formats, in any case', () => {
        for (const reason of ['stop', 'STOP', 'end_turn', 'eos', 'COMPLETE']) {
          expect(readEveryWay(name, 'x', reason)).to.deep.equal(['stop', 'stop', null]);
          expect(readEveryWay(name, '', reason)).to.deep.equal(['stop', 'stop', null]);
        }
        for (const reason of ['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens', 'model_length']) {
          expect(readEveryWay(name, 'x', reason)).to.deep.equal(['length', 'length', null]);
        }
      });

      it('has unknown reasons, which mean success only with content', () => {
        for (const reason of ['OTHER', 'repetition', 'vendor_special']) {
          expect(readEveryWay(name, 'x', reason)).to.deep.equal(['stop', 'stop', null]);
          const failed = ['processing_failed', 'processing_failed', 'processing_failed'];
          expect(readEveryWay(name, '', reason)).to.deep.equal(failed);
        }
      });

      it('has unknown filters, which are recognised by name', () => {
        for (const reason of [
          'MODEL_ARMOR',
          'content_filtered',
          'OUTPUT_BLOCKED',
          'policy_violation',
          'unsafe_safety',
        ]) {
          const refused = ['content_policy_violation', 'content_policy_violation', 'content_policy_violation'];
          expect(readEveryWay(name, '', reason)).to.deep.equal(refused);
          expect(readEveryWay(name, 'x', reason)).to.deep.equal(refused);
        }
      });

      it('has reasons that mean that the model failed', () => {
        for (const reason of ['error', 'network_error', 'insufficient_system_resource', 'MALFORMED_FUNCTION_CALL']) {
          const failed = ['processing_failed', 'processing_failed', 'processing_failed'];
          expect(readEveryWay(name, 'x', reason)).to.deep.equal(failed);
        }
      });

      it('has no reason, or an empty one, for the end of a whole answer', () => {
        for (const reason of [undefined, '', 'null']) {
          expect(readEveryWay(name, 'x', reason)[0]).to.equal('stop');
          expect(readEveryWay(name, '', reason)[0]).to.equal('result_transfer_failed');
        }
      });

      const { streamed, hasEndMark } = SAMPLES[name];
      const endMark = hasEndMark === true ? encodeEvent(DONE) : '';

      it('has no blank lines between events', () => {
        const stream = frames(streamed('Hello', 'length'), endMark).replaceAll('\n\n', '\n');
        expect(partsOf(answerOfStream(FORMATS[name], stream))).to.deep.equal([{ type: 'text', text: 'Hello' }]);
        const { passed, code } = passOn(name, stream);
        expect(code).to.equal(null);
        expect(partsOf(answerOfStream(FORMATS[name], passed))).to.deep.equal([{ type: 'text', text: 'Hello' }]);
        expect(passed.match(/^data: /gm)?.length).to.equal(passed.match(/\n\n/g)?.length);
      });

      const errors = [
        'event: error\ndata: {"error":{"message":"of sk-vendor","code":"x","status_code":400}}',
        'event: error\ndata: {"message":"of sk-vendor"}',
        'event: error\ndata: upstream sk-vendor fell over',
        'data: {"error":"of sk-vendor"}',
        '{"error":{"message":"of sk-vendor"}}',
        '<html>sk-vendor</html>',
        'Internal error of sk-vendor',
      ];
      for (const error of errors) {
        for (const ending of ['', '\n', '\r\n', '\n\n']) {
          it(`has ${JSON.stringify(error + ending)} in the middle of a stream, which no client receives`, () => {
            const [first, second] = streamed('Hello', 'stop');
            const before = frames([first ?? {}, second ?? {}].slice(0, name === 'messages' ? 2 : 1));
            const stream = before + error + ending;
            fc.assert(
              fc.property(fc.integer({ min: 1, max: stream.length }), (size) => {
                const { passed, code } = passOn(name, stream, size);
                expect(code).to.be.a('string').and.not.equal('internal_error');
                expect(passed).to.equal(before);
              }),
              { numRuns: casesOf(24) },
            );
            expect(() => answerOfStream(FORMATS[name], stream)).to.throw(ServiceError);
          });
        }
      }

      it('an answer is passed on unchanged where it needs no repair, for any split of the bytes', () => {
        const stream = frames(streamed('Hellö', name === 'generate-content' ? 'STOP' : 'length'), endMark);
        const sound = name === 'generate-content' ? stream : stream.replaceAll('"length"', soundReason(name));
        fc.assert(
          fc.property(fc.integer({ min: 1, max: sound.length }), (size) => {
            expect(passOn(name, sound, size)).to.deep.equal({ passed: sound, code: null });
          }),
          { numRuns: casesOf(24) },
        );
      });
    });
  }

  describe('of chat completions', () => {
    const { 'chat-completions': chat } = FORMATS;
    const shapes: readonly (readonly [string, JsonObject])[] = [
      [
        'a thinking part with parts',
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }, 'Yes'] },
      ],
      [
        'a thinking part with text',
        {
          content: [
            { type: 'thinking', thinking: 'Hm' },
            { type: 'text', text: 'Yes' },
          ],
        },
      ],
      [
        'a reasoning part',
        {
          content: [
            { type: 'reasoning', text: 'Hm' },
            { type: 'text', text: 'Yes' },
          ],
        },
      ],
      ['a reasoning part with a summary', { content: [{ type: 'reasoning', summary: [{ text: 'Hm' }] }, 'Yes'] }],
      ['reasoning_text', { reasoning_text: 'Hm', content: 'Yes' }],
      ['thinking', { thinking: 'Hm', content: 'Yes' }],
      ['thinking blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'Hm', signature: 's' }], content: 'Yes' }],
      ['details', { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }], content: 'Yes' }],
      ['a field twice', { reasoning: 'Hm', reasoning_details: [{ text: 'Hm' }], content: 'Yes' }],
      ['null beside it', { reasoning_content: null, reasoning: 'Hm', content: 'Yes' }],
    ];
    for (const [shape, message] of shapes) {
      it(`has reasoning as ${shape}`, () => {
        const expected = [
          { type: 'reasoning', text: 'Hm' },
          { type: 'text', text: 'Yes' },
        ];
        const whole = { choices: [{ message, finish_reason: 'stop' }] };
        expect(partsOf(resultOf(chat.upstream.parseResult(whole)))).to.deep.equal(expected);
        const stream = frames([{ choices: [{ delta: message, finish_reason: 'stop' }] }]);
        expect(partsOf(answerOfStream(chat, stream))).to.deep.equal(expected);
      });
    }

    it('has reasoning in parts, which keep their order', () => {
      const said = (content: unknown): JsonObject => ({ choices: [{ delta: { content } }] });
      const thought = (text: string): JsonObject => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
      const stream = frames([
        said([thought('Hm')]),
        said([thought(', well')]),
        said('Yes'),
        said([thought('No?'), 'No']),
      ]);
      expect(partsOf(answerOfStream(chat, stream + encodeEvent(DONE)))).to.deep.equal([
        { type: 'reasoning', text: 'Hm, well' },
        { type: 'text', text: 'Yes' },
        { type: 'reasoning', text: 'No?' },
        { type: 'text', text: 'No' },
      ]);
    });

    it('has parts of thinking that clients send back', () => {
      const content = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }], closed: true }];
      const messages = [{ role: 'assistant', content: [...content, { type: 'text', text: 'Yes' }] }];
      const [turn] = chat.client.parseRequest({ model: 'm', messages }, {}).turns;
      expect(turn?.parts).to.deep.equal([
        { type: 'reasoning', text: 'Hm' },
        { type: 'text', text: 'Yes' },
      ]);
    });

    it('has "null" until the answer ends', () => {
      const said = (content: string, finish_reason: string): JsonObject => ({
        choices: [{ index: 0, delta: { content }, finish_reason }],
      });
      const stream = frames([said('x', 'null'), said('y', 'length')], encodeEvent(DONE));
      expect(answerOfStream(chat, stream).choices[0]?.finish.reason).to.equal('length');
      expect(passOn('chat-completions', stream).passed).to.contain('"finish_reason":null').and.not.contain('"null"');
    });

    it('has an empty role in deltas, which is not passed on', () => {
      const said = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
        choices: [{ index: 0, delta, finish_reason }],
        usage: { total_tokens: 0 },
      });
      const first = said({ role: 'assistant', content: '' });
      const stream = frames([first, said({ role: '', content: 'x' }), said({}, 'stop')], encodeEvent(DONE));
      const { passed } = passOn('chat-completions', stream);
      expect(passed).to.equal(frames([first, said({ content: 'x' }), said({}, 'stop')], encodeEvent(DONE)));
      expect(answerOfStream(chat, stream).usage).to.include({ inputTotal: null, outputTotal: null });
    });

    it('has a last chunk with the whole message instead of a delta, whose text appears once', () => {
      const first = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] };
      const message = { role: 'assistant', content: 'x' };
      for (const last of [
        { index: 0, delta: null, finish_reason: 'stop', message },
        { index: 0, finish_reason: 'stop', message },
      ]) {
        const stream = frames([first, { choices: [last] }], encodeEvent(DONE));
        expect(partsOf(answerOfStream(chat, stream))).to.deep.equal([{ type: 'text', text: 'x' }]);
        const { passed } = passOn('chat-completions', stream);
        const mended = { choices: [{ index: 0, finish_reason: 'stop', delta: {} }] };
        expect(passed).to.equal(frames([first, mended], encodeEvent(DONE)));
        const alone = frames([{ choices: [last] }], encodeEvent(DONE));
        for (const text of [alone, passOn('chat-completions', alone).passed]) {
          expect(partsOf(answerOfStream(chat, text))).to.deep.equal([{ type: 'text', text: 'x' }]);
        }
        expect(passOn('chat-completions', alone).passed).to.contain('"delta":{');
      }
    });

    it('has calls in the legacy form, which some vendors leave empty', () => {
      const whole = (call: JsonObject): JsonObject => ({
        choices: [{ message: { content: 'x', function_call: call }, finish_reason: 'function_call' }],
      });
      const read = (call: JsonObject): readonly AnswerPart[] =>
        partsOf(resultOf(chat.upstream.parseResult(whole(call))));
      expect(read({ name: '', arguments: '' })).to.have.length(1);
      expect(read({ name: 'look', arguments: '{"at":1}' })[1]).to.include({ name: 'look', arguments: '{"at":1}' });
    });

    it('has chunks without choices that are not usage, which are passed on', () => {
      const filter = { choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
      const moderation = { choices: [], usage: null, moderation: { input: {} } };
      const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
      const rest = [{ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] }, moderation];
      const { passed, code } = passOn('chat-completions', frames([filter, ...rest, usage], encodeEvent(DONE)));
      expect(code).to.equal(null);
      expect(passed).to.equal(frames([filter, ...rest], encodeEvent(DONE)));
    });
  });

  it('may lack the last event of messages, which clients still receive', () => {
    const events = SAMPLES.messages.streamed('x', 'end_turn');
    const stop = encodeEvent('{"type":"message_stop"}', 'message_stop');
    expect(passOn('messages', frames(events.slice(0, -1))).passed).to.equal(frames(events.slice(0, -1)) + stop);
    expect(passOn('messages', frames(events)).passed).to.equal(frames(events));
  });

  it('may have the errors of native answers in a list of one', () => {
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: 'exceeds the maximum number of tokens' };
    expect(FORMATS['generate-content'].upstream.parseError(400, [{ error }]).message).to.contain('context window');
  });
});

function soundReason(name: WireFormatName): string {
  return name === 'messages' ? '"max_tokens"' : '"length"';
}
