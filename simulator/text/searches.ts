/** Searches of the web that a simulated vendor runs itself. */
import type { Directives } from '../directives.ts';
import type { Conversation } from './conversation.ts';

/** The name of the tool, also where Genway offers it as a function. */
export const WEB_SEARCH = 'web_search';
const USUAL_QUERY = 'the news';

/** The queries of a conversation whose vendor may search: those of a directive, or one if the search is forced. */
export function searchesOf({ maxSearches = 0, toolChoice }: Conversation, directives: Directives): readonly string[] {
  const isForced = typeof toolChoice === 'object' && toolChoice.name === WEB_SEARCH;
  return (scriptedQueries(directives) ?? (isForced ? [USUAL_QUERY] : [])).slice(0, maxSearches);
}

/** `[sim:search=weather_in_Oslo+trains]`: two queries. */
export function scriptedQueries(directives: Directives): readonly string[] | undefined {
  return directives
    .get('search')
    ?.split('+')
    .map((query) => query.replaceAll('_', ' '));
}

export interface FoundPage {
  readonly url: string;
  readonly title: string;
  readonly content: string;
}

/** The same pages for the same query. */
export function pagesFor(query: string): readonly FoundPage[] {
  const slug = query.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return [1, 2].map((number) => ({
    url: `https://example.com/${slug}/${number}`,
    title: `Page ${number} about ${query}`,
    content: `Page ${number} says: ${query} is worth a visit.`,
  }));
}
