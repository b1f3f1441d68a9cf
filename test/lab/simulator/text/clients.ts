/** The vendors' own SDKs, each asking the simulator the same question and telling what it understood. */
import Anthropic from '@anthropic-ai/sdk';
import { FunctionCallingConfigMode, GoogleGenAI, type Content, type GenerateContentResponse } from '@google/genai';
import OpenAI from 'openai';

export interface Question {
  readonly prompt: string;
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly { readonly name: string; readonly schema: Record<string, unknown> }[];
  readonly toolChoice?: 'none' | 'required' | { readonly name: string };
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly imageCount?: number;
  readonly choiceCount?: number;
  /** Calls that the model made after the prompt, and their results in any order. */
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: Record<string, unknown> }[];
  readonly results?: readonly { readonly id: string; readonly name: string; readonly text: string }[];
}

/** What every SDK can tell of an answer. Absent usage is null. */
export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  readonly finish: string;
  readonly usage: {
    readonly input: number;
    readonly cached: number;
    readonly output: number;
    readonly reasoning: number;
  } | null;
}

export interface Client {
  readonly name: string;
  /** What the format calls the ends of an answer. */
  readonly ends: {
    readonly stop: string;
    readonly length: string;
    readonly calls: string;
    readonly stopSequence: string;
  };
  /** Whether usage tells how much of the output was reasoning. */
  readonly countsReasoning: boolean;
  ask(baseUrl: string, question: Question, stream: boolean): Promise<Answer>;
}

export const MODEL = 'textc-M3';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function many<Item>(count: number | undefined, item: Item): Item[] {
  return Array.from({ length: count ?? 0 }, () => item);
}

function openai(baseUrl: string): OpenAI {
  return new OpenAI({ apiKey: 'sk-1', baseURL: `${baseUrl}/v1`, maxRetries: 0 });
}

const chatCompletions: Client = {
  name: 'chat completions',
  ends: { stop: 'stop', length: 'length', calls: 'tool_calls', stopSequence: 'stop' },
  countsReasoning: true,
  async ask(baseUrl, question, stream) {
    const body: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      model: question.model ?? MODEL,
      messages: chatMessages(question),
      ...(question.maxTokens === undefined ? {} : { max_completion_tokens: question.maxTokens }),
      ...(question.stop === undefined ? {} : { stop: [...question.stop] }),
      ...(question.choiceCount === undefined ? {} : { n: question.choiceCount }),
      ...(question.tools === undefined ? {} : { tools: question.tools.map(chatTool) }),
      ...(question.toolChoice === undefined ? {} : { tool_choice: chatChoice(question.toolChoice) }),
    };
    if (stream) return await askStreamedChat(openai(baseUrl), body);
    const { choices, usage } = await openai(baseUrl).chat.completions.create(body);
    const [choice] = choices;
    return {
      text: choice?.message.content ?? '',
      reasoning: reasoningOf(choice?.message),
      calls: callsOf(choice?.message.tool_calls),
      finish: choice?.finish_reason ?? '',
      usage: chatUsage(usage),
    };
  },
};

