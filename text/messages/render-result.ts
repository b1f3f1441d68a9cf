/** A canonical answer as a message: contract 4.8.3. */
import type { JsonObject } from '../../domain/json.ts';
import type {
  AnswerImage,
  Choice,
  Finish,
  FinishReason,
  TextResult,
  ToolCallPart,
  Usage,
  FoundOnWeb,
} from '../canonical.ts';
import { objectOfText } from '../json/parse.ts';
import { compact } from '../read.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import { withSearches } from '../web-search.ts';
import type { RenderContext } from '../wire-format.ts';
import type { MessagesBlock, MessagesStopReason, MessagesUsage } from './types.ts';

export const STOP_REASONS: Readonly<Record<FinishReason, MessagesStopReason>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
};

/** The only block of an answer without text and tool calls, so that clients that expect a block find one. */
export const EMPTY_TEXT: MessagesBlock = { type: 'text', text: '' };

/**
 * The message for the first choice: the format cannot ask for more than one.
 *
 * @throws ServiceError `processing_failed` when the model called a tool with arguments that are not a JSON object
 */
export function renderResult(result: TextResult, context: RenderContext): JsonObject {
  const [choice] = result.choices;
  if (choice === undefined) throw malformedAnswer();
  return {
    ...renderHead(context),
    content: renderContent(choice, context),
    ...renderStop(choice.finish),
    usage: renderUsage(result.usage),
  };
}

export function renderHead(context: RenderContext): JsonObject {
  return { id: `msg_${context.responseId}`, type: 'message', role: 'assistant', model: context.request.model };
}

export function renderStop(finish: Finish): JsonObject {
  return { stop_reason: STOP_REASONS[finish.reason], stop_sequence: finish.stopSequence ?? null };
}

/** Unreported counts are 0 or, in the details, left out. */
export function renderUsage(usage: Usage): MessagesUsage {
  const { cacheRead, cacheWrite, cacheWrite1h, reasoning, webSearches } = usage;
  return compact({
    input_tokens: Math.max(0, (usage.inputTotal ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    cache_creation_input_tokens: cacheWrite ?? undefined,
    cache_creation:
      cacheWrite === null || cacheWrite1h === null
        ? undefined
        : {
            ephemeral_5m_input_tokens: Math.max(0, cacheWrite - cacheWrite1h),
            ephemeral_1h_input_tokens: cacheWrite1h,
          },
    cache_read_input_tokens: cacheRead ?? undefined,
    output_tokens: usage.outputTotal ?? 0,
    output_tokens_details: reasoning === null ? undefined : { thinking_tokens: reasoning },
    server_tool_use: webSearches === null ? undefined : { web_search_requests: webSearches },
  });
}

export function renderImage({ mediaType, data }: AnswerImage): MessagesBlock {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

function renderContent(
  { parts, images = [], searches = [], finish }: Choice,
  context: RenderContext,
): readonly MessagesBlock[] {
  const blocks = parts.map((part): MessagesBlock => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    if (part.type === 'tool-call') {
      return { type: 'tool_use', id: part.callId, name: part.name, input: inputOf(part, finish) };
    }
    // SDKs expect the signature to be a string, even when the upstream gave none.
    if (part.redacted === true) return { type: 'redacted_thinking', data: part.signature ?? '' };
    return { type: 'thinking', thinking: part.text, signature: part.signature ?? '' };
  });
  const isEmpty = images.length === 0 && parts.every((part) => part.type === 'reasoning');
  const all = isEmpty ? [...blocks, EMPTY_TEXT] : blocks;
  const found = withSearches(all, searches, (search, index) => renderSearch(search, String(index), context));
  return [...found, ...images.map(renderImage)];
}

/** The blocks of a search: the call, and what it found. @param id unique within the answer */
export function renderSearch(search: FoundOnWeb, id: string, context: RenderContext): [MessagesBlock, MessagesBlock] {
  const callId = searchIdOf(id, context);
  return [renderSearchCall(callId, search.query), renderFound(callId, search)];
}

export function searchIdOf(id: string, { responseId }: RenderContext): string {
  return `srvtoolu_${responseId}${id.replaceAll(/\W/g, '')}`;
}

export function renderSearchCall(id: string, query: string | null): MessagesBlock {
  return { type: 'server_tool_use', id, name: 'web_search', input: query === null ? {} : { query } };
}

/** The text is in the field that clients send back with the block. */
export function renderFound(callId: string, { results, error }: FoundOnWeb): MessagesBlock {
  const content =
    error === undefined
      ? results.map(({ url, title, text }) => {
          const encoded = Buffer.from(text).toString('base64');
          return { type: 'web_search_result', url, title, encrypted_content: encoded, page_age: null } as const;
        })
      : ({ type: 'web_search_tool_result_error', error_code: error } as const);
  return { type: 'web_search_tool_result', tool_use_id: callId, content };
}

/** The arguments as an object; empty when the token limit cut them off, of which the stop reason warns. */
function inputOf(call: ToolCallPart, finish: Finish): JsonObject {
  const input = objectOfText(call.arguments);
  if (input !== null) return input;
  if (finish.reason === 'length') return {};
  throw malformedAnswer();
}
