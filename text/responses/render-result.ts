/** A canonical answer as a response object: contract 4.8.2. */
import type { JsonObject } from '../../domain/json.ts';
import type {
  AnswerImage,
  AnswerPart,
  AnswerSearch,
  Finish,
  FinishReason,
  FoundOnWeb,
  TextPart,
  TextRequest,
  TextResult,
  Usage,
} from '../canonical.ts';
import { textOfArguments } from '../free-text-tools.ts';
import { compact } from '../read.ts';
import { withSearches } from '../web-search.ts';
import type { RenderContext } from '../wire-format.ts';
import { renderTextConfig, renderTool, renderToolChoice } from './build-request.ts';
import { renderSummaryItem } from './compaction.ts';
import { callKindOf, objectOfText, ownToolOf } from './tools.ts';
import {
  ITEM_ID_PREFIXES,
  type ImageItem,
  type IncompleteReason,
  type ItemKind,
  type ItemStatus,
  type OutputItem,
  type OutputText,
  type ResponseUsage,
  type SummaryText,
  type WebSearchCallItem,
} from './types.ts';

/** Why an answer is incomplete; all other reasons complete it. The format cannot say which stop sequence hit. */
const INCOMPLETE_REASONS: Partial<Readonly<Record<FinishReason, IncompleteReason>>> = {
  length: 'max_output_tokens',
};

export function renderResult(result: TextResult, context: RenderContext): JsonObject {
  const [choice] = result.choices;
  if (choice === undefined) throw new Error('an answer has at least one choice');
  const summary = context.request.isSummary === true ? textOf(choice.parts) : '';
  if (summary !== '') {
    const item = renderSummaryItem(summary, itemId({ type: 'summary' }, 0, context));
    return renderFinished(choice.finish, [item], result.usage, context);
  }
  const { images = [], searches = [] } = choice;
  const isEmpty = images.length === 0 && isReasoningOnly(choice.parts);
  const parts = isEmpty ? [...choice.parts, EMPTY_TEXT] : choice.parts;
  const items = withSearches<AnswerPart | AnswerSearch>(parts, searches, (search) => [search]);
  const rendered = items.map((item, index): OutputItem => {
    if ('at' in item) return renderSearch(item, itemId({ type: 'web-search' }, index, context));
    const status = images.length === 0 && index === items.length - 1 ? lastStatusOf(choice.finish) : 'completed';
    return renderItem(item, itemId(item, index, context), status, context.request);
  });
  const output = [
    ...rendered,
    ...images.map((image, index) => renderImage(image, itemId({ type: 'image' }, rendered.length + index, context))),
  ];
  return renderFinished(choice.finish, output, result.usage, context);
}

