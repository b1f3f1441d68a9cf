import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { type AnswerPart, type StreamEvent, UNREPORTED_USAGE } from '../../../text/canonical.ts';
import { eventsOf, RESPONSES_SEQUENCE } from '../answers.ts';
import { responses } from '../../../text/responses/index.ts';
import { brokenStream, eventsOfText, renderContext, streamedTo, textResult } from '../support.ts';

const { client } = responses;

const reasoning: AnswerPart = { type: 'reasoning', text: 'Hm.', signature: 'c2ln' };
const call: AnswerPart = { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{"at":1}' };

function streamed(events: Iterable<StreamEvent>): JsonObject[] {
  return eventsOfText(streamedTo(responses, [...events])).map(({ data }) => JSON.parse(data));
}

function typesOf(events: readonly JsonObject[]): unknown[] {
  return events.map((event) => event['type']);
}

describe('responses answer', () => {
  it('streams the whole sequence: each item and each of its parts is announced, filled and completed', () => {
    // contract 4.8.2:27 4.8.2:28 4.8.2:29
    const events = streamed(eventsOf(textResult({ parts: [reasoning, { type: 'text', text: 'Yes.' }, call] })));
    expect(typesOf(events)).to.deep.equal(RESPONSES_SEQUENCE);
    expect(events.map((event) => event['sequence_number'])).to.deep.equal([...events.keys()]);
  });

  it('announces messages without content and reasoning without a summary', () => {
    const events = streamed(eventsOf(textResult({ parts: [reasoning, { type: 'text', text: 'Yes.' }] })));
    const announced = events.filter((event) => event['type'] === 'response.output_item.added');
    expect(announced[0]).to.deep.nested.include({ 'item.summary': [], output_index: 0 });
    expect(announced[1]).to.deep.nested.include({ 'item.content': [], output_index: 1 });
  });

  it('keeps the id of an item the same in every event and in the whole answer', () => {
    const result = textResult({ parts: [reasoning, { type: 'text', text: 'Yes.' }, call] });
    const text = streamedTo(responses, [...eventsOf(result)]);
    const ids = ['rs_0123456789abcdef_0', 'msg_0123456789abcdef_1', 'fc_0123456789abcdef_2'];
    expect(new Set(text.match(/(rs|msg|fc)_[^"]*/g))).to.deep.equal(new Set(ids));
    expect(JSON.stringify(client.renderResult(result, renderContext())).match(/(rs|msg|fc)_[^"]*/g)).to.deep.equal(ids);
  });

  it('returns reasoning with the data that its model needs back, without a summary if there is no other', () => {
    const hidden: AnswerPart = { type: 'reasoning', text: '', signature: 'c2ln', redacted: true };
    const body = client.renderResult(textResult({ parts: [reasoning, hidden, call] }), renderContext());
    expect(body).to.deep.nested.include({
      'output[0].summary': [{ type: 'summary_text', text: 'Hm.' }],
      'output[0].encrypted_content': 'c2ln',
      'output[1].summary': [],
      'output[1].encrypted_content': 'c2ln',
    });
  });

  it('repeats instructions and metadata as sent, and has every field of the format', () => {
    // contract 4.8.2:13 4.8.2:26
    const echo = { instructions: 'Be kind.', metadata: { ticket: '7' } };
    const body = client.renderResult(textResult(), renderContext({ echo }));
    expect(body).to.deep.include({
      ...echo,
      completed_at: 1_790_000_009,
      frequency_penalty: 0,
      max_tool_calls: null,
      presence_penalty: 0,
      prompt_cache_key: null,
      safety_identifier: null,
      service_tier: 'default',
      top_logprobs: 0,
    });
    expect(client.renderResult(textResult(), renderContext())).to.deep.include({ instructions: null, metadata: {} });
    const [created] = streamed(eventsOf(textResult()));
    expect(created).to.have.nested.property('response.completed_at', null);
  });

  it('is marked incomplete with the reason, on the response and on the item that was cut', () => {
    // contract 4.8.2:26
    const parts = [reasoning, { ...call, arguments: '{"at"' }];
    const result = textResult({ parts, finish: { reason: 'length' } });
    const body = client.renderResult(result, renderContext());
    expect(body).to.deep.include({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(body).to.have.nested.property('output[1].status', 'incomplete');
    const events = streamed(eventsOf(result));
    expect(typesOf(events).slice(-2)).to.deep.equal(['response.output_item.done', 'response.incomplete']);
    expect(events.at(-2)).to.have.nested.property('item.status', 'incomplete');
  });

  it('has an empty message when reasoning used the whole budget or the answer is empty', () => {
    for (const parts of [[reasoning], []]) {
      const result = textResult({ parts, finish: { reason: 'length' } });
      const body = client.renderResult(result, renderContext());
      expect(body).to.have.nested.property(`output[${parts.length}].content[0].text`, '');
      expect(body).to.have.nested.property(`output[${parts.length}].status`, 'incomplete');
      expect(typesOf(streamed(eventsOf(result))).slice(-6)).to.deep.equal([
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.incomplete',
      ]);
    }
  });

  it('has no message next to tool calls without text', () => {
    expect(client.renderResult(textResult({ parts: [call] }), renderContext()))
      .to.have.property('output')
      .of.length(1);
  });

  it('reports the whole usage, with 0 for unreported counts, and only at the end', () => {
    const usage = { ...UNREPORTED_USAGE, inputTotal: 30, cacheRead: 20, outputTotal: 9, reasoning: 4 };
    expect(client.renderResult({ ...textResult(), usage }, renderContext())['usage']).to.deep.equal({
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 20, cache_write_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 39,
    });
    expect(streamed(eventsOf({ ...textResult(), usage }))[0]).to.have.nested.property('response.usage', null);
  });

  it('repeats the requested settings', () => {
    const context = renderContext({
      model: 'textg-6-sol',
      tools: [{ name: 'look' }],
      toolChoice: { type: 'tool', name: 'look' },
      parallelToolCalls: false,
      sampling: { maxOutputTokens: 50, temperature: 0.5 },
      reasoningEffort: 'high',
      outputFormat: { type: 'json-object' },
    });
    expect(client.renderResult(textResult(), context)).to.deep.include({
      id: 'resp_0123456789abcdef',
      object: 'response',
      status: 'completed',
      model: 'textg-6-sol',
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: null,
      reasoning: { effort: 'high', summary: null },
      text: { format: { type: 'json_object' } },
      store: false,
    });
  });

  it('reports an error after the first byte in a separate event, flat and nested, with the next number', () => {
    // contract 7.1:8
    const error = new ServiceError('processing_failed', 'It broke.');
    const [event] = eventsOfText(client.renderStreamError(error, 'req_1', brokenStream()) ?? '');
    expect(event?.event).to.equal('error');
    const message = 'It broke. (request id: req_1)';
    expect(JSON.parse(event?.data ?? '')).to.deep.equal({
      type: 'error',
      sequence_number: 7,
      code: 'processing_failed',
      message,
      param: null,
      error: { message, type: 'svc_error', code: 'processing_failed' },
    });
  });

  it('of a model with full compatibility fail as a whole response, which names the error', () => {
    // contract 7.1:9
    const error = new ServiceError('processing_failed', 'It broke.');
    const [event] = eventsOfText(client.renderStreamError(error, 'req_1', brokenStream('full')) ?? '');
    expect(event?.event).to.equal('response.failed');
    const failed: unknown = JSON.parse(event?.data ?? '');
    expect(failed).to.include({ type: 'response.failed', sequence_number: 7 });
    expect(failed)
      .to.have.property('response')
      .that.deep.includes({
        id: 'resp_0123456789abcdef',
        object: 'response',
        status: 'failed',
        output: [],
        usage: null,
        error: { code: 'processing_failed', message: 'It broke. (request id: req_1)' },
      });
  });
});
