import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { type Frame, isLong, readEvents, readFrame, splitFrames } from '../../text/frames.ts';
import { runAtOnce } from '../../text/json/steps.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent, parseServerSentEvents, type ServerSentEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { longestStepShare } from '../support/longest-step.ts';
import { textRequest } from './support.ts';

const MIB = 2 ** 20;
const LONG = 200_000;

function framesOf(text: string, cuts: readonly number[] = []): Frame[] {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.toSorted((left, right) => left - right), bytes.length];
  return runStage(
    places.map((place, index) => bytes.subarray(place, places[index + 1])),
    splitFrames(),
  );
}

/** A frame for the next stage, which reads a long frame first. */
function read(frame: Frame): Frame {
  return isLong(frame) ? runAtOnce(readFrame(frame)) : frame;
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const cuts = fc.array(fc.nat(400));

describe('the frames of a stream', () => {
  const events = fc.array(
    fc.record({
      event: fc.option(fc.stringMatching(/^[a-z.]{1,8}$/)),
      data: fc.oneof(fc.stringMatching(/^[^\r\n]+$/), fc.constantFrom('你好', 'a\nb')),
    }),
    { maxLength: 4 },
  );

  it('hold one event each, and together all bytes, for any split and any line ends', () => {
    fc.assert(
      fc.property(events, lineEnd, cuts, (given, end, places) => {
        const text = given.map(({ event, data }) => encodeEvent(data, event)).join('');
        const frames = framesOf(text.replaceAll('\n', end), places);
        expect(Buffer.concat(frames.map(({ bytes }) => bytes)).toString()).to.equal(text.replaceAll('\n', end));
        expect(runStage(frames, readEvents())).to.deep.equal(given);
        const counts = frames.map((frame) => runStage([frame], readEvents()).length);
        expect(counts.filter((count) => count > 0)).to.deep.equal(given.map(() => 1));
      }),
    );
  });

  it('are as many as there are blank lines, plus an unfinished one', () => {
    expect(framesOf('data: a\n\ndata: b\r\n\r\ndata: c').map(({ isWhole }) => isWhole)).to.deep.equal([
      true,
      true,
      false,
    ]);
  });

  it('lack a byte order mark at the beginning of the stream, and keep any other, for any split', () => {
    // WHATWG HTML, section 9.2.6
    fc.assert(
      fc.property(cuts, (places) => {
        const text = 'data: a\n\n\uFEFFdata: \uFEFFb\n\n';
        const frames = framesOf(`\uFEFF${text}`, places);
        expect(Buffer.concat(frames.map(({ bytes }) => bytes)).toString()).to.equal(text);
        expect(runStage(frames, readEvents())[0]).to.deep.equal({ event: null, data: 'a' });
      }),
    );
    expect(framesOf('\uFEFFdata: a').map(({ bytes }) => bytes.toString())).to.deep.equal(['data: a']);
    expect(framesOf(`\uFEFFdata: ${JSON.stringify('x'.repeat(LONG))}\n\n`).map(read)).to.have.nested.property(
      '[0].event.json',
    );
  });

  it('frames are refused if one has more than 16 MiB', () => {
    const pieces = Array.from({ length: 17 }, () => Buffer.alloc(MIB, 'x'));
    expect(() => runStage(pieces, splitFrames())).to.throw(ServiceError, 'too long');
  });
});

describe('a long frame', () => {
  const content = 'Hello, 你好. '.repeat(LONG / 10);
  const chunk = { choices: [{ index: 0, delta: { content } }] };

  for (const [what, text] of [
    ['of a line of data', encodeEvent(JSON.stringify(chunk))],
    ['with a name, an id and a comment', `: x\nevent: chunk\nid: 7\ndata:${JSON.stringify(chunk)}\n\n`],
    ['whose lines end in CR LF', encodeEvent(JSON.stringify(chunk)).replaceAll('\n', '\r\n')],
    ['without its blank line', `data: ${JSON.stringify(chunk)}`],
  ] as const) {
    it(`${what} has the same content when it is read in steps`, () => {
      const given: ServerSentEvent[] = runStage([Buffer.from(text)], parseServerSentEvents());
      const readBefore = runStage(framesOf(text).map(read), readEvents());
      expect(readBefore).to.deep.equal(
        given.map(({ event, data }) => ({ event, data: '', json: JSON.parse(data) as unknown })),
      );
    });
  }

  it('with data on several lines is read in steps, up to a bound', () => {
    const text = `data: "a",\ndata: ${'x'.repeat(LONG)}\n\n`;
    expect(runStage(framesOf(text).map(read), readEvents())).to.deep.equal(
      runStage([Buffer.from(text)], parseServerSentEvents()),
    );
    expect(() => framesOf(`data: "a",\ndata: ${'x'.repeat(2 * MIB)}\n\n`).map(read)).to.throw(ServiceError, 'too long');
  });

  it('with invalid or too much JSON is an error of the upstream', () => {
    expect(() => framesOf(`data: ${'x'.repeat(LONG)}\n\n`).map(read))
      .to.throw(ServiceError)
      .with.property('code', 'processing_failed');
    expect(() => framesOf(`data: [${'0,'.repeat(1_100_000)}0]\n\n`).map(read)).to.throw(ServiceError, 'too long');
  });

  it('does not delay other requests while it is read', () => {
    const [frame] = framesOf(encodeEvent(JSON.stringify({ content: 'Hello, world. '.repeat(MIB) })));
    if (frame === undefined) expect.fail('there is no frame');
    expect(longestStepShare(() => readFrame(frame))).to.be.below(0.25);
  });

  describe('that is passed on', () => {
    const options = { model: 'm', apiKey: 'secret' };

    /** The frames that the chat-completions client receives for an upstream's frames, and the measured usage. */
    function passed(text: string, prepare: (frame: Frame) => Frame): { readonly text: string; readonly meter: Meter } {
      const meter = new Meter();
      const { upstream } = FORMATS['chat-completions'];
      const stage = planForwarding(upstream, {}, textRequest(), options, meter).forwardStream();
      const bytes = runStage(framesOf(text).map(prepare), stage);
      return { text: Buffer.concat(bytes).toString(), meter };
    }
    const end = encodeEvent(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));

    for (const [what, text] of [
      ['is passed on as it is, and measured', encodeEvent(JSON.stringify(chunk)) + end],
      [
        'is mended where it has to be',
        encodeEvent(JSON.stringify({ choices: [{ index: 0, delta: { reasoning: content }, finish_reason: 'eos' }] })),
      ],
      [
        'is ended where it comes last, without its blank line',
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] })}`,
      ],
    ] as const) {
      it(what, () => {
        const readBefore = passed(text, read);
        const inPassing = passed(text, (frame) => frame);
        expect(runStage([Buffer.from(readBefore.text)], parseServerSentEvents())).to.deep.equal(
          runStage([Buffer.from(inPassing.text)], parseServerSentEvents()),
        );
        expect(readBefore.meter).to.include({ finished: true, outputLength: content.length });
      });
    }
  });
});
