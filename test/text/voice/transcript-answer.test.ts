import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import { objectOf } from '../../../domain/json.ts';
import type { TranscriptionOptions } from '../../../text/canonical.ts';
import { Meter } from '../../../text/meter.ts';
import { readTranscript } from '../../../text/voice/transcript-answer.ts';
import { buildTranscriptionRequest } from '../../../text/voice/transcription.ts';

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

describe('a transcript of the native format', () => {
  const half = { parts: [{ text: 'half of the' }] };
  const text = (answer: object): unknown =>
    objectOf(readTranscript(answer, transcription(9_000, 2), new Meter()))['text'];

  for (const [what, answer, code] of [
    ['cut off at the bound', nativeAnswer({ content: half, finishReason: 'MAX_TOKENS' }), 'bad_request'],
    ['cut off for no known reason', nativeAnswer({ content: half, finishReason: 'OTHER' }), 'result_transfer_failed'],
    ['refused', nativeAnswer({ content: half, finishReason: 'SAFETY' }), 'content_policy_violation'],
    ['refused as a quotation', nativeAnswer({ content: half, finishReason: 'RECITATION' }), 'content_policy_violation'],
    ['of a blocked prompt', { promptFeedback: { blockReason: 'OTHER' } }, 'content_policy_violation'],
    ['empty for no known reason', nativeAnswer({ content: {}, finishReason: 'OTHER' }), 'processing_failed'],
  ] as const) {
    it(`is an error if it is ${what}`, () => {
      // contract 4.8.7:72
      expect(() => text(answer))
        .to.throw(ServiceError)
        .with.property('code', code);
    });
  }

  it('is the text of parts with a transcription, and empty for silence', () => {
    const parts = [{ audioTranscription: { text: 'Hello world' } }];
    expect(text(nativeAnswer({ content: { parts }, finishReason: 'STOP' }))).to.equal('Hello world');
    expect(text(nativeAnswer({ content: {}, finishReason: 'STOP' }))).to.equal('');
  });

  it('is requested without an instruction from a model that only transcribes', async () => {
    const options = { apiKey: 'k', origin: 'own' };
    for (const [model, count] of [
      ['gemini-3.5-transcribe', 1],
      ['gemini-3.5-flash', 2],
    ] as const) {
      const { content } = buildTranscriptionRequest(transcription(0, null), true, false, { ...options, model });
      const chunks: Uint8Array[] = [];
      for await (const chunk of content?.read() ?? []) chunks.push(chunk);
      expect(JSON.parse(Buffer.concat(chunks).toString()).contents[0].parts, model).to.have.length(count);
    }
  });
});

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
