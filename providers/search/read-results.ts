/** Reads what search services find, within bounds. */
import { isObject, listOf, stringOf } from '../../domain/json.ts';
import type { WebSearchResult } from '../../text/canonical.ts';

export const MAX_RESULTS = 10;
const MAX_URL_LENGTH = 2_048;
const MAX_TITLE_LENGTH = 300;
const MAX_TEXT_LENGTH = 3_000;
/** No page that a model can read is longer. */
const MAX_ANSWER_BYTES = 2 ** 20;
export const SEARCH_TIMEOUT_MS = 10_000;

/** `{results: [{url, title, content}]}`, as Tavily and SearXNG have it; the names of the text differ. */
export function readResults(answer: unknown): readonly WebSearchResult[] {
  const found = isObject(answer) ? answer['results'] : answer;
  return listOf(found)
    .slice(0, MAX_RESULTS)
    .flatMap((one) => {
      if (!isObject(one)) return [];
      const url = stringOf(one['url']).slice(0, MAX_URL_LENGTH);
      const text = ['content', 'text', 'snippet', 'description'].map((name) => stringOf(one[name])).find(Boolean) ?? '';
      const title = stringOf(one['title']).slice(0, MAX_TITLE_LENGTH) || url;
      return url === '' ? [] : [{ url, title, text: text.slice(0, MAX_TEXT_LENGTH) }];
    });
}

/** Reads a text that may hold results as JSON. A text without any is the result itself. */
export function readResultText(text: string, query: string): readonly WebSearchResult[] {
  try {
    const results = readResults(JSON.parse(text));
    if (results.length > 0) return results;
  } catch {
    // Most servers answer in words.
  }
  const words = text.trim().slice(0, MAX_RESULTS * MAX_TEXT_LENGTH);
  return words === '' ? [] : [{ url: '', title: query, text: words }];
}

/** Fetches with the bounds of a search: follows no redirect, and fails beyond the longest answer. */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'error' });
  let bytes = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) controller.error(new Error('the answer of the search service is too long'));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  const body = response.body?.pipeThrough(bound) ?? null;
  // The decoded body has another length and encoding than the headers tell.
  const kept = new Headers(headers);
  for (const name of ['content-length', 'content-encoding']) kept.delete(name);
  return new Response(body, { status, statusText, headers: kept });
}
