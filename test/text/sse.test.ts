import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import { encodeEvent, parseServerSentEvents, type ServerSentEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';

const encoder = new TextEncoder();

function parse(...reads: readonly string[]): ServerSentEvent[] {
  return runStage(
    reads.map((read) => encoder.encode(read)),
    parseServerSentEvents(),
  );
}

describe('server-sent events', () => {
  it('reads names, data of several lines, and skips comments', () => {
    const events = parse(': hello\nevent: ping\ndata: one\ndata:two\n\n', ':\n\ndata: three\nid: 4\nretry: 5\n\n');
    expect(events).to.deep.equal([
      { event: 'ping', data: 'one\ntwo' },
      { event: null, data: 'three' },
    ]);
  });

  it('returns the last event although no blank line follows', () => {
    expect(parse('data: a\n\ndata: b')).to.deep.equal([
      { event: null, data: 'a' },
      { event: null, data: 'b' },
    ]);
  });

  it('returns nothing for an event without data', () => {
    expect(parse('event: ping\n\ndata: a\n\n')).to.deep.equal([{ event: null, data: 'a' }]);
  });

  it('reads the same events for any split of the bytes and any line ends', () => {
    const content = fc.array(
      fc.record({
        event: fc.option(fc.stringMatching(/^[a-z.]{1,8}$/)),
        data: fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom('你好', '👩‍👧', 'a\nb', ': c')),
      }),
      { maxLength: 4 },
    );
    const plain = content.map((events) => events.filter(({ data }) => !data.includes('\r')));
    fc.assert(
      fc.property(plain, fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat(400)), (events, lineEnd, cuts) => {
        const text = events.map(({ event, data }) => encodeEvent(data, event)).join('');
        const bytes = encoder.encode(text.replaceAll('\n', lineEnd));
        const places = [0, ...cuts.sort((left, right) => left - right), bytes.length];
        const reads = places.map((place, index) => bytes.slice(place, places[index + 1]));
        expect(runStage(reads, parseServerSentEvents())).to.deep.equal(events);
      }),
    );
  });

  it('reads a line of a megabyte that arrives in thousands of reads', () => {
    const piece = 'x'.repeat(256);
    const events = parse('data: ', ...Array.from({ length: 4096 }, () => piece), '\n\n');
    expect(events.map(({ data }) => data.length)).to.deep.equal([1_048_576]);
  });

  it('refuses an event that is longer than the bound, in one line or in many', () => {
    const pieces = Array.from({ length: 20 }, () => encoder.encode('123456789'));
    const lines = Array.from({ length: 200 }, () => encoder.encode('data:\n'));
    for (const reads of [pieces, lines]) {
      expect(() => runStage(reads, parseServerSentEvents(100)))
        .to.throw(ServiceError)
        .with.property('code', 'processing_failed');
    }
  });
});