function chatMessages({ prompt, system, imageCount, calls, results }: Question): OpenAI.ChatCompletionMessageParam[] {
  const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PIXEL}` } };
  return [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user', content: [{ type: 'text', text: prompt }, ...many(imageCount, image)] },
    ...(calls === undefined
      ? []
      : [
          {
            role: 'assistant' as const,
            tool_calls: calls.map(({ id, name, args }) => ({
              id,
              type: 'function' as const,
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
        ]),
    ...(results ?? []).map(({ id, text }) => ({ role: 'tool' as const, tool_call_id: id, content: text })),
  ];
}

function chatTool({
  name,
  schema,
}: {
  name: string;
  schema: Record<string, unknown>;
}): OpenAI.ChatCompletionFunctionTool {
  return { type: 'function', function: { name, parameters: schema } };
}

function chatChoice(choice: NonNullable<Question['toolChoice']>): OpenAI.ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: choice };
}

async function askStreamedChat(client: OpenAI, body: OpenAI.ChatCompletionCreateParamsNonStreaming): Promise<Answer> {
  const runner = client.chat.completions.stream({ ...body, stream: true, stream_options: { include_usage: true } });
  let reasoning = '';
  let usage: OpenAI.CompletionUsage | null = null;
  for await (const chunk of runner) {
    reasoning += reasoningOf(chunk.choices[0]?.delta);
    usage = chunk.usage ?? usage;
  }
  const { choices } = await runner.finalChatCompletion();
  const [choice] = choices;
  return {
    text: choice?.message.content ?? '',
    reasoning,
    calls: callsOf(choice?.message.tool_calls),
    finish: choice?.finish_reason ?? '',
    usage: chatUsage(usage),
  };
}

/** The SDK's types do not know the field by which other services of this format tell it. */
function reasoningOf(message: object | undefined): string {
  const { reasoning_content: reasoning } = Object(message) as { reasoning_content?: unknown };
  return typeof reasoning === 'string' ? reasoning : '';
}

function callsOf(calls: OpenAI.ChatCompletionMessageToolCall[] | undefined): Answer['calls'] {
  return (calls ?? []).flatMap((call) =>
    call.type === 'function'
      ? [{ name: call.function.name, args: JSON.parse(call.function.arguments) as unknown }]
      : [],
  );
}

function chatUsage(usage: OpenAI.CompletionUsage | null | undefined): Answer['usage'] {
  if (!usage) return null;
  return {
    input: usage.prompt_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

const responses: Client = {
  name: 'responses',
  ends: { stop: 'completed', length: 'incomplete', calls: 'completed', stopSequence: 'completed' },
  countsReasoning: true,
  async ask(baseUrl, question, stream) {
    const { toolChoice } = question;
    const body: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
      model: question.model ?? MODEL,
      input: responsesInput(question),
      ...(question.system === undefined ? {} : { instructions: question.system }),
      ...(question.maxTokens === undefined ? {} : { max_output_tokens: question.maxTokens }),
      ...(question.tools === undefined
        ? {}
        : {
            tools: question.tools.map(({ name, schema }) => ({
              type: 'function' as const,
              name,
              parameters: schema,
              strict: false,
            })),
          }),
      ...(toolChoice === undefined
        ? {}
        : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', ...toolChoice } }),
    };
    const client = openai(baseUrl);
    const response = stream
      ? await client.responses.stream({ ...body, stream: true }).finalResponse()
      : await client.responses.create(body);
    const { usage } = response;
    return {
      text: response.output_text,
      reasoning: response.output
        .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
        .join(''),
      calls: response.output.flatMap((item) =>
        item.type === 'function_call' ? [{ name: item.name, args: JSON.parse(item.arguments) as unknown }] : [],
      ),
      finish: response.status ?? '',
      usage: usage
        ? {
            input: usage.input_tokens,
            cached: usage.input_tokens_details.cached_tokens,
            output: usage.output_tokens,
            reasoning: usage.output_tokens_details.reasoning_tokens,
          }
        : null,
    };
  },
};

function responsesInput({ prompt, imageCount, calls, results }: Question): OpenAI.Responses.ResponseInput {
  const image = {
    type: 'input_image' as const,
    detail: 'auto' as const,
    image_url: `data:image/png;base64,${PIXEL}`,
  };
  return [
    { role: 'user', content: [{ type: 'input_text', text: prompt }, ...many(imageCount, image)] },
    ...(calls ?? []).map(({ id, name, args }) => ({
      type: 'function_call' as const,
      call_id: id,
      name,
      arguments: JSON.stringify(args),
    })),
    ...(results ?? []).map(({ id, text }) => ({ type: 'function_call_output' as const, call_id: id, output: text })),
  ];
}

const messages: Client = {
  name: 'messages',
  ends: { stop: 'end_turn', length: 'max_tokens', calls: 'tool_use', stopSequence: 'stop_sequence' },
  countsReasoning: false,
  async ask(baseUrl, question, stream) {
    const client = new Anthropic({ apiKey: 'sk-1', baseURL: baseUrl, maxRetries: 0 });
    const body: Anthropic.MessageCreateParamsNonStreaming = {
      model: question.model ?? MODEL,
      max_tokens: question.maxTokens ?? 10_000,
      messages: messagesTurns(question),
      ...(question.system === undefined ? {} : { system: question.system }),
      ...(question.stop === undefined ? {} : { stop_sequences: [...question.stop] }),
      ...(question.tools === undefined
        ? {}
        : {
            tools: question.tools.map(({ name, schema }) => ({
              name,
              input_schema: { type: 'object' as const, ...schema },
            })),
          }),
      ...(question.toolChoice === undefined ? {} : { tool_choice: messagesChoice(question.toolChoice) }),
    };
    const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const usage = message.usage as Anthropic.Usage | undefined;
    return {
      text: message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
      reasoning: message.content.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : [])).join(''),
      calls: message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ name: block.name, args: block.input }] : [],
      ),
      finish: message.stop_reason ?? '',
      usage: usage
        ? {
            input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
            cached: usage.cache_read_input_tokens ?? 0,
            output: usage.output_tokens,
            reasoning: 0,
          }
        : null,
    };
  },
};

function messagesTurns({ prompt, imageCount, calls, results }: Question): Anthropic.MessageParam[] {
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL },
  };
  return [
    { role: 'user', content: [{ type: 'text', text: prompt }, ...many(imageCount, image)] },
    ...(calls === undefined
      ? []
      : [
          {
            role: 'assistant' as const,
            content: calls.map(({ id, name, args }) => ({ type: 'tool_use' as const, id, name, input: args })),
          },
        ]),
    ...(results === undefined
      ? []
      : [
          {
            role: 'user' as const,
            content: results.map(({ id, text }) => ({
              type: 'tool_result' as const,
              tool_use_id: id,
              content: text,
            })),
          },
        ]),
  ];
}

function messagesChoice(choice: NonNullable<Question['toolChoice']>): Anthropic.ToolChoice {
  if (choice === 'required') return { type: 'any' };
  return choice === 'none' ? { type: 'none' } : { type: 'tool', ...choice };
}

const generateContent: Client = {
  name: 'generate content',
  ends: { stop: 'STOP', length: 'MAX_TOKENS', calls: 'STOP', stopSequence: 'STOP' },
  countsReasoning: true,
  async ask(baseUrl, question, stream) {
    const { models } = new GoogleGenAI({ apiKey: 'sk-1', httpOptions: { baseUrl, retryOptions: { attempts: 1 } } });
    const body = {
      model: question.model ?? MODEL,
      contents: nativeContents(question),
      config: {
        thinkingConfig: { includeThoughts: true },
        ...(question.system === undefined ? {} : { systemInstruction: question.system }),
        ...(question.maxTokens === undefined ? {} : { maxOutputTokens: question.maxTokens }),
        ...(question.stop === undefined ? {} : { stopSequences: [...question.stop] }),
        ...(question.choiceCount === undefined ? {} : { candidateCount: question.choiceCount }),
        ...(question.tools === undefined
          ? {}
          : {
              tools: [
                {
                  functionDeclarations: question.tools.map(({ name, schema }) => ({
                    name,
                    parametersJsonSchema: schema,
                  })),
                },
              ],
            }),
        ...(question.toolChoice === undefined ? {} : { toolConfig: nativeChoice(question.toolChoice) }),
      },
    };
    if (!stream) return nativeAnswer([await models.generateContent(body)]);
    const chunks: GenerateContentResponse[] = [];
    for await (const chunk of await models.generateContentStream(body)) chunks.push(chunk);
    return nativeAnswer(chunks);
  },
};

function nativeContents({ prompt, imageCount, calls, results }: Question): Content[] {
  const image = { inlineData: { mimeType: 'image/png', data: PIXEL } };
  return [
    { role: 'user', parts: [{ text: prompt }, ...many(imageCount, image)] },
    ...(calls === undefined
      ? []
      : [{ role: 'model', parts: calls.map(({ name, args }) => ({ functionCall: { name, args } })) }]),
    ...(results === undefined
      ? []
      : [
          {
            role: 'user',
            parts: results.map(({ name, text }) => ({ functionResponse: { name, response: { output: text } } })),
          },
        ]),
  ];
}

function nativeChoice(choice: NonNullable<Question['toolChoice']>): object {
  const { ANY, NONE } = FunctionCallingConfigMode;
  if (choice === 'none') return { functionCallingConfig: { mode: NONE } };
  if (choice === 'required') return { functionCallingConfig: { mode: ANY } };
  return { functionCallingConfig: { mode: ANY, allowedFunctionNames: [choice.name] } };
}

function nativeAnswer(chunks: readonly GenerateContentResponse[]): Answer {
  const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
  const textWhere = (thought: boolean): string =>
    parts.flatMap((part) => ((part.thought === true) === thought ? [part.text ?? ''] : [])).join('');
  const last = chunks.at(-1);
  const usage = last?.usageMetadata;
  const reasoning = usage?.thoughtsTokenCount ?? 0;
  return {
    text: textWhere(false),
    reasoning: textWhere(true),
    calls: parts.flatMap(({ functionCall }) =>
      functionCall ? [{ name: functionCall.name ?? '', args: functionCall.args }] : [],
    ),
    finish: last?.candidates?.[0]?.finishReason ?? '',
    usage: usage
      ? {
          input: usage.promptTokenCount ?? 0,
          cached: usage.cachedContentTokenCount ?? 0,
          output: (usage.candidatesTokenCount ?? 0) + reasoning,
          reasoning,
        }
      : null,
  };
}

export const CLIENTS: readonly Client[] = [chatCompletions, responses, messages, generateContent];
