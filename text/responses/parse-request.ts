/** A responses body as a canonical request: contract 4.8.2. */
import type { TextRequest, Turn } from '../canonical.ts';
import { compact } from '../read.ts';
import { unusedFields } from '../unused-fields.ts';
import type { ParseContext } from '../wire-format.ts';
import { asksForSummary, summaryRequest } from './compaction.ts';
import { READ_REQUEST } from './request-shape.ts';
import { findOmittedTools, findVendorTools, findWebSearch, toolsOfInput } from './tools.ts';

type Request = ReturnType<(typeof READ_REQUEST)['full']>;

export function parseRequest(body: unknown, { compatibility = 'specification' }: ParseContext = {}): TextRequest {
  const request = READ_REQUEST[compatibility](body, '');
  request.get('background');
  const reasoning = request.get('reasoning');
  const text = request.get('text');
  const listed = request.get('tools') ?? [];
  const tools = [...listed, ...toolsOfInput(request.object['input'], listed)];
  const { toolChoice, allowed } = request.get('tool_choice') ?? {};
  const read: TextRequest = compact({
    model: request.get('model'),
    stream: request.get('stream') ?? false,
    turns: [...instructionsOf(request), ...request.get('input')],
    tools: allowed === undefined ? tools : tools.filter(({ name }) => allowed.has(name)),
    webSearch: compatibility === 'full' ? findWebSearch(request.object) : undefined,
    toolChoice,
    parallelToolCalls: request.get('parallel_tool_calls'),
    sampling: compact({
      maxOutputTokens: request.get('max_output_tokens'),
      temperature: request.get('temperature'),
      topP: request.get('top_p'),
    }),
    reasoningEffort: reasoning?.get('effort'),
    outputFormat: text?.get('format'),
    verbosity: text?.get('verbosity'),
    unused: unusedFields(request.unused(), reasoning?.unused(), text?.unused(), findOmittedTools(request.object)),
    userId: request.get('user'),
    promptCacheKey: request.get('prompt_cache_key'),
    vendorTools: findVendorTools(request.object),
    echo: echoOf(request),
  });
  return asksForSummary(request.object) ? summaryRequest(read) : read;
}

function echoOf(request: Request): TextRequest['echo'] {
  const echo = compact({
    instructions: request.get('instructions'),
    metadata: request.get('metadata'),
    previousResponseId: request.get('previous_response_id'),
    isStored: request.get('store'),
  });
  return Object.keys(echo).length === 0 ? undefined : echo;
}

function instructionsOf(request: Request): Turn[] {
  const text = request.get('instructions') ?? '';
  return text === '' ? [] : [{ role: 'system', parts: [{ type: 'text', text }] }];
}
