import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { type AnswerPart, type FinishReason, type StreamEvent, UNREPORTED_USAGE } from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { DONE } from '../../../text/sse.ts';
import { eventsOf } from '../answers.ts';
import { brokenStream, eventsOfText, renderContext, roundTrip, streamedTo, textResult } from '../support.ts';

const { client } = generateContent;

function candidateOf(parts: readonly AnswerPart[], reason: FinishReason): unknown {
  const { candidates } = client.renderResult(textResult({ parts, finish: { reason } }), renderContext());
  return candidates;
}

function chunksOf(events: readonly StreamEvent[]): unknown[] {
  return eventsOfText(streamedTo(generateContent, events)).map((event) => JSON.parse(event.data));
}

function call(callId: string, rest: JsonObject = {}): AnswerPart {
  return { type: 'tool-call', callId, name: 'look', arguments: '{"place":"here"}', ...rest };
}

describe('native answer', () => {
  it('escapes characters other than line feeds that a client may mistake for the end of a line', () => {
    const text = 'a\u0085b\u2028c\u2029d\r\ne';
    const args = JSON.stringify({ [text]: text });
    const parts: AnswerPart[] = [{ type: 'text', text }, call('a', { arguments: args })];
    const events = [...eventsOf(textResult({ parts, finish: { reason: 'tool-calls' } }))];
    expect(streamedTo(generateContent, events)).to.not.match(/[\u0085\u2028\u2029\r]/);
    expect(chunksOf(events)[0]).to.have.nested.property('candidates[0].content.parts[0].text', text);
    expect(chunksOf(events)[1]).to.have.deep.nested.property(
      'candidates[0].content.parts[0].functionCall.args',
      JSON.parse(args),
    );
  });

  it('has the fields of the format; reasoning is counted separately and not shown', () => {
    // contract 4.8.4:12 4.8.4:13
    const parts: AnswerPart[] = [
      { type: 'reasoning', text: 'Hm' },
      { type: 'text', text: 'Hi' },
    ];
    const usage = { ...UNREPORTED_USAGE, inputTotal: 10, cacheRead: 4, outputTotal: 8, reasoning: 5 };
    expect(client.renderResult({ ...textResult({ parts }), usage }, renderContext())).to.deep.equal({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: {
        promptTokenCount: 10,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 5,
        totalTokenCount: 18,
      },
      modelVersion: 'texth-4-argon',
      responseId: '0123456789abcdef',
    });
  });

  it('has an empty text when thinking used the whole budget', () => {
    expect(candidateOf([{ type: 'reasoning', text: 'Hm' }], 'length')).to.deep.equal([
      { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'MAX_TOKENS', index: 0 },
    ]);
  });

  it('ends with one of two reasons', () => {
    // contract 4.8.4:14
    const reasons: readonly FinishReason[] = ['stop', 'stop-sequence', 'length', 'tool-calls'];
    const finishes = reasons.map((reason) => candidateOf([], reason));
    const expected = ['STOP', 'STOP', 'MAX_TOKENS', 'STOP'];
    for (const [index, reason] of expected.entries()) {
      expect(finishes[index]).to.have.nested.property('[0].finishReason', reason);
    }
  });

  it('has the thought signature of a call in its own field', () => {
    const functionCall = { id: 'call_a', name: 'look', args: { place: 'here' } };
    const part = call('call_a', { signature: 'c2ln' });
    expect(candidateOf([part], 'tool-calls')).to.have.deep.nested.property('[0].content.parts', [
      { functionCall, thoughtSignature: 'c2ln' },
    ]);
  });

  it('omits a call that the token limit cut, and fails on any other broken one', () => {
    const broken = textResult({ parts: [call('a', { arguments: '{"pla' })], finish: { reason: 'length' } });
    expect(client.renderResult(broken, renderContext())).to.have.deep.nested.property('candidates[0].content.parts', [
      { text: '' },
    ]);
    expect(chunksOf([...eventsOf(broken)])).to.have.length(1);
    const finished = textResult({ parts: [call('a', { arguments: '[]' })], finish: { reason: 'tool-calls' } });
    expect(() => client.renderResult(finished, renderContext())).to.throw(ServiceError, 'cannot be read');
    expect(() => chunksOf([...eventsOf(finished)])).to.throw(ServiceError, 'cannot be read');
  });

  it('streams events without names or an end mark, the last with the reason and the usage', () => {
    // contract 4.8.4:16
    const result = textResult({
      parts: [{ type: 'text', text: 'Hi\u2028"' }, call('a')],
      finish: { reason: 'tool-calls' },
    });
    const text = streamedTo(generateContent, [...eventsOf(result)]);
    expect(text)
      .to.match(/^(data: \{[^\n]*\}\n\n)+$/)
      .and.not.contain(DONE);
    const chunks = chunksOf([...eventsOf(result)]);
    expect(chunks).to.have.length(3);
    expect(chunks[0]).to.deep.equal({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi\u2028"' }] }, index: 0 }],
      modelVersion: 'texth-4-argon',
      responseId: '0123456789abcdef',
    });
    expect(chunks[1]).to.not.have.nested.property('candidates[0].finishReason');
    expect(chunks[2]).to.deep.equal({
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
      modelVersion: 'texth-4-argon',
      responseId: '0123456789abcdef',
    });
  });

  it('has errors with the request id, and in the middle of a stream with the number that SDKs look for', () => {
    // contract 7.1:8
    const error = new ServiceError('bad_request', '"contents" is required');
    expect(client.renderError(error, 'req_1')).to.deep.equal({
      error: { message: '"contents" is required (request id: req_1)', type: 'svc_error', code: 'bad_request' },
    });
    const [event] = eventsOfText(client.renderStreamError(error, 'req_1', brokenStream()) ?? '');
    expect(JSON.parse(event?.data ?? '')).to.deep.equal({
      error: { code: 400, message: '"contents" is required (request id: req_1)', status: 'bad_request' },
    });
    expect(client.keepAliveFrame).to.equal(null);
  });

  describe('converted', () => {
    const events = [
      ...eventsOf(textResult({ parts: [{ type: 'text', text: 'Hi' }, call('a')], finish: { reason: 'tool-calls' } })),
    ];

    it('from chat completions keeps text and calls', () => {
      const { whole, streamed } = roundTrip(generateContent, chatCompletions, events);
      const parts = [{ text: 'Hi' }, { functionCall: { id: 'a', name: 'look', args: { place: 'here' } } }];
      expect(whole).to.have.deep.nested.property('candidates[0].content.parts', parts);
      expect(eventsOfText(streamed).map(({ data }) => JSON.parse(data))).to.have.length(3);
    });

    it('to chat completions reports tool calls although the upstream reports STOP', () => {
      const { whole, streamed } = roundTrip(chatCompletions, generateContent, events);
      expect(whole).to.have.nested.property('choices[0].finish_reason', 'tool_calls');
      expect(whole).to.have.nested.property('choices[0].message.tool_calls[0].id', 'a');
      expect(streamed).to.contain('"finish_reason":"tool_calls"');
    });
  });
});
