/** What the vendor's own SDK makes of the gateway's bytes, and the gateway of what the SDK sends. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import OpenAI, { APIError } from 'openai';
import { ServiceError } from '../../../domain/errors.ts';
import type { AnswerPart, Choice, TextRequest } from '../../../text/canonical.ts';
import { responses } from '../../../text/responses/index.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { eventsOf } from '../answers.ts';
import { renderContext, streamedTo, textResult } from '../support.ts';

const error = new ServiceError('processing_unavailable', 'The model is gone.');
const usage = { inputTotal: 30, cacheRead: 20, cacheWrite: null, outputTotal: 9, reasoning: 4 };
const parameters = { type: 'object', properties: {}, additionalProperties: false };
const tools = [{ type: 'function' as const, name: 'look', parameters, strict: true }];
const asked = { model: 'textg-6-sol', input: 'What is there?', tools };

const reasoning: AnswerPart = { type: 'reasoning', text: 'Look twice.', signature: 'c2ln' };
const call = (callId: string, text: string): AnswerPart => ({
  type: 'tool-call',
  callId,
  name: 'look',
  arguments: text,
});

describe('responses with the openai package', () => {
  let server: Server;
  let client: OpenAI;
  let received: TextRequest[];
  let answer: (request: TextRequest) => string;

  beforeEach(async () => {
    received = [];
    server = createServer((request, response) => void serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A socket that listens on TCP has an address object.
    const { port } = server.address() as AddressInfo;
    client = new OpenAI({ apiKey: 'sk-1', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const bytes of request) body += String(bytes);
    const parsed = responses.client.parseRequest(JSON.parse(body), {});
    received.push(parsed);
    response.setHeader('content-type', parsed.stream ? 'text/event-stream' : 'application/json');
    response.end(answer(parsed));
  }

  function answerWith(choice: Partial<Choice>): void {
    const result = { ...textResult(choice), usage };
    answer = (request) => {
      const context = renderContext(request);
      if (request.stream) return streamedTo(responses, [...eventsOf(result)], context);
      return JSON.stringify(responses.client.renderResult(result, context));
    };
  }

  it('accumulates reasoning, text and parallel tool calls into the answer that does not stream', async () => {
    const parts = [reasoning, { type: 'text', text: 'I look.' } as const, call('a', '{"at":[1]}'), call('b', '{}')];
    answerWith({ parts, finish: { reason: 'tool-calls' } });
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
    answerWith({ parts: [{ type: 'text', text: 'I look.' }, call('a', '{}')], finish: { reason: 'tool-calls' } });
    const snapshots: string[] = [];
    const stream = client.responses
      .stream(asked)
      .on('response.output_text.delta', ({ snapshot }) => void snapshots.push(snapshot))
      .on('response.function_call_arguments.delta', ({ snapshot }) => void snapshots.push(snapshot));
    await stream.done();
    expect(snapshots).to.deep.equal(['I look.', '{}']);
  });

  it('sends an answer and the results of its calls back in a form that the parser reads', async () => {
    const parts = [reasoning, call('a', '{"at":1}'), call('b', '{}')];
    answerWith({ parts, finish: { reason: 'tool-calls' } });
    const first = await client.responses.create(asked);
    const results = ['b', 'a'].map((id) => ({ type: 'function_call_output' as const, call_id: id, output: 'A tree.' }));
    answerWith({ parts: [{ type: 'text', text: 'A tree.' }] });
    const input = [{ role: 'user' as const, content: asked.input }, ...first.output, ...results];
    // What an answer holds is an input as well, though not by the types of every tool there is.
    const reply = await client.responses.create({ ...asked, input: input as OpenAI.Responses.ResponseInput });
    expect(reply.output_text).to.equal('A tree.');
    expect(received[1]?.turns.map((turn) => turn.role)).to.deep.equal(['user', 'assistant', 'tool']);
    expect(received[1]?.turns[1]?.parts).to.deep.equal(parts);
  });

  it('finds an empty text and the reason when the limit ate everything', async () => {
    answerWith({ parts: [reasoning], finish: { reason: 'length' } });
    const response = await client.responses.stream(asked).finalResponse();
    expect(response).to.include({ status: 'incomplete', output_text: '' });
    expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' });
  });

  it('throws the error that comes in the middle of a stream, after the text before it and a comment', async () => {
    const [head = ''] = streamedTo(responses, [...eventsOf(textResult())]).split('event: response.output_text.done');
    const ping = responses.client.keepAliveFrame ?? '';
    answer = () => `${ping}${head}${ping}${responses.client.renderStreamError(error, 'req_1', 5) ?? ''}`;
    let text = '';
    const stream = client.responses.stream(asked).on('response.output_text.delta', ({ delta }) => void (text += delta));
    const thrown = await rejectionOf(stream.finalResponse());
    expect(text).to.equal('Hi');
    expect(thrown).to.be.instanceOf(APIError);
    expect(thrown).to.include({ code: 'processing_unavailable', type: 'svc_error' });
    expect(thrown.message).to.contain('The model is gone. (request id: req_1)');
  });
});
