/**
 * Transcriptions: https://platform.openai.com/docs/api-reference/audio/createTranscription. The transcript is the answer
 * to the `prompt`, whose directives work as in text. Models with `mini` in their names report tokens, others seconds.
 */
import { objectOf, stringOf } from '../../domain/json.ts';
import { conversationAbout } from './conversation.ts';
import { badRequest } from './failure.ts';
import type { SimulatedFormat } from './format.ts';
import { openaiCommon, openaiError } from './openai.ts';
import type { SimulatorRequest } from '../router.ts';
import type { Script } from './script.ts';

const AUDIO_TOKENS_PER_SECOND = 10;
/** For files that are not WAV. */
const BYTES_PER_SECOND = 16_000;

export const transcriptions: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/audio/transcriptions', '/v1/audio/translations'],
  readBody: readForm,

  open(input) {
    const form = objectOf(input);
    const [model, prompt, format] = [form['model'], form['prompt'], form['response_format']].map(stringOf);
    const { file } = form;
    if (model === undefined || model === '' || !Buffer.isBuffer(file))
      throw badRequest('Field required: model and file.');
    const seconds = secondsOf(file);
    const usageOf = ({ usage }: Script): object | undefined => {
      if (usage === null) return undefined;
      if (!model.includes('mini')) return { type: 'duration', seconds: Math.ceil(seconds) };
      const audio = Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND);
      const counts = { input_tokens: usage.input + audio, output_tokens: usage.output };
      const input_token_details = { audio_tokens: audio, text_tokens: usage.input };
      return { type: 'tokens', ...counts, input_token_details, total_tokens: usage.input + audio + usage.output };
    };
    const isStream = form['stream'] === 'true' && model.includes('mini');
    return {
      conversation: conversationAbout(prompt ?? '', { model, stream: isStream }),
      renderWhole: (script) => {
        const text = script.text.join('');
        const usage = usageOf(script);
        if (format !== 'verbose_json') return { text, ...(usage && { usage }) };
        const confidence = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
        const segment = { id: 0, seek: 0, start: 0, end: seconds, text, tokens: [], ...confidence };
        return {
          task: 'transcribe',
          language: 'english',
          duration: seconds,
          text,
          segments: [segment],
          ...(usage && { usage }),
        };
      },
      renderStream: (script) => ({
        opening: '',
        chunks: script.text.map((delta) => eventOf({ type: 'transcript.text.delta', delta })),
        closing: () => eventOf({ type: 'transcript.text.done', text: script.text.join(''), usage: usageOf(script) }),
        malformed: 'data: {"type":\n\n',
        renderFailure: (failure) => eventOf({ type: 'error', error: openaiError(failure) }),
      }),
    };
  },
};

/** The parts of a form by their names: texts, and the bytes of the file. */
function readForm({ headers, body }: SimulatorRequest): Readonly<Record<string, unknown>> {
  const boundary = /boundary=("?)([^";]+)\1/.exec(headers['content-type'] ?? '')?.[2];
  if (boundary === undefined) throw badRequest('The body must be multipart/form-data.');
  const parts = body.toString('latin1').split(`--${boundary}`).slice(1, -1);
  return Object.fromEntries(
    parts.map((part) => {
      const end = part.indexOf('\r\n\r\n');
      const head = part.slice(0, end);
      const bytes = Buffer.from(part.slice(end + 4, -2), 'latin1');
      const name = /; name="([^"]*)"/.exec(head)?.[1] ?? '';
      return [name, head.includes('; filename=') ? bytes : bytes.toString()];
    }),
  );
}

/** Returns the duration: of a WAV file, by the rate in its header. */
function secondsOf(file: Buffer): number {
  const isWav = file.toString('latin1', 0, 4) === 'RIFF' && file.byteLength > 44;
  const rate = isWav ? file.readUInt32LE(28) : BYTES_PER_SECOND;
  return (isWav ? file.byteLength - 44 : file.byteLength) / Math.max(rate, 1);
}

function eventOf(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
