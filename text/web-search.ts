/** Searches of the web that the model's side runs for a client: those of the upstream, and those of the operator's service. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../domain/json.ts';
import type { AnswerSearch, WebSearch } from './canonical.ts';
import { compact } from './read.ts';
import { repairEvent } from './repair-event.ts';
import type { ServerSentEvent } from './sse.ts';

/** The name by which a choice of tools refers to the search. */
export const WEB_SEARCH = 'web_search';

/** Longer lists of domains, and longer names, are cut. */
const MAX_DOMAINS = 100;
const MAX_DOMAIN_LENGTH = 253;
const MAX_PLACE_LENGTH = 200;

/** A search as the tool of messages and responses describes it. @param field the client's name of the tool */
export function webSearchOf(tool: JsonObject, field: string, maxCalls: unknown): WebSearch {
  const filters = objectOf(tool['filters']);
  const { city, region, country } = objectOf(tool['user_location']);
  const place = [city, region, country].map(stringOf).filter(Boolean).join(', ').slice(0, MAX_PLACE_LENGTH);
  return compact({
    field,
    maxCalls: countOf(maxCalls) ?? undefined,
    allowedDomains: domainsOf(tool['allowed_domains'] ?? filters['allowed_domains']),
    blockedDomains: domainsOf(tool['blocked_domains'] ?? filters['blocked_domains']),
    place: place || undefined,
  });
}

function domainsOf(list: unknown): readonly string[] | undefined {
  const domains = listOf(list)
    .map(stringOf)
    .filter((name) => name !== '' && name.length <= MAX_DOMAIN_LENGTH);
  return domains.length === 0 ? undefined : domains.slice(0, MAX_DOMAINS);
}

/** The items of an answer with those of its searches at their places. @param render returns the items of a search */
export function withSearches<Item>(
  items: readonly Item[],
  searches: readonly AnswerSearch[],
  render: (search: AnswerSearch, index: number) => readonly Item[],
): readonly Item[] {
  if (searches.length === 0) return items;
  return [...items.keys(), items.length].flatMap((at) => [
    ...searches.flatMap((search, index) => (search.at === at ? render(search, index) : [])),
    ...items.slice(at, at + 1),
  ]);
}

/** Matches events that name the model. */
const NAMES_MODEL = /"model(?:Version)?"\s*:/;

/** An event of an answer that is passed on, with the model's name for clients. */
export function withModelNameInEvent(event: ServerSentEvent, model: string): ServerSentEvent {
  return repairEvent(event, NAMES_MODEL, (answer) => withModelName(answer, model));
}

/** An answer that is passed on, with the model's name for clients; the same object if it has that name, or none. */
export function withModelName(answer: JsonObject, model: string): JsonObject {
  const { message } = answer;
  if (isObject(message)) {
    const named = withModelName(message, model);
    return named === message ? answer : { ...answer, message: named };
  }
  const field = ['model', 'modelVersion'].find((name) => typeof answer[name] === 'string');
  return field === undefined || answer[field] === model ? answer : { ...answer, [field]: model };
}
