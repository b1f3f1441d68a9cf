/**
 * The rounds of an answer whose searches the operator's service runs: the model calls a function, Genway appends what the
 * search found, and asks the model again. The client gets one answer, in which the searches are those of its format.
 */
import { stringOf } from '../domain/json.ts';
import type { AnswerPart, FoundOnWeb, StreamEvent, TextRequest, ToolChoice, Turn, Usage } from './canonical.ts';
import { UNREPORTED_USAGE } from './canonical.ts';
import { collect } from './collect.ts';
import { addUsage, JoinedCalls } from './join-choices.ts';
import type { Stage } from './stage.ts';
import { WEB_SEARCH } from './web-search.ts';

/** A search that the model asked for. */
export interface WantedSearch {
  readonly callId: string;
  /** Empty if the call has none. */
  readonly query: string;
}

const DESCRIPTION =
  'Searches the web, and returns pages with their addresses and texts. Name the pages that you use in the answer.';
const PARAMETERS = {
  type: 'object',
  properties: { query: { type: 'string', description: 'What to search for' } },
  required: ['query'],
  additionalProperties: false,
} as const;
const MAX_QUERY_LENGTH = 400;

export class SearchRounds extends JoinedCalls {
  /** The searches of the latest round, which wait for their results; none once the answer is complete. */
  wanted: readonly WantedSearch[] = [];
  /** Whether the model may search in the next round, or in the one that runs. */
  maySearch: boolean;
  isComplete = false;
  readonly #request: TextRequest;
  readonly #toolName: string;
  /** The turns of the rounds so far. */
  readonly #turns: Turn[] = [];
  /** The parts of the latest round. */
  #parts: readonly AnswerPart[] = [];
  #recorded: StreamEvent[] = [];
  #usage: Usage = UNREPORTED_USAGE;
  #searches = 0;

  constructor(request: TextRequest, maySearch: boolean) {
    super();
    this.#request = request;
    this.maySearch = maySearch;
    const names = new Set(request.tools.map(({ name }) => name));
    let name = WEB_SEARCH;
    while (names.has(name)) name += '_';
    this.#toolName = name;
  }

  /**
   * The request of the next round.
   *
   * @param maySearch whether the model may search in this round
   * @param maxOutputTokens the output bound that is left; undefined for none
   */
  nextRequest(maySearch: boolean, maxOutputTokens: number | undefined): TextRequest {
    const { tools, turns, sampling } = this.#request;
    const search = { name: this.#toolName, description: DESCRIPTION, parameters: PARAMETERS };
    // Upstreams refuse a conversation with calls and without tools.
    const keepsTool = maySearch || tools.length === 0;
    return {
      ...this.#request,
      webSearch: undefined,
      tools: keepsTool ? [...tools, search] : tools,
      toolChoice: this.#choiceOf(maySearch),
      turns: [...turns, ...this.#turns],
      sampling: { ...sampling, maxOutputTokens },
    };
  }

  /** The choice of tools. After the first round, a choice that forces a call would force it for ever. */
  #choiceOf(maySearch: boolean): ToolChoice | undefined {
    const { tools, toolChoice } = this.#request;
    if (!maySearch && tools.length === 0) return { type: 'none' };
    if (toolChoice?.type === 'none') return toolChoice;
    if (this.#turns.length > 0) return undefined;
    const isSearch = toolChoice?.type === 'tool' && toolChoice.name === WEB_SEARCH;
    if (!isSearch) return toolChoice;
    return maySearch ? { type: 'tool', name: this.#toolName } : undefined;
  }

  /** Appends the results of {@link wanted}, as the model reads them. @param count the searches that are charged */
  addResults(texts: readonly { readonly text: string; readonly isError: boolean }[], count: number): void {
    const results = this.wanted.map(({ callId }, index) => {
      const { text = '', isError = true } = texts[index] ?? {};
      const content = [{ type: 'text', text } as const];
      return { type: 'tool-result', callId, name: this.#toolName, content, isError: isError || undefined } as const;
    });
    this.#turns.push({ role: 'assistant', parts: this.#parts }, { role: 'tool', parts: results });
    this.#searches += count;
    this.wanted = [];
  }

  /** Records the answer before the client's wishes about reasoning apply: the model expects back its signatures. */
  override record(): Stage<StreamEvent, StreamEvent> {
    const events: StreamEvent[] = [];
    return {
      push: (event, emit) => {
        events.push(event);
        emit(event);
      },
      end: () => {
        this.#recorded = events;
      },
    };
  }

  stage(round: number): Stage<StreamEvent, StreamEvent> {
    const searches = new Set<string>();
    let hasOwnCalls = false;
    let usage = UNREPORTED_USAGE;
    let finish: Extract<StreamEvent, { type: 'finish' }> = { type: 'finish', reason: 'stop' };
    return {
      push: (event, emit) => {
        if (event.type === 'usage') usage = event.usage;
        else if (event.type === 'finish') finish = event;
        else if (event.type === 'response-start') {
          if (round === 0) emit(event);
        } else if (event.type === 'audio-delta' || event.type === 'image' || event.type === 'logprobs') emit(event);
        else if (event.type === 'tool-input-start' && event.name === this.#toolName) searches.add(event.id);
        else if (!searches.has(event.id)) {
          hasOwnCalls ||= event.type === 'tool-input-start';
          emit({ ...event, id: `${round}-${event.id}` });
        }
      },
      end: (emit) => {
        this.#usage = round === 0 ? usage : addUsage(this.#usage, usage);
        this.#endRound(searches.size > 0 && !hasOwnCalls && finish.reason !== 'length');
        if (!this.isComplete) return;
        emit({ type: 'usage', usage: { ...this.#usage, webSearches: this.#searches || null } });
        emit(
          searches.size > 0 && !hasOwnCalls && finish.reason === 'tool-calls' ? { ...finish, reason: 'stop' } : finish,
        );
      },
    };
  }

  #endRound(wantsSearches: boolean): void {
    this.isComplete = !wantsSearches || !this.maySearch;
    if (this.isComplete) return;
    this.#parts = collect(this.#recorded).choices[0]?.parts ?? [];
    this.wanted = this.#parts.flatMap((part) =>
      part.type === 'tool-call' && part.name === this.#toolName
        ? [{ callId: part.callId, query: queryOf(part.arguments) }]
        : [],
    );
  }

  /** Adds the event of a search to the answer. @returns its part of the client's stream, if the client streams */
  show(event: StreamEvent): string[] {
    this.events.push(event);
    const shown: string[] = [];
    this.lastStage?.push(event, (text) => shown.push(text));
    return shown;
  }
}

function queryOf(text: string): string {
  try {
    const input: unknown = JSON.parse(text);
    return stringOf(Object(input).query).trim().slice(0, MAX_QUERY_LENGTH);
  } catch {
    return '';
  }
}

/** What the model reads of a search. */
export function resultText({ results, error }: FoundOnWeb): string {
  if (error === 'max_uses_exceeded') return 'No more searches are possible. Answer with what you know.';
  if (error !== undefined) return 'The search failed. Answer without it, or try another query.';
  if (results.length === 0) return 'The search found nothing.';
  return results.map(({ url, title, text }) => `${title}\n${url}\n${text}`).join('\n\n');
}
