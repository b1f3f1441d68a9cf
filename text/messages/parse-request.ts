/** A messages body as a canonical request: contract 4.8.3. */
import { cutText } from '../../domain/cut-text.ts';
import { badRequest } from '../../domain/errors.ts';
import type { InputPart, TextRequest, ToolResultPart, Turn } from '../canonical.ts';
import { compact, readArray } from '../read.ts';
import { unusedFields } from '../unused-fields.ts';
import type { ParseContext } from '../wire-format.ts';
import { findBetaFields, readBetas } from './betas.ts';
import { CONTENT, READ_REQUEST, readMessage, readToolChoice } from './request-shape.ts';
import { findSourceFields } from './sources.ts';

type Request = ReturnType<(typeof READ_REQUEST)['full']>;
type Message = ReturnType<typeof readMessage>;
type Content = (typeof CONTENT)['full'];

/** Other formats accept no longer names for end users; the beginning of a longer one still distinguishes users. */
const MAXIMUM_USER_ID_LENGTH = 64;

export function parseRequest(
  body: unknown,
  { compatibility = 'specification', betas: header }: ParseContext = {},
): TextRequest {
  const request = READ_REQUEST[compatibility](body, '');
  const betas = compatibility === 'full' ? readBetas(header) : [];
  const turns = request.getAs('messages', (value, path) =>
    readArray(value, path, (item, at) => turnsOf(readMessage(item, at), CONTENT[compatibility])).flat(),
  );
  if (turns.length === 0) throw badRequest('"messages" requires at least 1 item');
  const given = request.get('tools') ?? [];
  const tools = given.flatMap((tool) => ('webSearch' in tool ? [] : [tool]));
  const webSearch = given.find((tool) => 'webSearch' in tool)?.webSearch;
  const outputConfig = request.get('output_config');
  const metadata = request.get('metadata');
  const userId = metadata?.get('user_id');
  const sourceFields = findSourceFields(request.object);
  return compact({
    model: request.get('model'),
    stream: request.get('stream') ?? false,
    turns: [...systemOf(request), ...turns],
    cacheBreakpoint: request.get('cache_control'),
    tools,
    webSearch,
    // Without tools the choice has no effect, whatever it is.
    ...(given.length === 0 ? {} : request.getAs('tool_choice', readToolChoice)),
    sampling: samplingOf(request),
    // Vendors think only on request; with the compatibility of the specification, models always do.
    ...(compatibility === 'full' && { reasoningDisplay: 'none' as const, ...request.get('thinking') }),
    reasoningEffort: outputConfig?.get('effort'),
    outputFormat: outputConfig?.get('format') ?? request.get('output_format'),
    unused: unusedFields(
      request.unused(),
      outputConfig?.unused(),
      metadata?.unused(),
      findBetaFields(request.object, betas),
      { always: [], converted: sourceFields },
    ),
    hasSources: sourceFields.length > 0 ? true : undefined,
    betas: betas.length === 0 ? undefined : betas,
    userId: userId && cutText(userId, MAXIMUM_USER_ID_LENGTH),
  });
}

function samplingOf(request: Request): TextRequest['sampling'] {
  return compact({
    maxOutputTokens: request.get('max_tokens'),
    temperature: request.get('temperature'),
    topP: request.get('top_p'),
    topK: request.get('top_k'),
    stopSequences: request.get('stop_sequences'),
  });
}

function systemOf(request: Request): Turn[] {
  const parts = request.get('system') ?? [];
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

/**
 * A message as turns. The tool results in a user message become a turn of their own, before the rest of the message.
 * System messages, which newer clients send for instructions in mid-conversation, stay where they are.
 */
function turnsOf(message: Message, content: Content): Turn[] {
  const role = message.get('role');
  switch (role) {
    case 'user':
      return userTurns(message.getAs('content', content.user));
    case 'assistant':
      return [{ role, parts: message.getAs('content', content.assistant) ?? [] }];
    default:
      return [{ role, parts: message.getAs('content', content.system) }];
  }
}

function userTurns(blocks: readonly (InputPart | ToolResultPart)[]): Turn[] {
  const results = blocks.filter((block) => block.type === 'tool-result');
  const input = blocks.filter((block) => block.type !== 'tool-result');
  if (results.length === 0) return [{ role: 'user', parts: input }];
  const answered: Turn = { role: 'tool', parts: results };
  return input.length === 0 ? [answered] : [answered, { role: 'user', parts: input }];
}
