import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import { type StreamEvent, UNREPORTED_USAGE, type Usage } from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { normalize } from '../../text/normalize.ts';
import { runStage } from '../../text/stage.ts';
import { resultOf } from './answers.ts';
import * as arbitrary from './arbitraries.ts';

const start: StreamEvent = { type: 'response-start', id: 'r', model: 'm' };
const stop: StreamEvent = { type: 'finish', reason: 'stop' };
const call = (id: string, callId = id): StreamEvent => ({ type: 'tool-input-start', id, callId, name: 'look' });
const input = (id: string, text: string): StreamEvent => ({ type: 'tool-input-delta', id, text });
const said = (text: string): StreamEvent => ({ type: 'text-delta', id: 't', text });

function usageOf(numbers: Partial<Usage>): Usage {
  return { ...UNREPORTED_USAGE, ...numbers };
}

function typesOf(events: readonly StreamEvent[]): string[] {
  return events.map((event) => event.type);
}

describe('normalize', () => {
  it('leaves an answer of legal events unchanged', () => {
    fc.assert(
      fc.property(arbitrary.events(3), (events) => {
        expect(resultOf(events)).to.deep.equal(collect(events));
      }),
    );
  });

  it('makes any sequence legal and loses no text', () => {
    const id = fc.constantFrom('a', 'b');
    const otherId = fc.constantFrom('c', 'd');
    const text = arbitrary.text;
    const anyEvent: fc.Arbitrary<StreamEvent> = fc.oneof(
      fc.constant(start),
      fc.record({ type: fc.constantFrom('text-start', 'text-end'), id }),
      fc.record({ type: fc.constantFrom('reasoning-start', 'reasoning-end'), id: otherId }),
      fc.record({ type: fc.constant('text-delta'), id, text }),
      fc.record({ type: fc.constant('reasoning-delta'), id: otherId, text }),
      fc.nat(3).map((n) => call(`tool-${n}`, `call-${n % 2}`)),
      fc.nat(3).map((n) => input(`tool-${n}`, '[')),
    );
    fc.assert(
      fc.property(fc.array(anyEvent), (events) => {
        const [choice] = resultOf([...events, stop]).choices;
        const written = (type: string): string =>
          events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('');
        const kept = (type: string): string =>
          (choice?.parts ?? []).map((part) => (part.type === type && 'text' in part ? part.text : '')).join('');
        // Parts that wait for a tool call follow it, each in its own order.
        expect(Array.from(kept('text')).sort()).to.deep.equal(Array.from(written('text-delta')).sort());
        expect(Array.from(kept('reasoning')).sort()).to.deep.equal(Array.from(written('reasoning-delta')).sort());
      }),
    );
  });

  it('serialises interleaved tool calls', () => {
    const events = [
      start,
      call('a'),
      input('a', '{"x"'),
      call('b'),
      input('b', '{"y":'),
      input('a', ':1}'),
      input('b', '2}'),
      stop,
    ];
    const parts = resultOf(events).choices[0]?.parts;
    expect(parts).to.deep.equal([
      { type: 'tool-call', callId: 'a', name: 'look', arguments: '{"x":1}' },
      { type: 'tool-call', callId: 'b', name: 'look', arguments: '{"y":2}' },
    ]);
  });

  it('streams the second call at once when the arguments of the first are complete', () => {
    const stage = normalize();
    const seen: StreamEvent[] = [];
    for (const event of [start, call('a'), input('a', '{}'), call('b'), input('b', '{"')])
      stage.push(event, (out) => seen.push(out));
    expect(seen.at(-1)).to.deep.equal(input('b', '{"'));
  });

  it('assigns a new id to calls without an id, or with a used one', () => {
    const parts = resultOf([start, call('a', ''), call('b', 'same'), call('c', 'same'), stop]).choices[0]?.parts ?? [];
    const ids = parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
    expect(new Set(ids).size).to.equal(3);
    expect(ids).to.not.include('');
    expect(ids[1]).to.equal('same');
  });

  it('makes empty arguments an empty object', () => {
    const parts = resultOf([start, call('a'), call('b'), input('b', ' '), stop]).choices[0]?.parts ?? [];
    expect(parts.map((part) => part.type === 'tool-call' && JSON.parse(part.arguments))).to.deep.equal([{}, {}]);
  });

  it('corrects a finish reason that does not match the tool calls', () => {
    expect(resultOf([start, call('a'), stop]).choices[0]?.finish.reason).to.equal('tool-calls');
    expect(resultOf([start, said('x'), { type: 'finish', reason: 'tool-calls' }]).choices[0]?.finish.reason).to.equal(
      'stop',
    );
    expect(resultOf([start, call('a'), { type: 'finish', reason: 'length' }]).choices[0]?.finish.reason).to.equal(
      'length',
    );
  });

  it('finishes once, after late content and usage', () => {
    const usage: StreamEvent = { type: 'usage', usage: usageOf({ outputTotal: 3 }) };
    const events = runStage([start, stop, said('late'), usage, stop], normalize());
    expect(typesOf(events)).to.deep.equal([
      'response-start',
      'text-start',
      'text-delta',
      'text-end',
      'usage',
      'finish',
    ]);
  });

  it('emits early usage immediately and merges it with later usage', () => {
    const early: StreamEvent = { type: 'usage', usage: usageOf({ inputTotal: 7 }) };
    const late: StreamEvent = { type: 'usage', usage: usageOf({ outputTotal: 3 }) };
    const events = runStage([start, early, said('x'), late, stop], normalize());
    expect(typesOf(events).slice(0, 2)).to.deep.equal(['response-start', 'usage']);
    expect(collect(events).usage).to.deep.equal(usageOf({ inputTotal: 7, outputTotal: 3 }));
  });

  it('keeps a signature without any reasoning text', () => {
    const events: StreamEvent[] = [
      start,
      { type: 'reasoning-end', id: 'x', signature: 'encrypted', redacted: true },
      said('y'),
      stop,
    ];
    expect(resultOf(events).choices[0]?.parts[0]).to.deep.equal({
      type: 'reasoning',
      text: '',
      signature: 'encrypted',
      redacted: true,
    });
  });

  it('removes empty parts', () => {
    const events: StreamEvent[] = [
      start,
      { type: 'text-start', id: 't' },
      said(''),
      { type: 'text-end', id: 't' },
      stop,
    ];
    expect(resultOf(events).choices[0]?.parts).to.deep.equal([]);
  });

  it('keeps the choices of an answer separate', () => {
    const events: StreamEvent[] = [
      start,
      { type: 'text-start', id: 'x', choice: 0 },
      { type: 'text-start', id: 'y', choice: 1 },
      { type: 'text-delta', id: 'x', text: 'a' },
      { type: 'text-delta', id: 'y', text: 'b' },
      { type: 'text-delta', id: 'x', text: 'c' },
      { type: 'finish', choice: 1, reason: 'length' },
      { type: 'finish', choice: 0, reason: 'stop' },
    ];
    expect(resultOf(events).choices).to.deep.equal([
      { parts: [{ type: 'text', text: 'ac' }], finish: { reason: 'stop' } },
      { parts: [{ type: 'text', text: 'b' }], finish: { reason: 'length' } },
    ]);
  });

  it('refuses an answer that ends without a finish, also in one choice of two', () => {
    const second: StreamEvent[] = [
      { type: 'text-start', id: 'u', choice: 1 },
      { type: 'text-delta', id: 'u', text: 'b' },
    ];
    for (const events of [[], [start], [start, said('x')], [start, said('x'), ...second, stop]]) {
      expect(() => resultOf(events))
        .to.throw(ServiceError)
        .with.property('code', 'result_transfer_failed');
    }
  });
});

describe('collect', () => {
  it('refuses events out of order', () => {
    const open: StreamEvent = { type: 'text-start', id: 't' };
    const close: StreamEvent = { type: 'text-end', id: 't' };
    const wrong: StreamEvent[][] = [
      [],
      [start],
      [stop],
      [start, start, stop],
      [start, said('x'), stop],
      [start, open, stop],
      [start, open, { type: 'reasoning-delta', id: 't', text: 'x' }, close, stop],
      [start, open, { type: 'text-start', id: 'u' }, close, stop],
      [start, stop, open, close],
      [start, stop, stop],
    ];
    for (const events of wrong) expect(() => collect(events), JSON.stringify(events)).to.throw(Error);
  });
});
