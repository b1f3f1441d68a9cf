import { expect } from 'chai';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import { UnreadableEventError } from '../../text/upstream-errors.ts';
import { eventsOf } from './answers.ts';
import { answerOfStream, fromBytes, renderContext, streamedTo, textRequest, textResult } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const GARBLED = 'data: {"choices":[{"ind\n\n';

describe('an unreadable event', () => {
  for (const format of WIRE_FORMAT_NAMES) {
    const answer = textResult({ parts: [{ type: 'text', text: 'Hello there' }] });
    const sound = streamedTo(FORMATS[format], [...eventsOf(answer)]);
    const afterText = sound.indexOf('\n\n', sound.indexOf('Hello there')) + 2;
    const withGarbled = (at: number, garbled = GARBLED): Buffer =>
      Buffer.from(sound.slice(0, at) + garbled + sound.slice(at));
    const paths = {
      'passed on': (meter: Meter) =>
        planForwarding(FORMATS[format].upstream, {}, textRequest(), options, meter).forwardStream(),
      converted: (meter: Meter) =>
        planConversion(FORMATS[format], FORMATS[format], textRequest(), options, meter).convertStream(renderContext()),
    };
    for (const [way, stageFor] of Object.entries(paths)) {
      const read = (bytes: Buffer, meter = new Meter()): string =>
        runStage([bytes], fromBytes<string | Uint8Array>(stageFor(meter)))
          .map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString()))
          .join('');

      it(`in the middle of a stream in ${format} that is ${way} is skipped and counted`, () => {
        // contract 4.8:25
        const meter = new Meter();
        const { choices } = answerOfStream(FORMATS[format], read(withGarbled(afterText), meter));
        expect(choices).to.deep.equal(answer.choices);
        expect(meter.unreadableEvents).to.equal(1);
      });

      it(`is a failure of a stream in ${format} that is ${way} before the answer, next to another, or at the end`, () => {
        for (const bytes of [withGarbled(0), withGarbled(afterText, GARBLED + GARBLED)]) {
          expect(() => read(bytes)).to.throw(UnreadableEventError);
        }
        expect(() => read(Buffer.from(sound.slice(0, afterText) + GARBLED))).to.throw(UnreadableEventError);
      });
    }
  }
});
