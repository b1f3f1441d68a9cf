import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { AnswerPart } from '../../../text/canonical.ts';
import { responses } from '../../../text/responses/index.ts';
import { encodeEvent } from '../../../text/sse.ts';
import { resultOf } from '../answers.ts';
import { answerOfStream } from '../support.ts';

function partsOfStream(events: readonly JsonObject[]): readonly AnswerPart[] {
  const text = events.map((event) => encodeEvent(JSON.stringify(event))).join('');
  return answerOfStream(responses, text).choices[0]?.parts ?? [];
}

function partsOfWhole(output: readonly JsonObject[]): readonly AnswerPart[] {
  return resultOf(responses.upstream.parseResult({ status: 'completed', output })).choices[0]?.parts ?? [];
}

const completed = (output: readonly JsonObject[]): JsonObject => ({
  type: 'response.completed',
  response: { status: 'completed', output },
});
const message = (text: string, id?: string): JsonObject => ({
  type: 'message',
  id,
  content: [{ type: 'output_text', text }],
});
const reasoning = (text: string, id?: string): JsonObject => ({
  type: 'reasoning',
  id,
  summary: [{ type: 'summary_text', text }],
});
const call = (callId: string, at: number): JsonObject => ({
  type: 'function_call',
  call_id: callId,
  name: 'look',
  arguments: `{"at":${at}}`,
});
const done = (item: JsonObject, output_index?: number): JsonObject => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const said = (delta: string, output_index?: number, item_id?: string): JsonObject => ({
  type: 'response.output_text.delta',
  output_index,
  item_id,
  delta,
});

/** How a stream sends one item. */
interface Telling {
  readonly kind: 'message' | 'reasoning' | 'function_call';
  readonly isAnnounced: boolean;
  readonly pieces: number;
  readonly isEnded: boolean;
  /** Whether the finished response has the item. */
  readonly isFinal: boolean;
}

const DELTAS = {
  message: 'response.output_text.delta',
  reasoning: 'response.reasoning_summary_text.delta',
  function_call: 'response.function_call_arguments.delta',
};

function itemOf(kind: Telling['kind'], index: number): { readonly item: JsonObject; readonly text: string } {
  const text = `${kind} of ${index}`;
  if (kind === 'message') return { item: message(text), text };
  if (kind === 'reasoning') return { item: reasoning(text), text };
  return { item: call(`call_${index}`, index), text: `{"at":${index}}` };
}

/** The events of an item: its announcement or first delta, then deltas or the whole item at its end. */
function eventsOf(telling: Telling, place: number, index: number | undefined, newId: () => string): JsonObject[] {
  const { kind, isAnnounced, pieces, isEnded } = telling;
  const { item, text } = itemOf(kind, place);
  const { content: _content, summary: _summary, arguments: _arguments, ...empty } = item;
  const size = Math.ceil(text.length / Math.max(pieces, 1));
  const deltas = Array.from({ length: pieces }, (_, piece) => ({
    type: DELTAS[kind],
    output_index: index,
    item_id: newId(),
    delta: text.slice(piece * size, (piece + 1) * size),
  }));
  return [
    ...(isAnnounced
      ? [{ type: 'response.output_item.added', output_index: index, item: { ...empty, id: newId() } }]
      : []),
    ...deltas,
    ...(isEnded ? [done({ ...item, id: newId() }, index)] : []),
  ];
}

const telling: fc.Arbitrary<Telling> = fc
  .record({
    kind: fc.constantFrom('message', 'reasoning', 'function_call'),
    isAnnounced: fc.boolean(),
    pieces: fc.nat(3),
    isEnded: fc.boolean(),
    isFinal: fc.boolean(),
  })
  // An item that no event has is no part of the answer; a call starts with its announcement or is sent at its end.
  .map((told) => ({
    ...told,
    isEnded: told.isEnded || !told.isFinal,
    isAnnounced: told.isAnnounced || told.kind === 'function_call',
  }));

