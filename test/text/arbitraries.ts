/** Generators of canonical requests, answers and event sequences, for the invariants of every wire format. */
import * as fc from 'fast-check';
import {
  type AnswerPart,
  type FinishReason,
  type StreamEvent,
  type TextRequest,
  type TextResult,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  type Usage,
  UNREPORTED_USAGE,
} from '../../text/canonical.ts';
import { eventsOf } from './answers.ts';
import { compact } from '../../text/read.ts';

/** Text with multi-byte characters, line ends and quotes; never empty. */
export const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom('你好', '👩‍👩‍👧', 'a\r\nb', '"quoted" \\', '\u2028', ': x', 'data: y\n\n'),
);

const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const json = fc
  .dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)), {
    maxKeys: 3,
    noNullPrototype: true,
  })
  .map((value) => JSON.stringify(value));

function toolCall(callId: string): fc.Arbitrary<ToolCallPart> {
  return fc.record({ type: fc.constant('tool-call' as const), callId: fc.constant(callId), name, arguments: json });
}

const textPart = text.map((value) => ({ type: 'text', text: value }) as const);
const reasoningPart = fc
  .tuple(text, fc.option(fc.base64String({ minLength: 4, maxLength: 12 }), { nil: undefined }))
  .map(([value, signature]) => compact({ type: 'reasoning', text: value, signature } as const));

/** Parts in any order. No two neighbours are both text or both reasoning, since no format separates them. */
const answerParts: fc.Arbitrary<readonly AnswerPart[]> = fc
  .array(fc.constantFrom('text', 'reasoning', 'tool-call'), { maxLength: 5 })
  .map((kinds) => kinds.filter((kind, index) => kind === 'tool-call' || kind !== kinds[index - 1]))
  .chain((kinds) =>
    fc.tuple(
      ...kinds.map((kind, index): fc.Arbitrary<AnswerPart> => {
        if (kind === 'tool-call') return toolCall(`call_${index}`);
        return kind === 'text' ? textPart : reasoningPart;
      }),
    ),
  );

const count = fc.option(fc.nat({ max: 1_000_000 }));

/** Usage whose parts fit into their totals, any of them unreported. */
export const usage: fc.Arbitrary<Usage> = fc
  .record({
    cacheRead: count,
    cacheWrite: count,
    cacheWrite1h: count,
    reasoning: count,
    // A message stream cannot tell a count of 0 from a count that is not known yet.
    input: fc.integer({ min: 1, max: 1000 }),
    output: fc.nat(1000),
  })
  .map(({ cacheRead, cacheWrite, cacheWrite1h, reasoning, input, output }) => ({
    ...UNREPORTED_USAGE,
    inputTotal: input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: cacheWrite && cacheWrite1h && Math.min(cacheWrite1h, cacheWrite),
    outputTotal: output + (reasoning ?? 0),
    reasoning,
  }));

const plainReasons: readonly FinishReason[] = ['stop', 'length'];

function finishFor(parts: readonly AnswerPart[]): fc.Arbitrary<TextResult['choices'][number]['finish']> {
  if (parts.some((part) => part.type === 'tool-call')) return fc.constant({ reason: 'tool-calls' });
  return fc.oneof(
    fc.constantFrom(...plainReasons).map((reason) => ({ reason })),
    text.map((stopSequence) => ({ reason: 'stop-sequence' as const, stopSequence })),
  );
}

const choice = answerParts.chain((parts) => finishFor(parts).map((finish) => ({ parts, finish })));

/** Call ids are unique in a whole answer, not only in one choice. */
function withOwnCallIds(parts: readonly AnswerPart[], choiceIndex: number): readonly AnswerPart[] {
  return parts.map((part) => (part.type === 'tool-call' ? { ...part, callId: `${part.callId}_${choiceIndex}` } : part));
}

/** A whole answer with one choice, or with up to `maximumChoices`. */
export function result(maximumChoices = 1): fc.Arbitrary<TextResult> {
  return fc.record({
    id: fc.option(name),
    model: fc.option(name),
    choices: fc
      .array(choice, { minLength: 1, maxLength: maximumChoices })
      .map((choices) => choices.map(({ parts, finish }, index) => ({ parts: withOwnCallIds(parts, index), finish }))),
    usage,
  });
}

