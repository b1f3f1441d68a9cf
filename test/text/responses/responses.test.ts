import { expect } from 'chai';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { JsonObject } from '../../../domain/json.ts';
import type { FinishReason, TextRequest, TextResult } from '../../../text/canonical.ts';
import { compact } from '../../../text/read.ts';
import { responses } from '../../../text/responses/index.ts';
import type { ServerSentEvent } from '../../../text/sse.ts';
import { mergeNeighbours } from '../../../text/turns.ts';
import { itKeepsTheLawsOfAFormat } from '../support.ts';

/** Accumulates events with the openai package; the result is the response in the last event. */
function foldStream(events: readonly ServerSentEvent[]): JsonObject {
  let snapshot: Response | undefined;
  let output: unknown;
  for (const [index, { event: name, data }] of events.entries()) {
    const event: ResponseStreamEvent = JSON.parse(data);
    expect(event.type).to.equal(name);
    expect(event).to.have.property('sequence_number', index);
    output = snapshot?.output;
    snapshot = accumulateResponse(event, snapshot);
  }
  expect(output).to.deep.equal(snapshot?.output);
  const { output_text: _text, ...response } = { ...snapshot };
  return response;
}

const REASONS: Partial<Record<FinishReason, FinishReason>> = { 'stop-sequence': 'stop' };

/** The details of the usage are always there, 0 when unreported; the cache lifetime is omitted. */
function expressibleResult(result: TextResult): TextResult {
  const { cacheRead, cacheWrite, reasoning } = result.usage;
  return {
    ...result,
    choices: result.choices.map(({ parts, finish }) => ({
      parts,
      finish: { reason: REASONS[finish.reason] ?? finish.reason },
    })),
    usage: {
      ...result.usage,
      cacheRead: cacheRead ?? 0,
      cacheWrite: cacheWrite ?? 0,
      cacheWrite1h: null,
      reasoning: reasoning ?? 0,
    },
  };
}

/** Neighbours are one message, results have no names, links no media types, and tools have a strict flag. */
function expressibleRequest(request: TextRequest): TextRequest {
  const turns = request.turns.map((turn): TextRequest['turns'][number] => {
    if (turn.role === 'tool') return { role: 'tool', parts: turn.parts.map(({ name: _name, ...part }) => part) };
    if (turn.role !== 'user') return turn;
    const parts = turn.parts.map((part) => {
      if (part.type === 'text' || part.source.kind === 'base64') return part;
      return { ...part, source: { kind: 'url', url: part.source.url } } as const;
    });
    return { role: 'user', parts };
  });
  const { maxOutputTokens = 16, ...sampling } = request.sampling;
  return compact({
    ...request,
    turns: mergeNeighbours(turns),
    tools: request.tools.map((tool) => ({ strict: false, ...tool })),
    sampling: { ...sampling, maxOutputTokens: Math.max(maxOutputTokens, 16) },
  });
}

describe('responses', () => {
  itKeepsTheLawsOfAFormat(responses, { foldStream, expressibleResult, expressibleRequest });
});
