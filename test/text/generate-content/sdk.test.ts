import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, GoogleGenAI, type GenerateContentResponse, type Part } from '@google/genai';
import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import type { AnswerPart, TextRequest, TextResult, ToolResultPart } from '../../../text/canonical.ts';
import { eventsOf } from '../answers.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { renderContext, streamedTo, textResult } from '../support.ts';

const { client } = generateContent;
const model = 'texth-4-argon';

type Answer = (response: ServerResponse) => void;

/** A server that gives the rendered answers one after the other, and keeps the requests that it parsed. */
class Gateway {
  readonly requests: TextRequest[] = [];
  readonly keys: unknown[] = [];
  readonly #answers: Answer[] = [];
  readonly #server = createServer((request, response) => void this.#handle(request, response));

  async listen(): Promise<GoogleGenAI> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return new GoogleGenAI({ apiKey: 'sk-key', httpOptions: { baseUrl: `http://127.0.0.1:${port}` } });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  willStream(result: TextResult): void {
    this.#answers.push((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(streamedTo(generateContent, [...eventsOf(result)]));
    });
  }

  willAnswer(status: number, body: unknown): void {
    this.#answers.push((response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  }

  /** The connection breaks after the first event. */
  willBreak(result: TextResult): void {
    this.#answers.push((response) => {
      const [first] = streamedTo(generateContent, [...eventsOf(result)]).split(/(?<=\n\n)/);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first, () => response.destroy());
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const address = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(
      request.url ?? '',
    );
    const stream = address?.[2] !== 'generateContent';
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    this.requests.push(client.parseRequest(body, { address: { model: address?.[1] ?? '', stream } }));
    this.keys.push(request.headers['x-goog-api-key']);
    this.#answers.shift()?.(response);
  }
}

const usage = { inputTotal: 10, cacheRead: null, cacheWrite: null, outputTotal: 8, reasoning: 5 };
const thought: AnswerPart = { type: 'reasoning', text: 'Hm' };
const calls: AnswerPart[] = [
  { type: 'tool-call', callId: 'call_a-signature-c2ln', name: 'look', arguments: '{"place":"Ås"}' },
  { type: 'tool-call', callId: 'call_b', name: 'wait', arguments: '{}' },
];

function answer(parts: readonly AnswerPart[], reason: 'stop' | 'tool-calls' | 'length' = 'stop'): TextResult {
  return { ...textResult({ parts, finish: { reason } }), usage };
}

async function all(stream: AsyncIterable<GenerateContentResponse>): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

function partsOf(chunks: readonly GenerateContentResponse[]): Part[] {
  return chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
}

/** The result of a tool that answers with its name. */
function toolResult(callId: string, name: string): ToolResultPart {
  return { type: 'tool-result', callId, name, content: [{ type: 'text', text: name }] };
}

