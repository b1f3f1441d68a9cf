/** Plans the search of the web that a request asks for: over which routes, and how often. Contract 4.8. */
import type { TextModel, TextRoute } from '../../catalogue/types.ts';
import { badRequest } from '../../domain/errors.ts';
import type { TextRequest } from '../../text/canonical.ts';
import { unusedFields } from '../../text/unused-fields.ts';
import { WEB_SEARCH } from '../../text/web-search.ts';
import type { SingleFormat, WireFormat } from '../../text/wire-format.ts';
import { searchesAtUpstream } from './exchange.ts';
import { TOKENS_PER_ROUND } from './run-searches.ts';

/** The tokens of what a search of an upstream finds, for the hold. Upstreams count them as input. */
const TOKENS_PER_SEARCH = 10_000;
/** The native format has no bound of searches, and Google documents none: more are not plausible, and are not charged. */
const MAX_NATIVE_SEARCHES = 100;

export interface PlannedSearch {
  /** With the bound of searches; without the search if the model offers none. */
  readonly request: TextRequest;
  /** With the routes that can search. */
  readonly model: TextModel;
  /** The searches to hold for, and the input tokens that they add. */
  readonly webSearches: number;
  readonly inputTokens: number;
  /** The most searches that are charged, if an upstream may exceed `webSearches`. */
  readonly maxWebSearches?: number;
  /** Whether a route needs the operator's service. */
  readonly needsService: boolean;
}

/**
 * @param hasService whether the operator has a search service, which searches where the upstream does not
 * @throws ServiceError `bad_request` for a search on messages that no route of the model offers
 */
export function planWebSearch(
  format: WireFormat | SingleFormat,
  request: TextRequest,
  model: TextModel,
  hasService: boolean,
): PlannedSearch {
  const { webSearch } = request;
  const none = { model, webSearches: 0, inputTokens: 0, needsService: false };
  if (webSearch === undefined || !('upstream' in format)) return { ...none, request };
  const isAtUpstream = (route: TextRoute): boolean => searchesAtUpstream(format, request, route, model);
  const isServed = hasService && (request.sampling.choiceCount ?? 1) === 1;
  const [first, ...others] = isServed ? model.routes : model.routes.filter(isAtUpstream);
  if (first === undefined || model.webSearch === undefined) {
    return { ...none, request: withoutWebSearch(format, request, model) };
  }
  const needsService = !model.routes.every(isAtUpstream);
  // The format has no bound, and its models search once for an answer.
  const most = format.name === 'chat-completions' && !needsService ? 1 : model.webSearch.maxCalls;
  const maxCalls = Math.min(webSearch.maxCalls ?? most, most);
  const searchesAtAny = model.routes.some(isAtUpstream);
  return {
    request: { ...request, webSearch: { ...webSearch, maxCalls } },
    model: { ...model, routes: [first, ...others] },
    webSearches: maxCalls,
    inputTokens: searchesAtAny ? maxCalls * TOKENS_PER_SEARCH : TOKENS_PER_ROUND,
    ...(searchesAtAny && format.name === 'generate-content' && { maxWebSearches: MAX_NATIVE_SEARCHES }),
    needsService,
  };
}

/** The request without the search. Agents send it unasked on other formats than messages, where answers name it instead. */
function withoutWebSearch({ name }: WireFormat, request: TextRequest, { id }: TextModel): TextRequest {
  const { webSearch, toolChoice, tools, unused } = request;
  const field = webSearch?.field ?? '';
  if (name === 'messages') {
    const advice = 'leave it out, or send a tool with a name and an input_schema';
    throw badRequest(`"tools": the model ${id} offers no web search (${field.slice('tools.'.length)}); ${advice}`);
  }
  const isChosen = toolChoice?.type === 'tool' && toolChoice.name === WEB_SEARCH;
  const isNamed = isChosen && !tools.some((tool) => tool.name === WEB_SEARCH);
  // The operator's route may pass on this field.
  const named = name === 'chat-completions' ? [] : [field];
  return {
    ...request,
    webSearch: undefined,
    toolChoice: isNamed ? undefined : toolChoice,
    unused: unusedFields(unused, { always: named, converted: [] }),
  };
}
