import { GoogleGenAI, type GenerateContentResponse, type Part } from '@google/genai';
import { expect } from 'chai';
import type { AnswerPart, ToolResultPart } from '../../../text/canonical.ts';
import { eventsOf } from '../answers.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { SdkGateway, toolCall } from '../sdk-gateway.ts';
import { streamedTo, textResult } from '../support.ts';

const model = 'texth-4-argon';

const ADDRESS = /^\/v1beta\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/;

const thought: AnswerPart = { type: 'reasoning', text: 'Hm' };
const calls: AnswerPart[] = [toolCall('call_a-signature-c2ln', '{"place":"Ås"}'), toolCall('call_b', '{}', 'wait')];

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
  const gateway = new SdkGateway(generateContent, (url) => {
    const [, name = '', method] = ADDRESS.exec(url) ?? [];
    return { address: { model: name, stream: method !== 'generateContent' } };
  });
  let sdk: GoogleGenAI;

  beforeEach(() => {
    sdk = new GoogleGenAI({ apiKey: 'sk-key', httpOptions: { baseUrl: gateway.url } });
  });

  it('streams text, the reason and the usage, without the thinking', async () => {
    // contract 4.8.4:13
    gateway.answerWith({ parts: [thought, { type: 'text', text: 'Grüße, 你好' }] });
    const chunks = await all(await sdk.models.generateContentStream({ model, contents: 'Hi' }));
    expect(chunks.map((chunk) => chunk.text).join('')).to.equal('Grüße, 你好');
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).to.equal('STOP');
    expect(chunks.at(-1)?.usageMetadata).to.deep.equal({
      promptTokenCount: 30,
      cachedContentTokenCount: 20,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 4,
      totalTokenCount: 39,
    });
    expect(gateway.headers.map((headers) => headers['x-goog-api-key'])).to.deep.equal(['sk-key']);
  });

  it('streams tool calls whole, with their signature', async () => {
    gateway.answerWith({ parts: [thought, ...calls], finish: { reason: 'tool-calls' } });
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
    gateway.answerWith({ parts: [{ type: 'text', text: 'I look.' }, ...calls], finish: { reason: 'tool-calls' } });
    await all(await chat.sendMessageStream({ message: 'Where?' }));
    gateway.answerWith({ parts: [{ type: 'text', text: 'Here.' }] });
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

  it('reads a schema that the SDK wrote in the dialect of the format', async () => {
    gateway.answerWith({ parts: [{ type: 'text', text: 'Yes' }] });
    const parameters = { type: 'object', properties: { place: { type: 'string', nullable: true } } };
    const config = { tools: [{ functionDeclarations: [{ name: 'look', parameters }] }] };
    // The SDK's own type requires its enumeration of types, which the SDK derives from these words.
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
    const result = textResult({ parts: [{ type: 'text', text: 'First' }] });
    const [first] = streamedTo(generateContent, [...eventsOf(result)]).split(/(?<=\n\n)/);
    gateway.respond((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first, () => response.destroy());
    });
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
});