describe('the items of a streamed response', () => {
  it('are emitted once, for any references of their events and any omissions in the last event', () => {
    const ids = fc.constantFrom('stable', 'rotating', 'none');
    const indexes = fc.constantFrom('all', 'none', 'gaps');
    fc.assert(
      fc.property(fc.array(telling, { maxLength: 6 }), ids, indexes, (tellings, idKind, indexKind) => {
        let count = 0;
        const idsFor = (place: number) => (): string => {
          count += 1;
          return idKind === 'none' ? '' : `id_${idKind === 'stable' ? place : `rotating_${count}`}`;
        };
        // Without indexes and ids, the announcement or the end of an item distinguishes it from the next; where the
        // last event omits an item, another item in its place cannot be told from a new one.
        const leavesOut = tellings.some(({ isFinal }) => !isFinal);
        const told = tellings.map((each) => ({
          ...each,
          isAnnounced: each.isAnnounced || indexKind === 'none',
          isEnded: each.isEnded || indexKind === 'none' || leavesOut,
        }));
        const events = told.flatMap((each, place) =>
          eventsOf(each, place, { all: place, gaps: 2 * place + 1, none: undefined }[indexKind], idsFor(place)),
        );
        const items = told.map(({ kind }, place) => itemOf(kind, place).item);
        const output = items
          .map((item, place) => ({ ...item, id: idsFor(place)() }))
          .filter((_, place) => told[place]?.isFinal);
        const sorted = (parts: readonly AnswerPart[]): unknown[] => parts.map((part) => JSON.stringify(part)).sort();
        expect(sorted(partsOfStream([...events, completed(output)]))).to.deep.equal(sorted(partsOfWhole(items)));
      }),
    );
  });

  it('are not repeated when the last event lacks an item before them', () => {
    const output = [message('Yes.', 'm')];
    const expected = [
      { type: 'reasoning', text: 'Hm' },
      { type: 'text', text: 'Yes.' },
    ];
    const thought = { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Hm' };
    for (const id of ['m', 'another', '']) {
      const events = [thought, done(reasoning('Hm', 'r'), 0), said('Yes.', 1, id), done(message('Yes.', id), 1)];
      expect(partsOfStream([...events, completed(output)])).to.deep.equal(expected);
    }
    const search = { type: 'response.output_item.added', output_index: 0, item: { type: 'web_search_call' } };
    expect(partsOfStream([search, said('Yes.', 1), completed(output)])).to.deep.equal([expected[1]]);
    expect(partsOfStream([said('Yes.', 3), said(' No.', 7), completed([message(' No.')])])).to.deep.equal([
      expected[1],
      { type: 'text', text: ' No.' },
    ]);
  });

  it('are completed with the text that their deltas omitted', () => {
    expect(partsOfStream([said('Ye', 0), done(message('Yes.'), 0), completed([])])).to.deep.equal([
      { type: 'text', text: 'Yes.' },
    ]);
    expect(partsOfStream([said('Ye', 0), completed([message('Yes.')])])).to.deep.equal([
      { type: 'text', text: 'Yes.' },
    ]);
  });

  it('stay separate when all have the same index', () => {
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: { ...call('a', 1), arguments: '' } },
      done(call('a', 1), 0),
      { type: 'response.output_item.added', output_index: 0, item: { ...call('b', 2), arguments: '' } },
      done(call('b', 2), 0),
    ];
    const expected = partsOfWhole([call('a', 1), call('b', 2)]);
    for (const output of [[], [call('b', 2)], [call('a', 1), call('b', 2)]]) {
      expect(partsOfStream([...events, completed(output)])).to.deep.equal(expected);
    }
  });

  it('keep their announced arguments if nothing replaces them', () => {
    const added = { type: 'response.output_item.added', output_index: 0, item: call('a', 1) };
    const delta = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"at":1}' };
    const expected = partsOfWhole([call('a', 1)]);
    expect(partsOfStream([added, completed([])])).to.deep.equal(expected);
    expect(partsOfStream([added, delta, completed([])])).to.deep.equal(expected);
    expect(partsOfStream([added, added, done(call('a', 1), 0), completed([])])).to.deep.equal(expected);
  });

  it('are a failure when another response starts among them', () => {
    const created = (id: string): JsonObject => ({ type: 'response.created', response: { id } });
    expect(partsOfStream([created('a'), created('b'), said('Yes.', 0), created('b'), completed([])])).to.have.length(1);
    expect(() => partsOfStream([created('a'), said('Ye', 0), created('b'), said('Yes.', 0), completed([])]))
      .to.throw(ServiceError)
      .with.property('code', 'result_transfer_failed');
  });

  it('are a failure when there are none and no reason is given', () => {
    const incomplete = (reason: string): JsonObject => ({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason }, output: [] },
    });
    expect(partsOfStream([incomplete('max_output_tokens')])).to.deep.equal([]);
    expect(partsOfStream([said('Yes.', 0), incomplete('special')])).to.have.length(1);
    const codes = ['special', 'model_armor'].map((reason) => {
      try {
        return partsOfStream([incomplete(reason)]);
      } catch (error) {
        return error instanceof ServiceError ? error.code : error;
      }
    });
    expect(codes).to.deep.equal(['processing_failed', 'content_policy_violation']);
  });
});