describe('native format with the SDK of its vendor', () => {
  let gateway: Gateway;
  let sdk: GoogleGenAI;

  beforeEach(async () => {
    gateway = new Gateway();
    sdk = await gateway.listen();
  });

  afterEach(() => gateway.close());

  it('streams text, the reason and the usage, without the thinking', async () => {
    gateway.willStream(answer([thought, { type: 'text', text: 'Grüße, 你好' }]));
    const chunks = await all(await sdk.models.generateContentStream({ model, contents: 'Hi' }));
    expect(chunks.map((chunk) => chunk.text).join('')).to.equal('Grüße, 你好');
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).to.equal('STOP');
    expect(chunks.at(-1)?.usageMetadata).to.deep.equal({
      promptTokenCount: 10,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 5,
      totalTokenCount: 18,
    });
    expect(gateway.keys).to.deep.equal(['sk-key']);
  });

  it('streams tool calls whole, with their signature', async () => {
    gateway.willStream(answer([thought, ...calls], 'tool-calls'));
    const chunks = await all(await sdk.models.generateContentStream({ model, contents: 'Hi' }));
    expect(chunks.flatMap((chunk) => chunk.functionCalls ?? [])).to.deep.equal([
      { id: 'call_a', name: 'look', args: { place: 'Ås' } },
      { id: 'call_b', name: 'wait', args: {} },
    ]);
    expect(partsOf(chunks)[0]?.thoughtSignature).to.equal('c2ln');
  });

  it('keeps an answer with tool calls in the history of a chat, and sends it back', async () => {
    const declaration = { name: 'look', parametersJsonSchema: { type: 'object', additionalProperties: false } };
    const config = {
      tools: [{ functionDeclarations: [declaration] }],
      systemInstruction: 'Be kind.',
      maxOutputTokens: 99,
    };
    const chat = sdk.chats.create({ model, config });
    gateway.willStream(answer([{ type: 'text', text: 'I look.' }, ...calls], 'tool-calls'));
    await all(await chat.sendMessageStream({ message: 'Where?' }));
    gateway.willStream(answer([{ type: 'text', text: 'Here.' }]));
    const responses = ['look', 'wait'].map((name) => ({ functionResponse: { name, response: { output: name } } }));
    await all(await chat.sendMessageStream({ message: responses }));

    const [first, second] = gateway.requests;
    expect(first?.tools).to.deep.equal([{ name: 'look', parameters: declaration.parametersJsonSchema }]);
    expect(first?.sampling).to.deep.equal({ maxOutputTokens: 99 });
    expect(second?.turns).to.deep.equal([
      { role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Where?' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'call_a', name: 'look', arguments: '{"place":"Ås"}', signature: 'c2ln' },
          { type: 'tool-call', callId: 'call_b', name: 'wait', arguments: '{}' },
        ],
      },
      { role: 'tool', parts: [toolResult('call_a', 'look'), toolResult('call_b', 'wait')] },
    ]);
    expect(chat.getHistory(true)).to.have.length.greaterThan(4);
  });

  it('understands an answer whose budget was spent on thinking, streamed or whole', async () => {
    const spent = answer([thought], 'length');
    gateway.willStream(spent);
    const [chunk] = await all(await sdk.models.generateContentStream({ model, contents: 'Hi' }));
    gateway.willAnswer(200, client.renderResult(spent, renderContext()));
    const whole = await sdk.models.generateContent({ model, contents: 'Hi' });
    for (const response of [chunk, whole]) {
      expect(response?.text).to.equal('');
      expect(response?.candidates?.[0]?.finishReason).to.equal('MAX_TOKENS');
    }
  });

  it('understands a schema that the SDK wrote in the dialect of the format', async () => {
    gateway.willAnswer(200, client.renderResult(answer([{ type: 'text', text: 'Yes' }]), renderContext()));
    const parameters = { type: 'object', properties: { place: { type: 'string', nullable: true } } };
    const config = { tools: [{ functionDeclarations: [{ name: 'look', parameters }] }] };
    // The SDK's own type wants its enumeration of types, which it makes of these words itself.
    const { text } = await sdk.models.generateContent({
      model,
      contents: 'Hi',
      config: JSON.parse(JSON.stringify(config)),
    });
    expect(text).to.equal('Yes');
    expect(gateway.requests[0]?.tools[0]?.parameters).to.deep.equal({
      type: 'object',
      properties: { place: { type: ['string', 'null'] } },
    });
  });

  it('throws when the connection breaks in the middle of a stream', async () => {
    gateway.willBreak(answer([{ type: 'text', text: 'First' }]));
    const stream = await sdk.models.generateContentStream({ model, contents: 'Hi' });
    const texts: (string | undefined)[] = [];
    let failure: unknown = null;
    try {
      for await (const chunk of stream) texts.push(chunk.text);
    } catch (error) {
      failure = error;
    }
    expect(texts).to.deep.equal(['First']);
    expect(failure).to.be.instanceOf(Error);
  });

  it('throws an error before the answer with its status and message', async () => {
    const error = new ServiceError('content_policy_violation', 'The prompt was refused.');
    gateway.willAnswer(error.status, client.renderError(error, 'req_1'));
    let failure: unknown = null;
    try {
      await sdk.models.generateContentStream({ model, contents: 'Hi' });
    } catch (thrown) {
      failure = thrown;
    }
    expect(failure).to.be.instanceOf(ApiError);
    expect(failure).to.have.property('status', 400);
    expect(failure).to.have.property('message').that.contains('The prompt was refused. (request id: req_1)');
  });
});
