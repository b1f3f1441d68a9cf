/**
 * Summaries of conversations, by which agents shorten them: the last item of the input asks for one, and the answer is an item
 * that later requests send back (https://platform.openai.com/docs/guides/compaction). Upstreams of the format encrypt theirs.
 * For models of other formats Genway asks for a summary in words, and encodes it.
 */
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import type { TextRequest, Turn } from '../canonical.ts';
import { COMPACTION_ITEMS, type CompactionItem } from './types.ts';

export const COMPACTION_TRIGGER = 'compaction_trigger';

/** Before the Base64 of a summary that Genway encoded. No upstream's origin has this mark. */
const MARK = 'gw-summary.';

const QUESTION =
  'Summarize the conversation so far for an assistant that will continue it without seeing it: what the user wants and demands, ' +
  'what was done and decided, what is left to do, and the names, paths and values that matter. Answer with the summary alone.';

const HEADING = 'Summary of the conversation before:';

/** Whether the request asks for a summary instead of an answer. */
export function asksForSummary({ input }: JsonObject): boolean {
  return objectOf(listOf(input).at(-1))['type'] === COMPACTION_TRIGGER;
}

/** The request for a summary in words, without calls. */
export function summaryRequest(request: TextRequest): TextRequest {
  const turn: Turn = { role: 'user', parts: [{ type: 'text', text: QUESTION }] };
  return {
    ...request,
    turns: [...request.turns, turn],
    toolChoice: request.tools.length === 0 ? undefined : { type: 'none' },
    webSearch: undefined,
    outputFormat: undefined,
    isSummary: true,
  };
}

export function renderSummaryItem(summary: string, id: string): CompactionItem {
  return { id, type: 'compaction', encrypted_content: MARK + Buffer.from(summary).toString('base64') };
}

/** The text of an item with a summary that Genway encoded, for the model to read; null for any other item. */
export function readSummary({ type, encrypted_content: content }: JsonObject): string | null {
  if (typeof content !== 'string' || !content.startsWith(MARK)) return null;
  if (!COMPACTION_ITEMS.some((known) => known === type)) return null;
  return `${HEADING}\n\n${Buffer.from(content.slice(MARK.length), 'base64').toString()}`;
}
