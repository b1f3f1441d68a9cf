/**
 * Speech: https://platform.openai.com/docs/api-reference/audio/createSpeech. Every word is a tone of the same length.
 * `pcm` has the samples alone; every other format is answered with a WAV file.
 */
import { objectOf, stringOf } from '../../domain/json.ts';
import { bytesPerSecond, wavHeader } from '../../domain/wav.ts';
import { conversationAbout } from './conversation.ts';
import { badRequest } from './failure.ts';
import type { SimulatedFormat } from './format.ts';
import { openaiCommon, openaiError } from './openai.ts';

const PCM = { samplesPerSecond: 24_000, channels: 1 };
const SECONDS_PER_WORD = 0.4;
const LOWEST_TONE_HZ = 220;
const LOUDNESS = 8_000;
const MAX_CHARACTERS = 4_096;
const MAX_WORDS = 500;

export const speech: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/audio/speech'],

  open(input) {
    const body = objectOf(input);
    const [model, text] = [stringOf(body['model']), stringOf(body['input'])];
    if (model === '' || text === '' || body['voice'] === undefined) {
      throw badRequest('Field required: model, input and voice.');
    }
    if (text.length > MAX_CHARACTERS) throw badRequest(`String should have at most ${MAX_CHARACTERS} characters`);
    const asEvents = body['stream_format'] === 'sse';
    const tones = wordsOf(text).map((_word, index) => toneOf(index));
    const render = (bytes: Buffer): string =>
      asEvents ? eventOf({ type: 'speech.audio.delta', audio: bytes.toString('base64') }) : bytes.toString('latin1');
    return {
      conversation: conversationAbout(text, { model, stream: true }),
      ...(!asEvents && { file: { contentType: body['response_format'] === 'pcm' ? 'audio/pcm' : 'audio/wav' } }),
      renderWhole: () => ({}),
      renderStream: ({ usage }) => ({
        opening: asEvents || body['response_format'] === 'pcm' ? '' : wavHeader(PCM).toString('latin1'),
        chunks: tones.map(render),
        closing: () =>
          asEvents
            ? eventOf({
                type: 'speech.audio.done',
                ...(usage !== null && {
                  usage: {
                    input_tokens: usage.input,
                    output_tokens: usage.output,
                    total_tokens: usage.input + usage.output,
                  },
                }),
              })
            : '',
        malformed: asEvents ? 'data: {"type":\n\n' : '',
        renderFailure: (failure) => (asEvents ? eventOf({ type: 'error', error: openaiError(failure) }) : ''),
      }),
    };
  },
};

/** The words without directives. */
function wordsOf(text: string): readonly string[] {
  return text
    .replaceAll(/\[sim:[^\]]*\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MAX_WORDS);
}

function toneOf(index: number): Buffer {
  const bytes = Buffer.alloc(Math.round(bytesPerSecond(PCM) * SECONDS_PER_WORD));
  const hertz = LOWEST_TONE_HZ * (1 + (index % 5) / 4);
  for (let at = 0; at < bytes.length; at += 2) {
    const seconds = at / bytesPerSecond(PCM);
    bytes.writeInt16LE(Math.round(LOUDNESS * Math.sin(2 * Math.PI * hertz * seconds)), at);
  }
  return bytes;
}

function eventOf(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
