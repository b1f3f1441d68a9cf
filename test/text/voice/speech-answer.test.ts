import { expect } from 'chai';
import type { SpeechOptions } from '../../../text/canonical.ts';
import type { Frame } from '../../../text/frames.ts';
import { Meter } from '../../../text/meter.ts';
import { runStage } from '../../../text/stage.ts';
import { convertSpeech, readSpeech, splitSpeech } from '../../../text/voice/speech-answer.ts';

const SPEECH: SpeechOptions = {
  text: 'x',
  characters: 1,
  voice: 'v',
  instructions: undefined,
  speed: undefined,
  audioFormat: 'pcm',
  asEvents: false,
};

function spoken(...pieces: readonly Buffer[]): Buffer {
  const frames: Frame[] = runStage(pieces, splitSpeech());
  return Buffer.concat(runStage(frames, readSpeech(SPEECH, new Meter())).map((piece) => Buffer.from(piece)));
}

describe('an answer of speech', () => {
  for (const start of [0x3a, 0x7b]) {
    it(`may be samples that start with the byte 0x${start.toString(16)}`, () => {
      for (const second of [0x00, 0x20, 0xff]) {
        const samples = Buffer.from([start, second, 0x41, 0x01, 0x90, 0xff, 0x22, 0x00]);
        expect(spoken(samples, samples).equals(Buffer.concat([samples, samples]))).to.equal(true);
      }
    });
  }

  it('may be events after a comment', () => {
    const audio = Buffer.from([1, 2, 3, 4]);
    const events = [
      ': ok',
      `data: {"type":"speech.audio.delta","audio":"${audio.toString('base64')}"}`,
      'data: {"type":"speech.audio.done"}',
    ];
    expect(spoken(Buffer.from(events.map((event) => `${event}\n\n`).join(''))).equals(audio)).to.equal(true);
  });

  it('is a refusal if the native format blocks the prompt', () => {
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } };
    expect(() => convertSpeech(blocked, SPEECH, new Meter())).to.throw('refused by moderation');
  });
});
