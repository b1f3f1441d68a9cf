/** How the vendor's own SDK reads the gateway's bytes, and how the gateway reads the SDK's. */
import { expect } from 'chai';
import OpenAI, { APIError } from 'openai';
import { ServiceError } from '../../../domain/errors.ts';
import { responses } from '../../../text/responses/index.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { eventsOf } from '../answers.ts';
import { reasoning, SdkGateway, toolCall } from '../sdk-gateway.ts';
import { streamedTo, textResult } from '../support.ts';

const error = new ServiceError('processing_unavailable', 'The model is gone.');
const parameters = { type: 'object', properties: {}, additionalProperties: false };
const tools = [{ type: 'function' as const, name: 'look', parameters, strict: true }];
const asked = { model: 'textg-6-sol', input: 'What is there?', tools };

describe('responses with the openai package', () => {
  const gateway = new SdkGateway(responses);
  let client: OpenAI;

  beforeEach(() => {
    client = new OpenAI({ apiKey: 'sk-1', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });

  it('accumulates reasoning, text and parallel tool calls into the answer that does not stream', async () => {
    const parts = [
      reasoning,
      { type: 'text', text: 'I look.' } as const,
      toolCall('a', '{"at":[1]}'),
      toolCall('b', '{}'),
    ];
    gateway.answerWith({ parts, finish: { reason: 'tool-calls' } });
    const { output, output_text: text, ...streamed } = await client.responses.stream(asked).finalResponse();
    expect(output.map((item) => item.type)).to.deep.equal(['reasoning', 'message', 'function_call', 'function_call']);
    expect(output[2]).to.deep.include({ call_id: 'a', parsed_arguments: { at: [1] }, status: 'completed' });
    expect(text).to.equal('I look.');
    expect(streamed.usage).to.deep.include({ input_tokens: 30, output_tokens: 9, total_tokens: 39 });
    const whole = await client.responses.parse({ ...asked, stream: false });
    expect(whole.output).to.deep.equal(output);
    expect(whole.output_text).to.equal(text);
    expect(whole.usage).to.deep.equal(streamed.usage);
  });

  it('follows the text and the arguments as they grow', async () => {
    gateway.answerWith({
      parts: [{ type: 'text', text: 'I look.' }, toolCall('a', '{}')],
      finish: { reason: 'tool-calls' },
    });
    const snapshots: string[] = [];
    const stream = client.responses
      .stream(asked)
      .on('response.output_text.delta', ({ snapshot }) => void snapshots.push(snapshot))
      .on('response.function_call_arguments.delta', ({ snapshot }) => void snapshots.push(snapshot));
    await stream.done();
    expect(snapshots).to.deep.equal(['I look.', '{}']);
  });

  it('sends an answer and the results of its calls back in a form that the parser reads', async () => {
    const parts = [reasoning, toolCall('a', '{"at":1}'), toolCall('b', '{}')];
    gateway.answerWith({ parts, finish: { reason: 'tool-calls' } });
    const first = await client.responses.create(asked);
    const results = ['b', 'a'].map((id) => ({ type: 'function_call_output' as const, call_id: id, output: 'A tree.' }));
    gateway.answerWith({ parts: [{ type: 'text', text: 'A tree.' }] });
    const input = [{ role: 'user' as const, content: asked.input }, ...first.output, ...results];
    // The content of an answer is valid input as well, though not by the types of every tool.
    const reply = await client.responses.create({ ...asked, input: input as OpenAI.Responses.ResponseInput });
    expect(reply.output_text).to.equal('A tree.');
    expect(gateway.requests[1]?.turns.map((turn) => turn.role)).to.deep.equal(['user', 'assistant', 'tool']);
    expect(gateway.requests[1]?.turns[1]?.parts).to.deep.equal(parts);
  });

  it('throws the error in the middle of a stream, after the text before it and a comment', async () => {
    const [head = ''] = streamedTo(responses, [...eventsOf(textResult())]).split('event: response.output_text.done');
    const ping = responses.client.keepAliveFrame ?? '';
    gateway.answer(`${ping}${head}${ping}${responses.client.renderStreamError(error, 'req_1', 5) ?? ''}`);
    let text = '';
    const stream = client.responses.stream(asked).on('response.output_text.delta', ({ delta }) => void (text += delta));
    const thrown = await rejectionOf(stream.finalResponse());
    expect(text).to.equal('Hi');
    expect(thrown).to.be.instanceOf(APIError);
    expect(thrown).to.include({ code: 'processing_unavailable', type: 'svc_error' });
    expect(thrown.message).to.contain('The model is gone. (request id: req_1)');
  });
});
