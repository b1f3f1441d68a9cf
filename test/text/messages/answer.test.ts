import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import { objectOf } from '../../../domain/json.ts';
import { UNREPORTED_USAGE, type AnswerPart, type FinishReason, type StreamEvent } from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { messages } from '../../../text/messages/index.ts';
import { eventsOf } from '../answers.ts';
import { brokenStream, eventsOfText, renderContext, roundTrip, streamedTo, textResult } from '../support.ts';

const { client } = messages;
const reasoning: AnswerPart = { type: 'reasoning', text: 'Hm' };
const look: AnswerPart = { type: 'tool-call', callId: 'a', name: 'look', arguments: '{"at":1}' };

function contentOf(parts: readonly AnswerPart[], reason: FinishReason = 'stop'): unknown {
  return client.renderResult(textResult({ parts, finish: { reason } }), renderContext())['content'];
}

/** The events of a streamed answer: their names and their content. */
function streamed(events: Iterable<StreamEvent>) {
  const sent = eventsOfText(streamedTo(messages, [...events]));
  return { names: sent.map(({ event }) => event), data: sent.map(({ data }) => objectOf(JSON.parse(data))) };
}

describe('messages answer', () => {
  it('has the gateway’s id, the client’s model and the four fields of its end', () => {
    // contract 4.8.3:20
    expect(client.renderResult(textResult(), renderContext())).to.deep.equal({
      id: 'msg_0123456789abcdef',
      type: 'message',
      role: 'assistant',
      model: 'texth-4-argon',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    });
  });

  it('has an empty text block when reasoning used the whole budget, whole and streamed', () => {
    // contract 4.8.3:21
    const result = textResult({ parts: [reasoning], finish: { reason: 'length' } });
    const blocks = [
      { type: 'thinking', thinking: 'Hm', signature: '' },
      { type: 'text', text: '' },
    ];
    expect(client.renderResult(result, renderContext())).to.deep.include({
      content: blocks,
      stop_reason: 'max_tokens',
    });
    const starts = streamed(eventsOf(result)).data.filter(({ type }) => type === 'content_block_start');
    expect(starts.map(({ index, content_block: block }) => [index, objectOf(block)['type']])).to.deep.equal([
      [0, 'thinking'],
      [1, 'text'],
    ]);
  });

  it('has no empty text block next to tool calls', () => {
    expect(contentOf([look], 'tool-calls')).to.deep.equal([
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    ]);
  });

  it('has redacted reasoning unchanged, whole and streamed', () => {
    const redacted: AnswerPart = { type: 'reasoning', text: '', signature: 'cmVk', redacted: true };
    const block = { type: 'redacted_thinking', data: 'cmVk' };
    expect(contentOf([redacted])).to.deep.include(block);
    const { data } = streamed(eventsOf(textResult({ parts: [redacted] })));
    expect(data[1]).to.deep.equal({ type: 'content_block_start', index: 0, content_block: block });
    expect(data[2]).to.deep.equal({ type: 'content_block_stop', index: 0 });
  });

  it('has no arguments when the limit cut them off, and fails when a model invented broken ones', () => {
    const broken: AnswerPart = { ...look, arguments: '{"at":' };
    expect(contentOf([broken], 'length'))
      .to.have.nested.property('[0].input')
      .that.deep.equals({});
    for (const text of ['{"at":', '[1]', 'null']) {
      expect(() => contentOf([{ ...look, arguments: text }], 'tool-calls'))
        .to.throw(ServiceError)
        .with.property('code', 'processing_failed');
    }
  });

  it('names the stop sequence that matched, even if the upstream could not', () => {
    // contract 4.8.3:20
    const finish = { reason: 'stop-sequence', stopSequence: 'END' } as const;
    expect(client.renderResult(textResult({ finish }), renderContext())).to.include({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    });
    expect(client.hasStopSequence).to.equal(true);
  });

  it('counts cached tokens separately from the input, and reads them as part of the input', () => {
    // contract 4.8.3:20
    const usage = {
      ...UNREPORTED_USAGE,
      inputTotal: 100,
      cacheRead: 60,
      cacheWrite: 30,
      cacheWrite1h: 20,
      outputTotal: 9,
      reasoning: 4,
    };
    expect(client.renderResult({ ...textResult(), usage }, renderContext())['usage']).to.deep.equal({
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      cache_read_input_tokens: 60,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
    });
    const { whole } = roundTrip(chatCompletions, messages, [...eventsOf({ ...textResult(), usage })]);
    expect(whole).to.have.nested.property('usage.prompt_tokens', 100);
  });

  it('streams its events in the order of the format, each under its name', () => {
    // contract 4.8.3:22
    const parts = [{ ...reasoning, signature: 'c2ln' }, { type: 'text', text: 'I look.' }, look] as const;
    const { names, data } = streamed(eventsOf(textResult({ parts, finish: { reason: 'tool-calls' } })));
    const [start, delta, stop] = ['content_block_start', 'content_block_delta', 'content_block_stop'];
    const thinking = [start, delta, delta, stop];
    const block = [start, delta, stop];
    expect(names).to.deep.equal(['message_start', ...thinking, ...block, ...block, 'message_delta', 'message_stop']);
    expect(data.map(({ type }) => type)).to.deep.equal(names);
    expect(data.flatMap((event) => objectOf(event['delta'])['type'] ?? [])).to.deep.equal([
      'thinking_delta',
      'signature_delta',
      'text_delta',
      'input_json_delta',
    ]);
  });

  it('reports input that is known early at the start, and the whole usage at the end', () => {
    // contract 4.8.3:23
    const early = { ...UNREPORTED_USAGE, inputTotal: 50, cacheRead: 40, outputTotal: 5, reasoning: 5 };
    const late = { ...UNREPORTED_USAGE, outputTotal: 7 };
    const { data } = streamed([
      { type: 'response-start', id: null, model: null },
      { type: 'usage', usage: early },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'x' },
      { type: 'text-end', id: 't' },
      { type: 'usage', usage: late },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(data[0]).to.have.deep.nested.property('message.usage', {
      input_tokens: 10,
      cache_read_input_tokens: 40,
      output_tokens: 0,
    });
    expect(data.at(-2)?.['usage']).to.deep.equal({
      input_tokens: 10,
      cache_read_input_tokens: 40,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 5 },
    });
  });

  it('starts with an estimate of input that the upstream reports late, and corrects it at the end', () => {
    // contract 4.8.3:23
    const { data } = streamed([
      { type: 'response-start', id: null, model: null },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'x' },
      { type: 'text-end', id: 't' },
      { type: 'usage', usage: { ...UNREPORTED_USAGE, inputTotal: 9, outputTotal: 1 } },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(data[0]).to.have.deep.nested.property('message.usage', { input_tokens: 6, output_tokens: 0 });
    expect(data.at(-2)?.['usage']).to.deep.equal({ input_tokens: 9, output_tokens: 1 });
  });

  it('omits choices that cannot have been requested', () => {
    const { choices } = textResult();
    const several = { ...textResult(), choices: [...choices, ...choices] };
    expect([...streamed(eventsOf(several)).names]).to.deep.equal([...streamed(eventsOf(textResult())).names]);
  });

  it('keeps a silent stream open with a ping', () => {
    expect(client.keepAliveFrame).to.equal('event: ping\ndata: {"type":"ping"}\n\n');
  });

  it('reports an error after the first byte in a separate event', () => {
    // contract 7.1:8
    const frame = client.renderStreamError(new ServiceError('processing_failed', 'It broke.'), 'req_1', brokenStream());
    expect(frame).to.equal(
      'event: error\ndata: {"type":"error","error":{"type":"processing_failed","message":"It broke. (request id: req_1)"}}\n\n',
    );
  });
});
