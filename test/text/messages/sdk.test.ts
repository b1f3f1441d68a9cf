/** How the vendor's own SDK reads the gateway's bytes, and how the gateway reads the SDK's. */
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import { messages } from '../../../text/messages/index.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { eventsOf } from '../answers.ts';
import { reasoning, SdkGateway, toolCall } from '../sdk-gateway.ts';
import { streamedTo, textResult } from '../support.ts';

const error = new ServiceError('processing_unavailable', 'The model is gone.');
const tools = [{ name: 'look', input_schema: { type: 'object' as const } }];
const question = { role: 'user' as const, content: 'What is there?' };
const asked = { model: 'texti-k3', max_tokens: 100, messages: [question], tools };

describe('messages with the @anthropic-ai/sdk package', () => {
  const gateway = new SdkGateway(messages);
  let client: Anthropic;

  beforeEach(() => {
    client = new Anthropic({ apiKey: 'sk-1', baseURL: gateway.url, maxRetries: 0 });
  });

  it('accumulates reasoning, text and parallel tool calls into the message that does not stream', async () => {
    const parts = [
      reasoning,
      { type: 'text', text: 'I look.' } as const,
      toolCall('a', '{"at":[1]}'),
      toolCall('b', '{}'),
    ];
    gateway.answerWith({ parts, finish: { reason: 'tool-calls' } });
    const streamed = await client.messages.stream(asked).finalMessage();
    expect(streamed.content).to.deep.equal([
      { type: 'thinking', thinking: 'Look twice.', signature: 'c2ln' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'look', input: { at: [1] } },
      { type: 'tool_use', id: 'b', name: 'look', input: {} },
    ]);
    expect(streamed).to.include({ stop_reason: 'tool_use', stop_sequence: null, role: 'assistant' });
    expect(streamed.usage).to.deep.include({ input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 9 });
    const whole = await client.messages.create(asked);
    expect(whole.content).to.deep.equal(streamed.content);
    expect(whole.usage).to.deep.equal(streamed.usage);
  });

  it('sends an answer and the results of its calls back in a form that the parser reads', async () => {
    const parts = [reasoning, toolCall('a', '{"at":1}'), toolCall('b', '{}')];
    gateway.answerWith({ parts, finish: { reason: 'tool-calls' } });
    const { content } = await client.messages.stream(asked).finalMessage();
    const results = ['b', 'a'].map((id) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'A tree.' }));
    gateway.answerWith({ parts: [{ type: 'text', text: 'A tree.' }] });
    const reply = client.messages.stream({
      ...asked,
      messages: [question, { role: 'assistant', content }, { role: 'user', content: results }],
    });
    expect(await reply.finalText()).to.equal('A tree.');
    expect(gateway.requests[1]?.turns.map((turn) => turn.role)).to.deep.equal(['user', 'assistant', 'tool']);
    expect(gateway.requests[1]?.turns[1]?.parts).to.deep.equal(parts);
  });

  it('throws the error in the middle of a stream, after the text before it and a ping', async () => {
    const [head = ''] = streamedTo(messages, [...eventsOf(textResult())]).split('event: content_block_stop');
    const ping = messages.client.keepAliveFrame ?? '';
    gateway.answer(`${ping}${head}${ping}${messages.client.renderStreamError(error, 'req_1') ?? ''}`);
    let text = '';
    const stream = client.messages.stream(asked).on('text', (delta) => void (text += delta));
    const thrown = await rejectionOf(stream.finalMessage());
    expect(text).to.equal('Hi');
    expect(thrown).to.be.instanceOf(APIError);
    expect(thrown.message).to.contain('The model is gone. (request id: req_1)');
  });
});
