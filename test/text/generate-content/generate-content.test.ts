import { expect } from 'chai';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../domain/json.ts';
import type { AnswerPart, FinishReason, TextRequest, TextResult } from '../../../text/canonical.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { compact } from '../../../text/read.ts';
import type { ServerSentEvent } from '../../../text/sse.ts';
import { mergeNeighbours } from '../../../text/turns.ts';
import { itKeepsTheLawsOfAFormat } from '../support.ts';

interface FoldedCandidate {
  content: { role: unknown; parts: JsonObject[] };
  finishReason?: unknown;
  index: number;
}

/** Joins the candidates of all events by their index, and consecutive texts. */
function foldStream(events: readonly ServerSentEvent[]): JsonObject {
  const candidates: FoldedCandidate[] = [];
  let response: JsonObject = {};
  for (const event of events) {
    const chunk = objectOf(JSON.parse(event.data));
    response = { ...chunk, candidates };
    for (const item of listOf(chunk['candidates'])) {
      const { index, content, finishReason } = objectOf(item);
      const { role, parts } = objectOf(content);
      const at = Number(index);
      const candidate = (candidates[at] ??= { content: { role, parts: [] }, index: at });
      for (const part of listOf(parts)) foldPart(candidate.content.parts, objectOf(part));
      if (finishReason !== undefined) candidate.finishReason = finishReason;
    }
  }
  return response;
}

function foldPart(parts: JsonObject[], part: JsonObject): void {
  const last = parts.at(-1);
  if (part['text'] === '' && last !== undefined) return;
  if (typeof part['text'] === 'string' && typeof last?.['text'] === 'string') {
    parts[parts.length - 1] = { text: stringOf(last['text']) + part['text'] };
  } else {
    parts.push(part);
  }
}

const REASONS: Partial<Record<FinishReason, FinishReason>> = { 'stop-sequence': 'stop' };

/** An answer has no reasoning, and consecutive texts are one. */
function expressibleParts(parts: readonly AnswerPart[]): AnswerPart[] {
  const expressible: AnswerPart[] = [];
  for (const part of parts) {
    const last = expressible.at(-1);
    if (part.type === 'reasoning') continue;
    if (part.type === 'text' && last?.type === 'text') {
      expressible[expressible.length - 1] = { type: 'text', text: last.text + part.text };
    } else {
      expressible.push(part);
    }
  }
  return expressible;
}

/** Cache writes are not counted. */
function expressibleResult(result: TextResult): TextResult {
  const choices = result.choices.map(({ parts, finish }) => ({
    parts: expressibleParts(parts),
    finish: { reason: REASONS[finish.reason] ?? finish.reason },
  }));
  return { ...result, choices, usage: { ...result.usage, cacheWrite: null, cacheWrite1h: null } };
}

/** Neighbours of one role are one message, and the tool choice has no effect. */
function expressibleRequest(request: TextRequest): TextRequest {
  return compact({ ...request, turns: mergeNeighbours(request.turns), toolChoice: undefined });
}

describe('native format', () => {
  itKeepsTheLawsOfAFormat(generateContent, {
    foldStream,
    expressibleResult,
    expressibleRequest,
    addressOf: (_, { model, stream }) => ({ address: { model, stream } }),
    maximumChoices: 3,
  });

  it('has the model and the streaming mode in the path of a request', () => {
    const options = { model: 'upstream/model', apiKey: 'secret' };
    const request = {
      model: 'texth-4-argon',
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    } as const;
    const paths = [true, false].map((stream) => {
      const built = generateContent.upstream.buildRequest({ ...request, stream, tools: [], sampling: {} }, options);
      expect(built.headers).to.deep.equal({ 'x-goog-api-key': 'secret' });
      return built.path;
    });
    expect(paths).to.deep.equal([
      '/models/upstream%2Fmodel:streamGenerateContent?alt=sse',
      '/models/upstream%2Fmodel:generateContent',
    ]);
  });
});
