/** The content of an answer stays the same between any two formats, whole and streamed, for any split of the stream. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { AnswerPart, FinishReason, TextResult } from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { FORMATS } from '../../text/formats.ts';
import { resultOf } from './answers.ts';
import * as arbitrary from './arbitraries.ts';
import { answerOfStream, roundTrip } from './support.ts';
import { casesOf } from '../support/properties.ts';

/** The content of an answer that every format can express. */
interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly unknown[];
  readonly reason: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Finish reasons that some formats share one word for. */
const REASONS: Partial<Record<FinishReason, string>> = {
  'stop-sequence': 'stop',
};

function joined(parts: readonly AnswerPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function said({ choices, usage }: TextResult): Said {
  const { parts = [], finish = { reason: 'stop' } } = choices[0] ?? {};
  return {
    text: joined(parts, 'text'),
    reasoning: joined(parts, 'reasoning'),
    calls: parts.flatMap((part) => (part.type === 'tool-call' ? [[part.name, JSON.parse(part.arguments)]] : [])),
    reason: REASONS[finish.reason] ?? finish.reason,
    input: usage.inputTotal ?? 0,
    cached: usage.cacheRead ?? 0,
    output: usage.outputTotal ?? 0,
  };
}

function callIdsOf({ choices }: TextResult): string[] {
  return choices.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool-call' ? part.callId : [])));
}

/** The native format shows no reasoning. */
function expected(result: TextResult, formats: readonly WireFormatName[]): Said {
  const answer = said(result);
  return formats.includes('generate-content') ? { ...answer, reasoning: '' } : answer;
}

describe('an answer', () => {
  for (const upstream of WIRE_FORMAT_NAMES) {
    for (const client of WIRE_FORMAT_NAMES) {
      it(`keeps its meaning from ${upstream} to ${client}`, () => {
        fc.assert(
          fc.property(arbitrary.events(), (events) => {
            const { whole, streamed } = roundTrip(FORMATS[client], FORMATS[upstream], events);
            const answer = collect(events);
            for (const read of [
              resultOf(FORMATS[client].upstream.parseResult(whole)),
              answerOfStream(FORMATS[client], streamed),
            ]) {
              expect(said(read)).to.deep.equal(expected(answer, [upstream, client]));
              expect(new Set(callIdsOf(read)).size).to.equal(callIdsOf(answer).length);
            }
          }),
          { numRuns: casesOf(40) },
        );
      });
    }
  }
});
