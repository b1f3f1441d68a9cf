/** The gateway's own client of each format, which calls the simulator and reports the parsed answer. */
import { FORMATS } from '../../../text/formats.ts';
import type { AnswerPart, InputPart, TextRequest, ToolChoice, Turn } from '../../../text/canonical.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { WireFormatName } from '../../../domain/wire-format-name.ts';
import { baseUrlsAt } from '../../../providers/text/settings.ts';
import { resultOf } from '../../text/answers.ts';
import { answerOfStream } from '../../text/support.ts';

export interface Question {
  readonly prompt: string;
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly { readonly name: string; readonly schema: JsonObject }[];
  readonly toolChoice?: ToolChoice;
  readonly imageCount?: number;
}

export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  readonly finish: string;
  readonly usage: Readonly<Record<'input' | 'cached' | 'output' | 'reasoning', number>>;
}

export const MODEL = 'textc-M3';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE: InputPart = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: PIXEL } };

/** Calls the simulator at an address. */
export async function ask(
  format: WireFormatName,
  baseUrl: string,
  question: Question,
  stream: boolean,
): Promise<Answer> {
  const { upstream } = FORMATS[format];
  const request = requestOf(question, stream);
  const { path, headers, body } = upstream.buildRequest(request, { model: request.model, apiKey: 'sk-1' });
  const response = await fetch(`${baseUrlsAt(baseUrl)[format]}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const { choices, usage } = stream
    ? answerOfStream(FORMATS[format], text)
    : resultOf(upstream.parseResult(JSON.parse(text)));
  const [{ parts, finish } = { parts: [], finish: { reason: 'none' } }] = choices;
  return {
    text: textOf(parts, 'text'),
    reasoning: textOf(parts, 'reasoning'),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ name: part.name, args: JSON.parse(part.arguments) as unknown }] : [],
    ),
    finish: finish.reason,
    usage: {
      input: usage.inputTotal ?? 0,
      cached: usage.cacheRead ?? 0,
      output: usage.outputTotal ?? 0,
      reasoning: usage.reasoning ?? 0,
    },
  };
}

function requestOf(question: Question, stream: boolean): TextRequest {
  const { prompt, model = MODEL, system, tools = [], toolChoice, imageCount = 0 } = question;
  const images = Array.from({ length: imageCount }, () => IMAGE);
  const turns: readonly Turn[] = [
    { role: 'system', parts: system === undefined ? [] : [{ type: 'text', text: system }] },
    { role: 'user', parts: [{ type: 'text', text: prompt }, ...images] },
  ];
  return {
    model,
    stream,
    turns: turns.filter(({ parts }) => parts.length > 0),
    tools: tools.map(({ name, schema }) => ({ name, parameters: schema })),
    ...(toolChoice && { toolChoice }),
    sampling: {},
  };
}

function textOf(parts: readonly AnswerPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}
