/**
 * Text generation in four formats, `/v1/chat/completions`, `/v1/responses`, `/v1/messages` and `/v1beta/models/…`, and
 * `/v1/embeddings` and `/v1/audio/…`.
 */
import type { ServerResponse } from 'node:http';
import { BadDirectiveError } from '../directives.ts';
import { parseJson, Refusal, type Route, type SimulatorRequest } from '../router.ts';
import { chatCompletions } from './chat-completions.ts';
import { badRequest, TextFailure } from './failure.ts';
import { embeddings } from './embeddings.ts';
import type { Exchange, SimulatedCount, SimulatedFormat } from './format.ts';
import { generateContent } from './generate-content.ts';
import { messages } from './messages.ts';
import { PacedWriter } from './paced-writer.ts';
import { createPromptCache, type PromptCache } from './prompt-cache.ts';
import { responses } from './responses.ts';
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
  speech,
  transcriptions,
];

/** @param apiKey the credential that clients must send; any is accepted when undefined */
export function textRoutes(apiKey: string | undefined): readonly Route[] {
  const routeFor = (format: SimulatedFormat, path: string, cache: PromptCache): Route => ({
    method: 'POST',
    path,
    handle: (request: SimulatorRequest, response: ServerResponse) =>
      answer(format, request, new PacedWriter(response, request.notes), { apiKey, cache }),
  });
  const cache = createPromptCache();
  // Counted requests are not cached.
  const countOf = (format: SimulatedFormat, count: SimulatedCount): Route =>
    routeFor(counting(format, count), count.path, createPromptCache());
  return FORMATS.flatMap((format) => [
    ...format.paths.map((path) => routeFor(format, path, cache)),
    ...(format.count === undefined ? [] : [countOf(format, format.count)]),
  ]);
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
  } catch (error) {
    return sendFailure(format, failureOf(error), false, writer);
  }
  await sendAnswer(format, exchange, script, writer);
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