/** Legal events of one answer, whose deltas are cut at generated places. */
export function events(maximumChoices = 1): fc.Arbitrary<readonly StreamEvent[]> {
  return fc
    .tuple(result(maximumChoices), fc.infiniteStream(fc.integer({ min: 1, max: 6 })), fc.boolean())
    .map(([answer, sizes, startsWithUsage]) => {
      const whole = [...eventsOf(answer)].flatMap((event) => ('text' in event ? cut(event, sizes) : [event]));
      const early: StreamEvent[] = startsWithUsage ? [{ type: 'usage', usage: answer.usage }] : [];
      return [...whole.slice(0, 1), ...early, ...whole.slice(1)];
    });
}

/** The same delta in pieces that keep surrogate pairs together, as upstreams do. */
function cut(event: Extract<StreamEvent, { text: string }>, sizes: Iterator<number>): StreamEvent[] {
  const characters = Array.from(event.text);
  const pieces: StreamEvent[] = [];
  while (characters.length > 0) {
    pieces.push({ ...event, text: characters.splice(0, Number(sizes.next().value)).join('') });
  }
  return pieces;
}

const image = fc.oneof(
  fc
    .base64String({ minLength: 4, maxLength: 8 })
    .map((data) => ({ kind: 'base64', mediaType: 'image/png', data }) as const),
  fc.constant({ kind: 'url', url: 'https://example.com/a.png', mediaType: 'image/png' } as const),
);
const imagePart = image.map((source) => ({ type: 'image', source }) as const);
const inputParts = fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 3 });

/** A message and, after tool calls, their results in the order of the calls. `index` makes ids unique. */
function exchange(index: number): fc.Arbitrary<Turn[]> {
  return fc.tuple(inputParts, fc.option(textPart), fc.nat({ max: 3 })).chain(([input, said, callCount]) => {
    const calls = fc.tuple(...Array.from({ length: callCount }, (_, call) => toolCall(`call_${index}_${call}`)));
    return fc.tuple(calls, text).map(([made, output]): Turn[] => {
      const answer: AnswerPart[] = [...(said === null ? [] : [said]), ...made];
      const results = made.map((call): ToolResultPart => {
        return { type: 'tool-result', callId: call.callId, name: call.name, content: [{ type: 'text', text: output }] };
      });
      return [
        { role: 'user', parts: input },
        ...(answer.length === 0 ? [] : [{ role: 'assistant', parts: answer } as const]),
        ...(results.length === 0 ? [] : [{ role: 'tool', parts: results } as const]),
      ];
    });
  });
}

const conversation = fc
  .tuple(fc.option(textPart), fc.tuple(exchange(0), exchange(1), exchange(2)), textPart)
  .map(([system, exchanges, last]): Turn[] => [
    ...(system === null ? [] : [{ role: 'system', parts: [system] } as const]),
    ...exchanges.flat(),
    { role: 'user', parts: [last] },
  ]);

const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const fraction = fc.integer({ min: 0, max: 20 }).map((twentieths) => twentieths / 20);
const schema = fc.constant({ type: 'object', properties: { place: { type: 'string' } }, required: ['place'] });
const tools = fc.uniqueArray(fc.record({ name, description: text, parameters: schema }), {
  maxLength: 2,
  selector: (tool) => tool.name,
});

/** A request of the fields that all four formats have; each format's own fields have tests of their own. */
export const request: fc.Arbitrary<TextRequest> = tools.chain((offered) =>
  fc
    .record({
      turns: conversation,
      stream: fc.boolean(),
      toolChoice: offered.length === 0 ? fc.constant(undefined) : optional(fc.constant({ type: 'auto' } as const)),
      maxOutputTokens: fc.integer({ min: 1, max: 100_000 }),
      temperature: optional(fraction),
      topP: optional(fraction.filter((value) => value > 0)),
    })
    .map(({ turns, stream, toolChoice, ...sampling }) =>
      compact({ model: 'texth-4-argon', turns, stream, tools: offered, toolChoice, sampling: compact(sampling) }),
    ),
);
