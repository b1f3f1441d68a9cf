/** The vendors' own SDKs, unmodified, behind one interface. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, type Content, type GenerateContentResponse, type Part } from '@google/genai';
import OpenAI from 'openai';
import type { WireFormatName } from '../../../domain/wire-format-name.ts';

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Conversation {
  /** The calls that the model made. */
  readonly calls: readonly Call[];
  /** The text with which it answered their results. */
  readonly answer: string;
}

export interface SdkDriver {
  readonly name: string;
  readonly format: WireFormatName;
  ask(model: string, prompt: string, options?: { stream?: boolean; signal?: AbortSignal }): Promise<string>;
  /** Offers the tools, and answers each call with the result of `work`: the last call first, where calls have ids. */
  useTools(model: string, prompt: string, stream: boolean, work: (call: Call) => string): Promise<Conversation>;
  /** Sends a sentence with an image, base64 of a PNG. */
  showImage(model: string, prompt: string, image: string): Promise<string>;
  /** Reads a stream and leaves after the first piece of text. */
  leave(model: string, prompt: string): Promise<void>;
}

const parameters = { type: 'object' as const, properties: { place: { type: 'string' } }, required: ['place'] };
const TOOL_NAMES = ['look', 'wait'];
const MAX_TOKENS = 1_000;

export function createDrivers(baseUrl: string, apiKey: string): readonly SdkDriver[] {
  const openai = new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0 });
  const anthropic = new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0 });
  const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
  return [chatDriver(openai), responsesDriver(openai), messagesDriver(anthropic), nativeDriver(google)];
}

function chatDriver(client: OpenAI): SdkDriver {
  type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;
  const send = async (body: Body, stream: boolean, signal?: AbortSignal): Promise<OpenAI.ChatCompletionMessage> => {
    const options = { signal: signal ?? null };
    const completion = stream
      ? await client.chat.completions.stream({ ...body, stream: true }, options).finalChatCompletion()
      : await client.chat.completions.create(body, options);
    const [choice] = completion.choices;
    if (choice === undefined) throw new Error('a completion has a choice');
    return choice.message;
  };
  return {
    name: 'openai, chat completions',
    format: 'chat-completions',
    ask: async (model, content, { stream = false, signal } = {}) =>
      (await send({ model, messages: [{ role: 'user', content }] }, stream, signal)).content ?? '',
    useTools: async (model, content, stream, work) => {
      const tools = TOOL_NAMES.map((name) => ({ type: 'function' as const, function: { name, parameters } }));
      const body: Body = { model, tools, messages: [{ role: 'user', content }] };
      const message = await send(body, stream);
      const calls = (message.tool_calls ?? []).flatMap((call) =>
        call.type === 'function'
          ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
          : [],
      );
      const results = calls
        .map((call) => ({ role: 'tool' as const, tool_call_id: call.id, content: work(call) }))
        .toReversed();
      const { content: answer } = await send({ ...body, messages: [...body.messages, message, ...results] }, stream);
      return { calls, answer: answer ?? '' };
    },
    showImage: async (model, text, image) => {
      const url = `data:image/png;base64,${image}`;
      const content = [
        { type: 'text' as const, text },
        { type: 'image_url' as const, image_url: { url } },
      ];
      return (await send({ model, messages: [{ role: 'user', content }] }, false)).content ?? '';
    },
    leave: async (model, content) => {
      const stream = await client.chat.completions.create({
        model,
        stream: true,
        messages: [{ role: 'user', content }],
      });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    },
  };
}

function responsesDriver(client: OpenAI): SdkDriver {
  type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
  const send = async (body: Body, stream: boolean, signal?: AbortSignal) => {
    const options = { signal: signal ?? null };
    return stream
      ? client.responses.stream({ ...body, stream: true }, options).finalResponse()
      : client.responses.create(body, options);
  };
  return {
    name: 'openai, responses',
    format: 'responses',
    ask: async (model, input, { stream = false, signal } = {}) =>
      (await send({ model, input }, stream, signal)).output_text,
    useTools: async (model, content, stream, work) => {
      const tools = TOOL_NAMES.map((name) => ({ type: 'function' as const, name, parameters, strict: false }));
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content }];
      const { output } = await send({ model, tools, input }, stream);
      const calls = output.flatMap((item) =>
        item.type === 'function_call'
          ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) as unknown }]
          : [],
      );
      const results = calls
        .map((call) => ({ type: 'function_call_output' as const, call_id: call.id, output: work(call) }))
        .toReversed();
      // The SDK's types do not allow its documented practice of sending the output back unchanged.
      const reply = output as OpenAI.Responses.ResponseInput;
      const { output_text: answer } = await send({ model, tools, input: [...input, ...reply, ...results] }, stream);
      return { calls, answer };
    },
    showImage: async (model, text, image) => {
      const image_url = `data:image/png;base64,${image}`;
      const content = [
        { type: 'input_text' as const, text },
        { type: 'input_image' as const, image_url, detail: 'auto' as const },
      ];
      return (await send({ model, input: [{ role: 'user', content }] }, false)).output_text;
    },
    leave: async (model, input) => {
      const stream = await client.responses.create({ model, input, stream: true });
      for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    },
  };
}

