/**
 * Text generation in four formats, `/v1/chat/completions`, `/v1/responses`, `/v1/messages` and `/v1beta/models/…`, and
 * `/v1/embeddings`, `/v1/rerank` and `/v1/audio/…`.
 */
import type { ServerResponse } from 'node:http';
import { objectOf, stringOf } from '../../domain/json.ts';
import { BadDirectiveError } from '../directives.ts';
import { parseJson, Refusal, type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import { batchRoutes } from './batches.ts';
import { chatCompletions } from './chat-completions.ts';
import { badRequest, TextFailure } from './failure.ts';
import { embeddings } from './embeddings.ts';
import type { Exchange, SimulatedCount, SimulatedFormat } from './format.ts';
import { generateContent } from './generate-content.ts';
import { createMarkCounts, type MarkCounts } from './mark-counts.ts';
import { messages } from './messages.ts';
import { PacedWriter } from './paced-writer.ts';
import { createPromptCache, type PromptCache } from './prompt-cache.ts';
import { responses } from './responses.ts';
import { rerank } from './rerank.ts';
import { pagesFor } from './searches.ts';
import { speech } from './speech.ts';
import { transcriptions } from './transcriptions.ts';
import { promptOf, writeScript, type Script } from './script.ts';
import { sendAnswer, sendFailure } from './send-answer.ts';

const FORMATS: readonly SimulatedFormat[] = [
  chatCompletions,
  responses,
  messages,
  generateContent,
  embeddings,
  rerank,
  speech,
  transcriptions,
];

/** @param apiKey the credential that clients must send; any is accepted when undefined */
export function textRoutes(apiKey: string | undefined): readonly Route[] {
  const routeFor = (format: SimulatedFormat, path: string, cache: PromptCache): Route => ({
    method: 'POST',
    path,
    handle: (request: SimulatorRequest, response: ServerResponse) =>
      answer(format, request, new PacedWriter(response, request.notes), { apiKey, cache, marks }),
  });
  const cache = createPromptCache();
  const marks = createMarkCounts();
  // Counted requests are not cached.
  const countOf = (format: SimulatedFormat, count: SimulatedCount): Route =>
    routeFor(counting(format, count), count.path, createPromptCache());
  const batches = batchRoutes({
    apiKey,
    formats: { chat: chatCompletions, responses, embeddings, messages, native: generateContent },
    answer: (format, body, request) => answerWhole(format, body, request, cache),
  });
  const search: Route = { method: 'POST', path: '/search', handle: answerSearch };
  const texts = FORMATS.flatMap((format) => [
    ...format.paths.map((path) => routeFor(format, path, cache)),
    ...(format.count === undefined ? [] : [countOf(format, format.count)]),
  ]);
  const inspection = route('GET', '/_sim/marks', (_request, response) =>
    sendJson(response, 200, { data: Object.fromEntries(marks.counts) }),
  );
  return [...batches, ...texts, search, inspection];
}

/** The operator's service for searches of the web: docs/upstreams.md. */
async function answerSearch(request: SimulatorRequest, response: ServerResponse): Promise<void> {
  const { query } = objectOf(parseJson(request));
  sendJson(response, 200, { results: pagesFor(stringOf(query)) });
}

/** The format with counts of the input instead of answers. */
function counting(format: SimulatedFormat, { requestIn, render }: SimulatedCount): SimulatedFormat {
  return {
    ...format,
    open: (body, request) => ({
      ...format.open(requestIn(body), request),
      renderWhole: ({ usage }) => render(usage?.input ?? 0),
    }),
  };
}

interface AnswerOptions {
  readonly apiKey: string | undefined;
  readonly cache: PromptCache;
  readonly marks: MarkCounts;
}

async function answer(
  format: SimulatedFormat,
  request: SimulatorRequest,
  writer: PacedWriter,
  options: AnswerOptions,
): Promise<void> {
  let exchange: Exchange;
  let script: Script;
  try {
    format.requireCredential(request, options.apiKey);
    exchange = format.open(format.readBody?.(request) ?? parseJson(request), request);
    script = scriptOf(exchange, options.cache);
    if (script.mark !== undefined) options.marks.add(script.mark);
  } catch (error) {
    return sendFailure(format, failureOf(error), false, writer);
  }
  await sendAnswer(format, exchange, script, writer);
}

/** The answer to a request of a batch. */
function answerWhole(
  format: SimulatedFormat,
  body: unknown,
  request: SimulatorRequest,
  cache: PromptCache,
): { readonly status: number; readonly body: unknown } {
  try {
    const exchange = format.open(body, request);
    const script = scriptOf(exchange, cache);
    if (script.faults.failure !== null) throw script.faults.failure;
    return { status: 200, body: exchange.renderWhole(script) };
  } catch (error) {
    const failed = format.renderFailure(failureOf(error), false);
    return { status: failed.status, body: JSON.parse(failed.body) };
  }
}

function scriptOf({ conversation }: Exchange, cache: PromptCache): Script {
  const prompt = promptOf(conversation);
  return writeScript(conversation, prompt, cache.take(conversation.model, prompt));
}

function failureOf(error: unknown): TextFailure {
  if (error instanceof TextFailure) return error;
  if (error instanceof Refusal || error instanceof BadDirectiveError) return badRequest(error.message);
  throw error;
}