function textOf(parts: readonly AnswerPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** @param image null while the image is announced */
export function renderImage(image: AnswerImage | null, id: string): ImageItem {
  const status = image === null ? 'in_progress' : 'completed';
  return { id, type: 'image_generation_call', status, result: image?.data ?? null };
}

/** The response object of an answer that is still being written, without any of its output. */
export function renderUnfinished(context: RenderContext): JsonObject {
  return renderResponse('in_progress', null, [], null, context);
}

/** The response object of an answer that failed, without any of its output. */
export function renderFailed(context: RenderContext): JsonObject {
  return renderResponse('failed', null, [], null, context);
}

/** The response object of an answer that has ended. */
export function renderFinished(
  finish: Finish,
  output: readonly OutputItem[],
  usage: Usage,
  context: RenderContext,
): JsonObject {
  const reason = INCOMPLETE_REASONS[finish.reason] ?? null;
  return renderResponse(lastStatusOf(finish), reason, output, renderUsage(usage), context);
}

function renderResponse(
  status: ItemStatus | 'failed',
  incompleteReason: IncompleteReason | null,
  output: readonly OutputItem[],
  usage: ResponseUsage | null,
  { request, responseId, createdAtSeconds, nowSeconds }: RenderContext,
): JsonObject {
  const { sampling } = request;
  return {
    id: `resp_${responseId}`,
    object: 'response',
    created_at: createdAtSeconds,
    completed_at: status === 'completed' ? nowSeconds() : null,
    status,
    background: false,
    error: null,
    incomplete_details: incompleteReason === null ? null : { reason: incompleteReason },
    frequency_penalty: 0,
    instructions: request.echo?.instructions ?? null,
    max_output_tokens: sampling.maxOutputTokens ?? null,
    max_tool_calls: null,
    metadata: request.echo?.metadata ?? {},
    model: request.model,
    output,
    parallel_tool_calls: request.parallelToolCalls ?? true,
    presence_penalty: 0,
    previous_response_id: request.echo?.previousResponseId ?? null,
    prompt_cache_key: null,
    reasoning: { effort: request.reasoningEffort ?? null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: request.echo?.isStored ?? false,
    temperature: sampling.temperature ?? null,
    text: { format: { type: 'text' }, ...renderTextConfig(request) },
    tool_choice: request.toolChoice === undefined ? 'auto' : renderToolChoice(request.toolChoice),
    tools: request.tools.map(renderTool),
    top_logprobs: 0,
    top_p: sampling.topP ?? null,
    truncation: 'disabled',
    usage,
    user: request.userId ?? null,
  };
}

/** The status of the response and of its last item. */
export function lastStatusOf(finish: Finish): 'completed' | 'incomplete' {
  return INCOMPLETE_REASONS[finish.reason] === undefined ? 'completed' : 'incomplete';
}

export const EMPTY_TEXT: TextPart = { type: 'text', text: '' };

/** Whether an answer has neither text nor tool calls, which is rendered as an empty message. Reasoning may use all tokens. */
export function isReasoningOnly(parts: readonly { readonly type: ItemKind }[]): boolean {
  return parts.every((part) => part.type === 'reasoning' || part.type === 'web-search');
}

/** The id of an output item: the same in every event and in the complete answer. */
export function itemId(part: { readonly type: ItemKind }, index: number, context: RenderContext): string {
  return `${ITEM_ID_PREFIXES[part.type]}${context.responseId}_${index}`;
}

export function renderItem(
  part: AnswerPart,
  id: string,
  status: ItemStatus,
  { tools }: Pick<TextRequest, 'tools'>,
): OutputItem {
  if (part.type === 'text') {
    return { id, type: 'message', status, role: 'assistant', content: [renderText(part.text)] };
  }
  if (part.type === 'tool-call') {
    const head = { id, status, call_id: part.callId };
    const call = { ...head, ...ownToolOf(tools, part.name) };
    switch (callKindOf(tools, part.name)) {
      case 'tool-search':
        return { ...head, type: 'tool_search_call', execution: 'client', arguments: objectOfText(part.arguments) };
      case 'free-text':
        return { ...call, type: 'custom_tool_call', input: textOfArguments(part.arguments) };
      default:
        return { ...call, type: 'function_call', arguments: part.arguments };
    }
  }
  const summary = part.text === '' ? [] : [renderSummary(part.text)];
  return compact({ id, type: 'reasoning', summary, encrypted_content: part.signature } as const);
}

export function renderSearch({ query, results, error }: FoundOnWeb, id: string, isRunning = false): WebSearchCallItem {
  const sources = results.map(({ url }) => ({ type: 'url', url }) as const);
  const status = isRunning ? 'in_progress' : error === undefined ? 'completed' : 'failed';
  return { id, type: 'web_search_call', status, action: { type: 'search', query, queries: [query], sources } };
}

export function renderText(text: string): OutputText {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

/** Reasoning is written as a summary, the only form that every client of the format displays. */
export function renderSummary(text: string): SummaryText {
  return { type: 'summary_text', text };
}

/** Every number is present, because clients read the details without checking; unreported ones are 0. */
export function renderUsage(usage: Usage): ResponseUsage {
  const input = usage.inputTotal ?? 0;
  const output = usage.outputTotal ?? 0;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, cache_write_tokens: usage.cacheWrite ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: input + output,
  };
}
