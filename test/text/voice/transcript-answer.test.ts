import { expect } from 'chai';
import type { TranscriptionOptions } from '../../../text/canonical.ts';
import { Meter } from '../../../text/meter.ts';
import { readTranscript } from '../../../text/voice/transcript-answer.ts';

const USAGE_OF_MISTRAL = { prompt_audio_seconds: 60, prompt_tokens: 4, completion_tokens: 27, total_tokens: 406 };

/** @param seconds the length of the file, if it is known */
function transcription(bytes: number, seconds: number | null): TranscriptionOptions {
  const audio = { filename: 'a.ogg', contentType: 'audio/ogg', bytes, seconds, read: async function* () {} };
  return { task: 'transcriptions', audio, format: 'json', fields: {} };
}

/** An answer of the native format. */
function nativeAnswer(candidate: object, audioTokens?: number): object {
  const details = audioTokens === undefined ? [] : [{ modality: 'AUDIO', tokenCount: audioTokens }];
  const usageMetadata = { promptTokenCount: 2_000, candidatesTokenCount: 5, promptTokensDetails: details };
  return { candidates: [candidate], usageMetadata };
}

describe('the seconds of a transcript', () => {
  const native = { content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' };
  for (const [what, answer, known, seconds] of [
    ['those that the upstream reports', { text: 'Hello', usage: { type: 'duration', seconds: 9 } }, 60, 9],
    ['those that Mistral reports', { text: 'Hello', usage: USAGE_OF_MISTRAL }, null, 60],
    ['the length of the file, if none are reported', { text: 'Hello', x_groq: { id: 'r' } }, 59.2, 60],
    ['the length of the file, whatever its tokens are', nativeAnswer(native, 1_600), 59.2, 60],
    ['those of the tokens of audio, if the length is unknown', nativeAnswer(native, 1_600), null, 50],
    ['those held, if nothing is known', { text: 'Hello' }, null, 241],
    ['those held, if the length is not plausible', nativeAnswer(native), 0.01, 241],
  ] as const) {
    it(`are ${what}`, () => {
      // contract 4.8.7:71
      const meter = new Meter();
      readTranscript(answer, transcription(120_000, known), meter);
      expect(meter.audioSeconds).to.equal(seconds);
    });
  }
});
