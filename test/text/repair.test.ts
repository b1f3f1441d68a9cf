/** What the identity path mends of answers that it passes on, and that it leaves the rest alone. */
import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { eventsOfText, fromBytes, renderContext, textRequest } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };

function plan(format: WireFormatName) {
  return planForwarding(FORMATS[format].upstream, { model: 'm' }, textRequest(), options, new Meter());
}

/** The text of a stream that is passed on. */
function passed(format: WireFormatName, text: string): string {
  return Buffer.concat(runStage([Buffer.from(text)], fromBytes(plan(format).forwardStream()))).toString();
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

describe('an answer that is passed on', () => {
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
    ];
    for (const [what, sent, repaired] of cases) {
      it(`is repaired of ${what}`, () => {
        expect(plan('chat-completions').checkResult(sent)).to.deep.equal(repaired);
      });
    }

    it('stays the same object when it is sound', () => {
      for (const sound of [
        completion({ content: 'x', vendor: [1] }, 'stop'),
        completion({ content: null, tool_calls: [call] }, 'tool_calls'),
      ]) {
        expect(plan('chat-completions').checkResult(sound)).to.equal(sound);
      }
    });

    it('is repaired event by event, and all others keep their bytes', () => {
      const sound = 'id: 7\ndata: {"choices": [{"index": 0, "delta": {"content": "say \\"reasoning\\": no"}}]}\n\n';
      const stream = frames(chunk({ reasoning: 'Hm' })) + sound + frames(chunk({}, 'eos'), '[DONE]');
      expect(passed('chat-completions', stream)).to.equal(
        frames(chunk({ reasoning_content: 'Hm' })) + sound + frames(chunk({}, 'stop'), '[DONE]'),
      );
    });

    it('ends a stream with calls as such, and one with nothing at all with an empty text', () => {
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
  });

  describe('in messages', () => {
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
  });
});

/** What each format's upstreams send when moderation cuts an answer, whole and in the last events of a stream. */
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

/** What passed of a stream before it failed, and with which code. */
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

describe('an answer that moderation refused', () => {
  for (const upstream of WIRE_FORMAT_NAMES) {
    const { whole, stream } = MODERATED[upstream];

    for (const client of WIRE_FORMAT_NAMES) {
      it(`is a policy violation in ${client} from ${upstream}, whole and after what a stream told before`, () => {
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

    it(`is a policy violation where ${upstream} is passed on, and its last event is not`, () => {
      expect(() => plan(upstream).checkResult(whole))
        .to.throw(ServiceError)
        .with.property('code', 'content_policy_violation');
      const { sent, code } = untilFailure(fromBytes(plan(upstream).forwardStream()), frames(...stream));
      expect(code).to.equal('content_policy_violation');
      expect(sent).to.equal(frames(...stream.slice(0, 1)));
    });
  }

  for (const reason of ['SAFETY', 'RECITATION', 'BLOCKLIST', 'SPII', 'MODEL_ARMOR', 'IMAGE_SAFETY', 'sensitive']) {
    it(`is one whichever word says so: ${reason}`, () => {
      const native = { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: reason }] };
      expect(() => plan('generate-content').checkResult(native)).to.throw(ServiceError, 'moderation');
      expect(() => plan('chat-completions').checkResult(completion({ content: 'x' }, reason))).to.throw('moderation');
    });
  }
});