function messagesDriver(client: Anthropic): SdkDriver {
  type Body = Anthropic.MessageCreateParamsNonStreaming;
  const send = (body: Omit<Body, 'max_tokens'>, stream: boolean, signal?: AbortSignal): Promise<Anthropic.Message> => {
    const whole = { ...body, max_tokens: MAX_TOKENS };
    const options = { signal: signal ?? null };
    return stream ? client.messages.stream(whole, options).finalMessage() : client.messages.create(whole, options);
  };
  const textOf = ({ content }: Anthropic.Message): string =>
    content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  return {
    name: 'anthropic',
    format: 'messages',
    ask: async (model, content, { stream = false, signal } = {}) =>
      textOf(await send({ model, messages: [{ role: 'user', content }] }, stream, signal)),
    useTools: async (model, prompt, stream, work) => {
      const tools = TOOL_NAMES.map((name) => ({ name, input_schema: parameters }));
      const question = { role: 'user' as const, content: prompt };
      const { content } = await send({ model, tools, messages: [question] }, stream);
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
      const results = calls
        .map((call) => ({ type: 'tool_result' as const, tool_use_id: call.id, content: work(call) }))
        .toReversed();
      const reply = { role: 'assistant' as const, content };
      const messages = [question, reply, { role: 'user' as const, content: results }];
      return { calls, answer: textOf(await send({ model, tools, messages }, stream)) };
    },
    showImage: async (model, text, data) => {
      const source = { type: 'base64' as const, media_type: 'image/png' as const, data };
      const content = [
        { type: 'text' as const, text },
        { type: 'image' as const, source },
      ];
      return textOf(await send({ model, messages: [{ role: 'user', content }] }, false));
    },
    leave: async (model, content) => {
      const body = { model, max_tokens: MAX_TOKENS, stream: true as const };
      const stream = await client.messages.create({ ...body, messages: [{ role: 'user', content }] });
      for await (const event of stream) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') break;
      }
    },
  };
}

function nativeDriver(client: GoogleGenAI): SdkDriver {
  type Request = Parameters<GoogleGenAI['models']['generateContent']>[0];
  const send = async (request: Request, stream: boolean): Promise<readonly Part[]> => {
    const partsOf = ({ candidates }: GenerateContentResponse): readonly Part[] => candidates?.[0]?.content?.parts ?? [];
    if (!stream) return partsOf(await client.models.generateContent(request));
    const parts: Part[] = [];
    for await (const event of await client.models.generateContentStream(request)) parts.push(...partsOf(event));
    return parts;
  };
  const textOf = (parts: readonly Part[]): string => parts.map((part) => part.text ?? '').join('');
  return {
    name: 'google genai',
    format: 'generate-content',
    ask: async (model, contents, { stream = false, signal } = {}) =>
      textOf(await send({ model, contents, config: { ...(signal && { abortSignal: signal }) } }, stream)),
    useTools: async (model, prompt, stream, work) => {
      const functionDeclarations = TOOL_NAMES.map((name) => ({ name, parametersJsonSchema: parameters }));
      const config = { tools: [{ functionDeclarations }] };
      const question: Content = { role: 'user', parts: [{ text: prompt }] };
      const parts = await send({ model, config, contents: [question] }, stream);
      const calls = parts.flatMap(({ functionCall: call }) =>
        call === undefined ? [] : [{ id: call.id ?? '', name: call.name ?? '', input: call.args }],
      );
      const results = calls.map((call) => ({
        functionResponse: {
          ...(call.id !== '' && { id: call.id }),
          name: call.name,
          response: { output: work(call) },
        },
      }));
      if (calls.every(({ id }) => id !== '')) results.reverse();
      const contents = [question, { role: 'model', parts: [...parts] }, { role: 'user', parts: results }];
      return { calls, answer: textOf(await send({ model, config, contents }, stream)) };
    },
    showImage: async (model, text, data) => {
      const parts = [{ text }, { inlineData: { mimeType: 'image/png', data } }];
      return textOf(await send({ model, contents: [{ role: 'user', parts }] }, false));
    },
    leave: async (model, contents) => {
      const leaving = new AbortController();
      const config = { abortSignal: leaving.signal };
      const stream = await client.models.generateContentStream({ model, contents, config });
      for await (const event of stream) if (event.text) break;
      leaving.abort();
    },
  };
}
